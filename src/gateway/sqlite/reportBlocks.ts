import type { Database } from 'better-sqlite3'
import { pushTo } from '../lib/pushTo.ts'
import { BLOCK_DEVICES } from './reportTables.ts'

/** An event of a visitor, as it counts. */
export type Touch = {
  readonly device: number
  /** When it happened, ms since 1970. */
  readonly at: number
  readonly id: Buffer
  readonly name: number
  readonly step: number
  /** The utm values of a visit. */
  readonly utm: number | null
}

/** The events of the devices of a block, by device and in the order in which they count. */
export type Block = {
  /** How many there are. */
  readonly length: number
  readonly devices: Float64Array
  readonly at: Float64Array
  readonly names: Uint32Array
  readonly steps: Uint8Array
  /** 0 if the event is not a visit. */
  readonly utms: Uint32Array
}

/** The touches in the file. Call the functions that write in a transaction that writes. */
export type Blocks = {
  /**
   * Notes touches that `write` writes.
   *
   * @param touches In the order in which they are written. Of equal ones the first counts.
   */
  add(touches: readonly Touch[]): void
  /** Writes what was added, as one row for each block. Call it at the end of the transaction. */
  write(): void
  /** Forgets what was added. Call it if the transaction fails. */
  forget(): void
  read(block: number): Block
  /**
   * Writes some rows of a block as one row: JOINED_ROWS rows and JOINED_BYTES at most. Rows at many places of the file
   * are slow to read.
   *
   * @returns False if the block has no rows to join.
   */
  join(block: number): boolean
  /** Deletes touches of a block. */
  rewrite(block: number, isKept: (touch: Pick<Touch, 'device' | 'at' | 'id'>) => boolean): void
}

/**
 * The most touches of a block. Only programs cause more: of the devices with the most of them, the later ones are
 * dropped, so that nobody can make a report read without end. A touch takes about 60 bytes of memory.
 */
export const MAX_BLOCK_TOUCHES = 400_000
/** Rows that are joined at once. Each is at another place of the file, so this many take some milliseconds. */
export const JOINED_ROWS = 256
/** The most bytes that joined rows have together. */
const JOINED_BYTES = 262_144
/** Fewer rows are not joined, or each new one would be written together with all before it. */
const MIN_JOINED_ROWS = 32

/** Layout of a touch: at (double), id, name, utm, device within the block, step; little-endian. */
const ID = 8
const NAME = 24
const UTM = 28
const DEVICE = 32
const STEP = 34
const TOUCH_BYTES = 36

export const blockOf = (device: number): number => Math.floor(device / BLOCK_DEVICES)

/**
 * The touches of a block are written in rows of some touches each, at the end of the table and not in the order of the
 * devices: a row for each event, at the place of its device, would change a page for each event. They are sorted when
 * they are read.
 */
export function createBlocks(database: Database, maxTouches = MAX_BLOCK_TOUCHES): Blocks {
  const insert = database.prepare<[number, Buffer]>(
    'INSERT INTO touches (block, events) VALUES (?, ?)',
  )
  const rows = database
    .prepare<[number], Buffer>('SELECT events FROM touches WHERE block = ? ORDER BY n')
    .pluck()
  const size = database
    .prepare<[number], number>(
      'SELECT coalesce(sum(length(events)), 0) FROM touches WHERE block = ?',
    )
    .pluck()
  const remove = database.prepare<[number]>('DELETE FROM touches WHERE block = ?')
  const sizes = database.prepare<[number], { n: number; bytes: number }>(
    'SELECT n, length(events) AS bytes FROM touches WHERE block = ? ORDER BY n',
  )
  const row = database.prepare<[number], Buffer>('SELECT events FROM touches WHERE n = ?').pluck()
  const removeRow = database.prepare<[number]>('DELETE FROM touches WHERE n = ?')
  const insertAt = database.prepare<[number, number, Buffer]>(
    'INSERT INTO touches (n, block, events) VALUES (?, ?, ?)',
  )

  /** By block. Encoded, since events that stay in memory make the collections of garbage longer. */
  const added = new Map<number, Buffer[]>()

  function encode(touches: readonly Touch[]): Buffer {
    // Alloc, not allocUnsafe: no byte of something else gets into the file.
    const bytes = Buffer.alloc(touches.length * TOUCH_BYTES)
    let from = 0
    for (const { device, at, id, name, step, utm } of touches) {
      bytes.writeDoubleLE(at, from)
      bytes.set(id, from + ID)
      bytes.writeUInt32LE(name, from + NAME)
      bytes.writeUInt32LE(utm ?? 0, from + UTM)
      bytes.writeUInt16LE(device % BLOCK_DEVICES, from + DEVICE)
      bytes[from + STEP] = step
      from += TOUCH_BYTES
    }
    return bytes
  }

  function replace(block: number, bytes: Buffer): void {
    remove.run(block)
    if (bytes.length > 0) insert.run(block, bytes)
  }

  /** The first rows of a block that can be joined. Empty if there are none. */
  function joinable(block: number): readonly number[] {
    let run: number[] = []
    let total = 0
    for (const { n, bytes } of sizes.iterate(block)) {
      if (total + bytes > JOINED_BYTES) {
        if (run.length >= MIN_JOINED_ROWS) break
        run = []
        total = 0
      }
      run.push(n)
      total += bytes
      if (run.length === JOINED_ROWS) break
    }
    return run.length >= MIN_JOINED_ROWS ? run : []
  }

  /** The bytes of a block, without the later touches of its busiest devices. */
  function limited(block: number): Buffer {
    const counts = new Uint32Array(BLOCK_DEVICES)
    /** How many touches the device has up to this one. */
    const count = (bytes: Buffer, from: number): number => {
      const device = bytes.readUInt16LE(from + DEVICE)
      const next = (counts[device] as number) + 1
      counts[device] = next
      return next
    }
    // Row by row: all of them may not fit in memory.
    for (const bytes of rows.iterate(block))
      for (let from = 0; from < bytes.length; from += TOUCH_BYTES) count(bytes, from)
    const max = shareOf(counts, maxTouches)
    counts.fill(0)
    const left: Buffer[] = []
    for (const bytes of rows.iterate(block))
      left.push(filter(bytes, (from) => count(bytes, from) <= max))
    return Buffer.concat(left)
  }

  return {
    add(touches) {
      const byBlock = new Map<number, Touch[]>()
      for (const touch of touches) pushTo(byBlock, blockOf(touch.device), touch)
      for (const [block, some] of byBlock) pushTo(added, block, encode(some))
    },
    write() {
      for (const [block, some] of added) insert.run(block, Buffer.concat(some))
      added.clear()
    },
    forget: () => added.clear(),
    read(block) {
      if ((size.get(block) as number) <= maxTouches * TOUCH_BYTES)
        return sorted(block, Buffer.concat(rows.all(block)))
      const left = limited(block)
      replace(block, left)
      return sorted(block, left)
    },
    join(block) {
      const run = joinable(block)
      const first = run[0]
      if (first === undefined) return false
      const events = Buffer.concat(run.map((n) => row.get(n) as Buffer))
      for (const n of run) removeRow.run(n)
      // At the place of the first one, since of equal touches the one that was written first counts.
      insertAt.run(first, block, events)
      return true
    },
    rewrite(block, isKept) {
      const bytes = limited(block)
      const left = filter(bytes, (from) =>
        isKept({
          device: block * BLOCK_DEVICES + bytes.readUInt16LE(from + DEVICE),
          at: bytes.readDoubleLE(from),
          id: bytes.subarray(from + ID, from + NAME),
        }),
      )
      if (left.length < bytes.length) replace(block, left)
    },
  }
}

/** The most of each device, so that together they have at most `max`. */
function shareOf(counts: Uint32Array, max: number): number {
  let left = max
  let devices = counts.length
  for (const count of [...counts].sort((a, b) => a - b)) {
    if (count * devices > left) return Math.floor(left / devices)
    left -= count
    devices--
  }
  return max
}

function filter(bytes: Buffer, isKept: (from: number) => boolean): Buffer {
  const left = Buffer.alloc(bytes.length)
  let length = 0
  for (let from = 0; from < bytes.length; from += TOUCH_BYTES) {
    if (!isKept(from)) continue
    bytes.copy(left, length, from, from + TOUCH_BYTES)
    length += TOUCH_BYTES
  }
  return left.subarray(0, length)
}

/** Sorts touches by device, time and id, and drops those that are there twice. */
function sorted(block: number, bytes: Buffer): Block {
  const count = bytes.length / TOUCH_BYTES
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const at = new Float64Array(count)
  /** Where the touches of each device begin, then where its next one goes. */
  const places = new Uint32Array(BLOCK_DEVICES + 1)
  for (let i = 0; i < count; i++) {
    at[i] = view.getFloat64(i * TOUCH_BYTES, true)
    const next = view.getUint16(i * TOUCH_BYTES + DEVICE, true) + 1
    places[next] = (places[next] as number) + 1
  }
  for (let i = 1; i <= BLOCK_DEVICES; i++)
    places[i] = (places[i] as number) + (places[i - 1] as number)
  const starts = places.slice()
  const order = new Uint32Array(count)
  for (let i = 0; i < count; i++) {
    const device = view.getUint16(i * TOUCH_BYTES + DEVICE, true)
    const place = places[device] as number
    order[place] = i
    places[device] = place + 1
  }
  const compare = (a: number, b: number): number =>
    (at[a] as number) - (at[b] as number) || compareIds(a, b)
  const compareIds = (a: number, b: number): number => {
    const [from, other] = [a * TOUCH_BYTES + ID, b * TOUCH_BYTES + ID]
    return bytes.compare(bytes, other, other + 16, from, from + 16)
  }
  for (let device = 0; device < BLOCK_DEVICES; device++) {
    const [start, end] = [starts[device] as number, starts[device + 1] as number]
    for (let i = start + 1; i < end; i++)
      if (compare(order[i - 1] as number, order[i] as number) > 0) {
        // Sorting keeps the order of equal ones, so the one that was written first stays first.
        order.subarray(start, end).sort(compare)
        break
      }
  }
  const result = {
    devices: new Float64Array(count),
    at: new Float64Array(count),
    names: new Uint32Array(count),
    steps: new Uint8Array(count),
    utms: new Uint32Array(count),
  }
  let length = 0
  for (let i = 0; i < count; i++) {
    const from = (order[i] as number) * TOUCH_BYTES
    const device = block * BLOCK_DEVICES + view.getUint16(from + DEVICE, true)
    const isTwice =
      i > 0 &&
      device === result.devices[length - 1] &&
      compare(order[i - 1] as number, order[i] as number) === 0
    if (isTwice) continue
    result.devices[length] = device
    result.at[length] = view.getFloat64(from, true)
    result.names[length] = view.getUint32(from + NAME, true)
    result.steps[length] = view.getUint8(from + STEP)
    result.utms[length] = view.getUint32(from + UTM, true)
    length++
  }
  return { length, ...result }
}

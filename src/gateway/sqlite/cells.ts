import type { LogEvent } from '../collect/eventLog.ts'
import { UUID_BYTES, writeUuid } from './uuid.ts'

/**
 * Events for the store's thread. Texts that many events share are there once. Ids and payloads are bytes, which move to
 * the other thread instead of being copied, and which SQLite takes without measuring and encoding a text.
 */
export type Cells = {
  readonly count: number
  /** CELLS_PER_KIND values of each kind of event: the first ones of TakeRow. */
  readonly kinds: readonly Cell[]
  readonly dids: readonly (string | null)[]
  /** NUMBERS_PER_EVENT float64s of each event, then its id, then its payload as UTF-8: all of each, in order. */
  readonly bytes: ArrayBuffer
}

/** One value of a row. */
export type Cell = string | number | null

/** Takes the values of an event's row, in the order of COLUMNS. */
export type TakeRow = (
  customer: Cell,
  operation: Cell,
  event: Cell,
  bot: Cell,
  version: Cell,
  cookieless: Cell,
  did: Cell,
  receivedAt: number,
  at: number,
  id: Uint8Array,
  payload: Uint8Array,
) => void

/** The columns of a row. */
export const COLUMNS =
  'customer, operation, event, bot, version, cookieless, did, received_at, at, id, payload'

const CELLS_PER_KIND = 6
/** Received at, at, kind, bytes of the payload. */
const NUMBERS_PER_EVENT = 4
const NUMBER_BYTES = NUMBERS_PER_EVENT * 8
/** A UTF-16 unit has at most this many bytes in UTF-8. */
const MAX_UNIT_BYTES = 3

/** Payloads are written here first, since their length is known only then. It grows with the largest append. */
let scratch = Buffer.alloc(0)

export function toCells(events: readonly LogEvent[]): Cells {
  const count = events.length
  const numbers = new Float64Array(count * NUMBERS_PER_EVENT)
  const kinds = createKinds()
  const dids: (string | null)[] = []
  let units = 0
  for (const { payload } of events) units += payload.length
  if (scratch.length < units * MAX_UNIT_BYTES)
    scratch = Buffer.allocUnsafeSlow(units * MAX_UNIT_BYTES)
  let end = 0
  let at = 0
  for (const event of events) {
    const bytes = scratch.write(event.payload, end)
    end += bytes
    numbers[at] = event.receivedAt
    numbers[at + 1] = event.at
    numbers[at + 2] = kinds.find(event)
    numbers[at + 3] = bytes
    at += NUMBERS_PER_EVENT
    dids.push(event.did)
  }
  const ids = count * NUMBER_BYTES
  const payloads = ids + count * UUID_BYTES
  const bytes = new Uint8Array(payloads + end)
  new Float64Array(bytes.buffer, 0, numbers.length).set(numbers)
  let id = ids
  for (const event of events) {
    writeUuid(bytes, id, event.id)
    id += UUID_BYTES
  }
  bytes.set(scratch.subarray(0, end), payloads)
  return { count, kinds: kinds.cells, dids, bytes: bytes.buffer }
}

/** Numbers the kinds of events, from 0. Events of one kind come in runs. */
function createKinds() {
  const all: Cell[] = []
  const numbers = new Map<string, number>()
  let last: LogEvent | undefined
  let number = 0

  function find(event: LogEvent): number {
    if (last && isSame(event, last)) return number
    last = event
    const { customer, operation, bot, version } = event
    const cookieless = event.cookieless === undefined ? null : Number(event.cookieless)
    const cells = [customer, operation, event.event, bot ? 1 : 0, version, cookieless]
    const key = JSON.stringify(cells)
    const known = numbers.get(key)
    number = known ?? numbers.size
    if (known === undefined) {
      numbers.set(key, number)
      all.push(...cells)
    }
    return number
  }

  return { cells: all, find }
}

const isSame = (one: LogEvent, other: LogEvent): boolean =>
  one.event === other.event &&
  one.customer === other.customer &&
  one.operation === other.operation &&
  one.version === other.version &&
  one.bot === other.bot &&
  one.cookieless === other.cookieless

/** Calls `take` with the row of each event, in order. */
export function eachRow({ count, kinds, dids, bytes }: Cells, take: TakeRow): void {
  const numbers = new Float64Array(bytes, 0, count * NUMBERS_PER_EVENT)
  const buffer = Buffer.from(bytes)
  let id = count * NUMBER_BYTES
  let payload = id + count * UUID_BYTES
  for (let i = 0; i < count; i++) {
    const at = i * NUMBERS_PER_EVENT
    const kind = (numbers[at + 2] as number) * CELLS_PER_KIND
    const nextId = id + UUID_BYTES
    const nextPayload = payload + (numbers[at + 3] as number)
    take(
      kinds[kind] as Cell,
      kinds[kind + 1] as Cell,
      kinds[kind + 2] as Cell,
      kinds[kind + 3] as Cell,
      kinds[kind + 4] as Cell,
      kinds[kind + 5] as Cell,
      dids[i] as Cell,
      numbers[at] as number,
      numbers[at + 1] as number,
      buffer.subarray(id, nextId),
      buffer.subarray(payload, nextPayload),
    )
    id = nextId
    payload = nextPayload
  }
}

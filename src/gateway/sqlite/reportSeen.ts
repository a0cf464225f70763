import type { Database } from 'better-sqlite3'

/** An event that was read: its position, when it happened, and the short hash of its device. */
export type SeenEvent = { readonly seq: number; readonly at: number; readonly hash: number }

/** Entries of `customer` with this number are those of all customers. */
const ALL_CUSTOMERS = 0

/** The devices of the events that were read. */
export type Seen = {
  /**
   * Adds events, in the order of the log.
   *
   * @param customer The number of a customer that is read further than the others. Default: all customers.
   */
  add(events: readonly SeenEvent[], customer?: number): void
  /**
   * Positions before `end` of events with one of these hashes, among them all that happened at `since` or later. Other
   * devices may have the same hash. At most MAX_FOUND of each.
   */
  find(hashes: Iterable<number>, since: number, end: number, customer: number): number[]
  /**
   * Deletes events, also those of a customer that was read further.
   *
   * @returns How many there were.
   */
  drop(seqs: readonly number[], customer: number | undefined): number
  /** Deletes what a customer has up to a position, which all customers have reached. */
  dropAhead(customer: number, upTo: number): void
  /**
   * Deletes the events of one row that the log does not keep, of those that overlap a range.
   *
   * @param kept Finds the positions between two that are kept.
   * @returns The last position of the row. Undefined if there is none.
   */
  sweep(
    after: number,
    upTo: number,
    kept: (first: number, last: number) => readonly number[],
  ): number | undefined
}

/** A row with fewer entries is filled up. */
const ROW_ENTRIES = 1_024
/** The most events of a device that `find` finds. A person causes fewer in the days for which a page keeps events. */
export const MAX_FOUND = 20_000
/** Bits of a hash that are looked up in a table before it is searched in the set. */
const PREFILTER_BITS = 16

type Entries = { readonly customer: number; readonly first: number; readonly entries: Buffer }
type Filled = Entries & { readonly maxAt: number }

/**
 * Keeps of each event 8 bytes: the position, relative to the first one of its row, and 32 bits of a hash of its device.
 * They are written at the end of the table and read from some time on, without an index: a visit usually arrives after
 * its device's earlier events and before the later ones, so only the last row has to be read. The oldest events of ten
 * million are read in some 50 ms.
 */
export function createSeen(database: Database): Seen {
  const lastRow = database.prepare<[number], Filled>(
    `SELECT customer, first, max_at AS maxAt, entries FROM seen
     WHERE customer = ? ORDER BY first DESC LIMIT 1`,
  )
  const insert = database.prepare<[number, number, number, number, Buffer]>(
    'INSERT INTO seen (customer, first, last, max_at, entries) VALUES (?, ?, ?, ?, ?)',
  )
  const fill = database.prepare<[number, number, Buffer, number, number]>(
    'UPDATE seen SET last = ?, max_at = ?, entries = ? WHERE customer = ? AND first = ?',
  )
  const update = database.prepare<[Buffer, number, number]>(
    'UPDATE seen SET entries = ? WHERE customer = ? AND first = ?',
  )
  const remove = database.prepare<[number, number]>(
    'DELETE FROM seen WHERE customer = ? AND first = ?',
  )
  const since = database.prepare<[number, number, number], Entries>(
    `SELECT customer, first, entries FROM seen INDEXED BY seen_by_time
     WHERE customer = ? AND max_at >= ? AND first < ?`,
  )
  const rowOf = database.prepare<[number, number], Entries & { readonly last: number }>(
    `SELECT customer, first, last, entries FROM seen
     WHERE customer = ? AND first <= ? ORDER BY first DESC LIMIT 1`,
  )
  const removeAhead = database.prepare<[number, number]>(
    'DELETE FROM seen WHERE customer = ? AND last <= ?',
  )
  const nextRow = database.prepare<
    [{ after: number; upTo: number }],
    Entries & { readonly last: number }
  >(
    `SELECT customer, first, last, entries FROM seen
     WHERE customer = ${ALL_CUSTOMERS} AND first <= @upTo AND last > @after AND first >= coalesce(
       (SELECT max(first) FROM seen WHERE customer = ${ALL_CUSTOMERS} AND first <= @after), 0
     )
     ORDER BY first LIMIT 1`,
  )

  /** Deletes entries of a row. @returns The deleted positions. */
  function rewrite({ customer, first, entries }: Entries, isKept: (seq: number) => boolean) {
    const left: Buffer[] = []
    const dropped: number[] = []
    for (let at = 0; at < entries.length; at += 8) {
      const seq = first + entries.readUInt32LE(at)
      if (isKept(seq)) left.push(entries.subarray(at, at + 8))
      else dropped.push(seq)
    }
    if (left.length === 0) remove.run(customer, first)
    else if (dropped.length > 0) update.run(Buffer.concat(left), customer, first)
    return dropped
  }

  return {
    add(events, customer = ALL_CUSTOMERS) {
      const [newest, last] = [events[0], events.at(-1)]
      if (!newest || !last) return
      const row = lastRow.get(customer)
      const filled = row && row.entries.length < ROW_ENTRIES * 8 ? row : undefined
      const first = filled?.first ?? newest.seq
      const entries = Buffer.allocUnsafe(events.length * 8)
      let maxAt = filled?.maxAt ?? Number.NEGATIVE_INFINITY
      let at = 0
      for (const event of events) {
        entries.writeUInt32LE(event.seq - first, at)
        entries.writeUInt32LE(event.hash, at + 4)
        at += 8
        if (event.at > maxAt) maxAt = event.at
      }
      if (filled)
        fill.run(last.seq, maxAt, Buffer.concat([filled.entries, entries]), customer, first)
      else insert.run(customer, first, last.seq, maxAt, entries)
    },
    find(hashes, from, end, customer) {
      const prefilter = new Uint8Array(1 << PREFILTER_BITS)
      const mask = prefilter.length - 1
      /** How many of each may be found. */
      const left = new Map<number, number>()
      for (const hash of hashes) {
        prefilter[hash & mask] = 1
        left.set(hash, MAX_FOUND)
      }
      const found: number[] = []
      for (const of of [ALL_CUSTOMERS, customer])
        for (const { first, entries } of since.iterate(of, from, end)) {
          // Faster than a Buffer, whose reads check their bounds.
          const view = new DataView(entries.buffer, entries.byteOffset, entries.length)
          for (let at = 0; at < entries.length; at += 8) {
            const hash = view.getUint32(at + 4, true)
            if (prefilter[hash & mask] !== 1) continue
            const more = left.get(hash) ?? 0
            const seq = first + view.getUint32(at, true)
            if (more === 0 || seq >= end) continue
            left.set(hash, more - 1)
            found.push(seq)
          }
        }
      return found
    },
    drop(seqs, customer) {
      const dropped = new Set<number>()
      const customers = customer === undefined ? [ALL_CUSTOMERS] : [ALL_CUSTOMERS, customer]
      for (const of of customers) {
        let left = new Set(seqs)
        while (left.size > 0) {
          const row = rowOf.get(of, Math.max(...left))
          if (!row) break
          for (const seq of rewrite(row, (seq) => !left.has(seq))) dropped.add(seq)
          left = new Set([...left].filter((seq) => seq < row.first))
        }
      }
      return dropped.size
    },
    dropAhead: (customer, upTo) => void removeAhead.run(customer, upTo),
    sweep(after, upTo, kept) {
      const row = nextRow.get({ after, upTo })
      if (!row) return undefined
      const left = new Set(kept(row.first, row.last))
      rewrite(row, (seq) => left.has(seq))
      return row.last
    },
  }
}

/**
 * 32 bits of a hash of a text. It only narrows down a search, so it need not be free of collisions. (FNV-1a with a seed,
 * and the last mixing step of MurmurHash3.)
 */
export function shortHash(seed: number, text: string): number {
  let hash = seed
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

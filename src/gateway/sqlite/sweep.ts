import type { Database } from 'better-sqlite3'
import type { Expired, Removed } from '../collect/expiredEvents.ts'
import { MAX_REMOVED, type Removal } from './removal.ts'

/** Rows that `findExpired` reads in one step. */
const WINDOW = 1_000
/** Bytes of payloads that are removed in one step: overwriting them takes as long as storing them. */
const MAX_BYTES = 2 ** 18
const DAY_MS = 86_400_000

/**
 * `swept`: the customer's events up to `seq` are removed. `sweep_time`: see `sweepTime`; it has one row.
 */
export const SWEEP_TABLES = `
  CREATE TABLE IF NOT EXISTS swept (
    customer TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS sweep_time (
    at INTEGER NOT NULL
  ) STRICT;
`

/** The removal of expired events. Synchronous, like the store; see ExpiredEvents. */
export type Sweep = {
  sweepTime(now: number): number
  findExpired(customer: string, before: number, now: number, after?: number): Expired
  removeExpired(customer: string, upTo: number): Removed
}

type Row = readonly [seq: number, receivedAt: number, bytes: number, isRemoved: number]

export function createSweep(database: Database, { removeEvents }: Removal): Sweep {
  const timeOf = database.prepare<[], number>('SELECT at FROM sweep_time').pluck()
  const newest = database
    .prepare<[], number>('SELECT received_at FROM events ORDER BY seq DESC LIMIT 1')
    .pluck()
  const addTime = database.prepare<[number]>('INSERT INTO sweep_time (at) VALUES (?)')
  const setTime = database.prepare<[number]>('UPDATE sweep_time SET at = ?')
  const positionOf = database
    .prepare<[string], number>('SELECT seq FROM swept WHERE customer = ?')
    .pluck()
  const setPosition = database.prepare<[string, number]>(
    'INSERT INTO swept (customer, seq) VALUES (?, ?) ON CONFLICT DO UPDATE SET seq = max(seq, excluded.seq)',
  )
  const rowsAfter = database
    .prepare<[string, number, number, number], Row>(
      `SELECT seq, received_at, octet_length(payload), operation = '' FROM events INDEXED BY events_by_customer
       WHERE customer = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
    )
    .raw()

  const sweepTime = database.transaction((now: number): number => {
    const last = timeOf.get()
    // The first time there is nothing to compare with but the events.
    const from = last ?? (newest.get() || now)
    const time = Math.min(now, from + DAY_MS)
    if (last === undefined) addTime.run(time)
    else if (time !== last) setTime.run(time)
    return time
  })

  const removeExpired = database.transaction((customer: string, upTo: number): Removed => {
    const seqs: number[] = []
    let bytes = 0
    let last = positionOf.get(customer) ?? 0
    const rows = rowsAfter.all(customer, last, upTo, MAX_REMOVED)
    for (const row of rows) {
      seqs.push(row[0])
      bytes += row[2]
      last = row[0]
      if (bytes >= MAX_BYTES) break
    }
    const removed = removeEvents(seqs)
    const isDone = seqs.length === rows.length && rows.length < MAX_REMOVED
    setPosition.run(customer, isDone ? upTo : last)
    return { removed, isDone }
  })

  return {
    sweepTime: (now) => sweepTime.immediate(now),
    findExpired(customer, before, now, after = positionOf.get(customer) ?? 0) {
      const rows = rowsAfter.all(customer, after, Number.MAX_SAFE_INTEGER, WINDOW)
      let upTo: number | undefined
      for (const [seq, receivedAt, , isRemoved] of rows) {
        if (isRemoved === 1) continue
        if (receivedAt < before) upTo = seq
        // The log is in order of arrival, so the events after it are younger, whatever a wrong clock has written there.
        else if (receivedAt <= now) return { ...(upTo !== undefined && { upTo }) }
        // An event of the future was stored under a wrong clock. It has expired if a later one has.
      }
      const next = rows.length < WINDOW ? undefined : rows.at(-1)?.[0]
      return { ...(upTo !== undefined && { upTo }), ...(next !== undefined && { next }) }
    },
    removeExpired: (customer, upTo) => removeExpired.immediate(customer, upTo),
  }
}

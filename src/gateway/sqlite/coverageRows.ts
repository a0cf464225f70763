import type { Database } from 'better-sqlite3'
import {
  COVERAGE_DAYS,
  type CoverageCount,
  type CoverageHistory,
  type OperationTotal,
  SLOTS_PER_HOUR,
  slotOf,
} from '../problems/problems.ts'

/**
 * `coverage_hours`: events of an hour, in slots of ten minutes. The hour comes first, so that all customers write to the
 * same few pages. The row without customer and operation has 1 for each slot in which a gateway ran. `coverage`: what
 * stays when the hours are removed. Its row without customer begins with the counting.
 */
export const COVERAGE_TABLES = `
  CREATE TABLE IF NOT EXISTS coverage_hours (
    hour INTEGER NOT NULL,
    customer TEXT NOT NULL,
    operation TEXT NOT NULL,
    s0 INTEGER NOT NULL,
    s1 INTEGER NOT NULL,
    s2 INTEGER NOT NULL,
    s3 INTEGER NOT NULL,
    s4 INTEGER NOT NULL,
    s5 INTEGER NOT NULL,
    PRIMARY KEY (hour, customer, operation)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS coverage (
    customer TEXT NOT NULL,
    operation TEXT NOT NULL,
    began INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    events INTEGER NOT NULL,
    days INTEGER NOT NULL,
    PRIMARY KEY (customer, operation)
  ) STRICT, WITHOUT ROWID;
`
const HOURS = COVERAGE_DAYS * 24
const DAY_MS = 86_400_000
/** Old rows that are removed with each write. */
const MAX_FORGOTTEN = 500

/** Counts of stored events. Synchronous, like the store. */
export type CoverageRows = {
  /** Call it in a transaction. */
  addCoverage(rows: readonly CoverageCount[], now: number): void
  /** Removes some of the hours that are older than COVERAGE_DAYS. Call it in a transaction. */
  forgetCoverage(now: number): void
  readCoverage(customer: string, now: number): CoverageHistory
}

type HourKey = readonly [hour: number, customer: string, operation: string]
type HourRow = readonly [hour: number, operation: string, ...slots: number[]]

export function createCoverageRows(database: Database): CoverageRows {
  const names = Array.from({ length: SLOTS_PER_HOUR }, (_, i) => `s${i}`)
  const toHour = (set: (name: string) => string) =>
    database.prepare<(number | string)[]>(
      `INSERT INTO coverage_hours VALUES (?, ?, ?${', ?'.repeat(SLOTS_PER_HOUR)})
       ON CONFLICT (hour, customer, operation) DO UPDATE SET ${names.map(set).join(', ')}`,
    )
  const addHour = toHour((name) => `${name} = ${name} + excluded.${name}`)
  const markHour = toHour((name) => `${name} = max(${name}, excluded.${name})`)
  const addTotal = database.prepare<[string, string, number, number, number]>(
    `INSERT INTO coverage (customer, operation, began, ended, events, days) VALUES (?, ?, ?, ?, ?, 1)
     ON CONFLICT (customer, operation) DO UPDATE SET
       began = min(began, excluded.began), ended = max(ended, excluded.ended), events = events + excluded.events,
       days = days + (excluded.ended / ${DAY_MS} > ended / ${DAY_MS})`,
  )
  const begin = database.prepare<[number, number]>(
    `INSERT INTO coverage (customer, operation, began, ended, events, days) VALUES ('', '', ?, ?, 0, 0)
     ON CONFLICT (customer, operation) DO UPDATE SET began = excluded.began WHERE excluded.began < began`,
  )
  const old = database
    .prepare<[number, number], HourKey>(
      'SELECT hour, customer, operation FROM coverage_hours WHERE hour <= ? ORDER BY hour LIMIT ?',
    )
    .raw()
  const erase = database.prepare<HourKey[number][]>(
    'DELETE FROM coverage_hours WHERE hour = ? AND customer = ? AND operation = ?',
  )
  const totals = database.prepare<[string], OperationTotal>(
    'SELECT operation, began AS first, ended AS last, events, days FROM coverage WHERE customer = ?',
  )
  const hours = database
    .prepare<[number, number, string], HourRow>(
      `WITH RECURSIVE wanted(hour) AS (SELECT ? UNION ALL SELECT hour + 1 FROM wanted WHERE hour < ?)
       SELECT h.hour, h.operation, ${names.map((name) => `h.${name}`).join(', ')}
       FROM wanted JOIN coverage_hours AS h ON h.hour = wanted.hour AND h.customer = ?`,
    )
    .raw()

  /** A row with a number in one slot. */
  const rowWith = (customer: string, operation: string, slot: number, value: number) => {
    const hour = Math.floor(slot / SLOTS_PER_HOUR)
    const slots = names.map((_, i) => (hour * SLOTS_PER_HOUR + i === slot ? value : 0))
    return [hour, customer, operation, ...slots]
  }

  return {
    addCoverage(rows, now) {
      begin.run(Math.min(now, ...rows.map(({ first }) => first)), now)
      markHour.run(...rowWith('', '', slotOf(now), 1))
      for (const { customer, operation, slot, events, first, last } of rows) {
        addHour.run(...rowWith(customer, operation, slot, events))
        addTotal.run(customer, operation, first, last, events)
      }
    },
    forgetCoverage(now) {
      const hour = Math.floor(slotOf(now) / SLOTS_PER_HOUR) - HOURS - 2
      for (const key of old.all(hour, MAX_FORGOTTEN)) erase.run(...key)
    },
    readCoverage(customer, now) {
      const newest = slotOf(now)
      const lastHour = Math.floor(newest / SLOTS_PER_HOUR)
      const firstHour = lastHour - HOURS - 1
      const from = firstHour * SLOTS_PER_HOUR
      const empty = () => new Array<number>(newest - from + 1).fill(0)
      const events = new Map<string, number[]>()
      const read = (of: string): void => {
        for (const [hour, operation, ...slots] of hours.all(firstHour, lastHour, of)) {
          const counts = events.get(operation) ?? empty()
          events.set(operation, counts)
          slots.forEach((value, i) => {
            const at = (hour - firstHour) * SLOTS_PER_HOUR + i
            // A clock that was ahead has counted in the future.
            if (at < counts.length) counts[at] = value
          })
        }
      }
      read('')
      const observed = events.get('') ?? empty()
      events.clear()
      read(customer)
      return {
        since: totals.get('')?.first ?? now,
        from,
        observed,
        events,
        totals: totals.all(customer),
      }
    },
  }
}

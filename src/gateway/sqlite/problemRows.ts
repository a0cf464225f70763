import type { Database } from 'better-sqlite3'
import { dayOf } from '../customers/usage.ts'
import {
  KEPT_DAYS,
  MAX_FAULTS_OF_REASON,
  MAX_STORED_FAULTS,
  otherOf,
  type ProblemCount,
} from '../problems/problems.ts'

/** The day comes first, so that the rows of a day lie together, and old ones are removed in order. */
export const PROBLEMS_TABLE = `
  CREATE TABLE IF NOT EXISTS problems (
    day INTEGER NOT NULL,
    customer TEXT NOT NULL,
    source TEXT NOT NULL,
    reason TEXT NOT NULL,
    operation TEXT NOT NULL,
    path TEXT NOT NULL,
    page TEXT NOT NULL,
    count INTEGER NOT NULL,
    began INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    example TEXT,
    PRIMARY KEY (day, customer, source, reason, operation, path, page)
  ) STRICT, WITHOUT ROWID;
`
/** Old rows that are removed with each write. */
const MAX_FORGOTTEN = 500
/** Rows that are read of a customer: what its limits allow in 30 days is a little more. */
const MAX_READ = 5_000

/** Counts of problems. Synchronous, like the store. */
export type ProblemRows = {
  /** Call it in a transaction. */
  addProblems(rows: readonly ProblemCount[]): void
  /** Removes some of the problems that are older than KEPT_DAYS. Call it in a transaction. */
  forgetProblems(now: number): void
  /** The newest problems of a customer, from a day on. */
  readProblems(customer: string, fromDay: number): ProblemCount[]
}

type Key = Pick<
  ProblemCount,
  'day' | 'customer' | 'source' | 'reason' | 'operation' | 'path' | 'page'
>

const IS_ROW =
  'day = @day AND customer = @customer AND source = @source AND reason = @reason AND operation = @operation AND path = @path AND page = @page'

/** @param maxStored Different faults of all customers and days. */
export function createProblemRows(database: Database, maxStored = MAX_STORED_FAULTS): ProblemRows {
  const update = database.prepare<[ProblemCount]>(
    `UPDATE problems SET count = count + @count, began = min(began, @first), ended = max(ended, @last),
       example = coalesce(@example, example) WHERE ${IS_ROW}`,
  )
  const insert = database.prepare<[ProblemCount]>(
    `INSERT INTO problems (day, customer, source, reason, operation, path, page, count, began, ended, example)
     VALUES (@day, @customer, @source, @reason, @operation, @path, @page, @count, @first, @last, @example)`,
  )
  const ofReason = database
    .prepare<[Key], number>(
      'SELECT count(*) FROM problems WHERE day = @day AND customer = @customer AND source = @source AND reason = @reason',
    )
    .pluck()
  const ofDay = database
    .prepare<[Key], number>(
      'SELECT count(*) FROM problems WHERE day = @day AND customer = @customer',
    )
    .pluck()
  const count = database.prepare<[], number>('SELECT count(*) FROM problems').pluck()
  const old = database.prepare<[number, number], Key>(
    `SELECT day, customer, source, reason, operation, path, page FROM problems WHERE day < ?
     ORDER BY day LIMIT ?`,
  )
  const erase = database.prepare<[Key]>(`DELETE FROM problems WHERE ${IS_ROW}`)
  const ofCustomer = database.prepare<[string, string, number], ProblemCount>(
    `SELECT day, customer, source, reason, operation, problems.path, page, count, began AS first, ended AS last, example
     FROM json_each(?) AS days CROSS JOIN problems
     ON problems.day = days.value AND problems.customer = ? LIMIT ?`,
  )
  /** Rows of the table. Other gateways over the same file add rows too, so they are counted again every day. */
  let stored = count.get() as number
  let countedOn = 0

  function add(row: ProblemCount): void {
    if (update.run(row).changes > 0) return
    // A customer may add as many on each day as are left free, so that some with many leave room for the others.
    const share = (maxStored - stored) / KEPT_DAYS
    const isFull =
      (ofDay.get(row) ?? 0) >= share || (ofReason.get(row) ?? 0) >= MAX_FAULTS_OF_REASON
    const counted = isFull ? { ...row, ...otherOf(row), example: null } : row
    if (isFull && update.run(counted).changes > 0) return
    insert.run(counted)
    stored++
  }

  return {
    addProblems(rows) {
      for (const row of rows) add(row)
    },
    forgetProblems(now) {
      const rows = old.all(dayOf(now) - KEPT_DAYS + 1, MAX_FORGOTTEN)
      for (const row of rows) erase.run(row)
      stored -= rows.length
      if (countedOn === dayOf(now)) return
      stored = count.get() as number
      countedOn = dayOf(now)
    },
    readProblems(customer, fromDay) {
      const days = Array.from({ length: KEPT_DAYS }, (_, i) => fromDay + KEPT_DAYS - 1 - i)
      return ofCustomer.all(JSON.stringify(days), customer, MAX_READ)
    },
  }
}

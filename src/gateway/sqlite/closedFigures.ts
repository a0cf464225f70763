import type { Database } from 'better-sqlite3'
import { createSum, limitNames, type Part } from './reportSums.ts'

/** The most event names in the closed figures of a campaign. A report shows a hundred. */
const MAX_NAMES = 1_000

/**
 * The figures of campaigns before `until`, without devices. They are in the file of the events, since the reports' file
 * can not be made again from events that are removed. `utm` is the hash of the campaign's utm values.
 */
export const CLOSED_TABLES = `
  CREATE TABLE IF NOT EXISTS closed_reports (
    customer TEXT PRIMARY KEY,
    until INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS closed_figures (
    customer TEXT NOT NULL,
    utm BLOB NOT NULL,
    figures TEXT NOT NULL,
    PRIMARY KEY (customer, utm)
  ) STRICT, WITHOUT ROWID;
`

/** The figures of a customer's campaigns over some time. */
export type Closing = {
  readonly customer: string
  /** Where the closed figures end so far, ms since 1970; 0 if there are none. */
  readonly since: number
  /** Where they end with these. The start of a day (UTC). */
  readonly until: number
  readonly figures: readonly { readonly utm: Uint8Array; readonly part: Part<string> }[]
}

/** The closed figures, as the store writes them. */
export type ClosedFigures = {
  /**
   * Adds figures to those before, in one transaction, durable when it returns.
   *
   * @returns False if the figures before end at another time, because another gateway has closed them. Then nothing is
   * changed.
   */
  closeFigures(closing: Closing): boolean
  /** Where the closed figures of each customer end, in the order of the customers. */
  closedTimes(): readonly ClosedTime[]
}

/** Where the closed figures of a customer end, ms since 1970. */
export type ClosedTime = readonly [customer: string, until: number]

export function createClosedFigures(database: Database): ClosedFigures {
  const untilOf = database
    .prepare<[string], number>('SELECT until FROM closed_reports WHERE customer = ?')
    .pluck()
  const setUntil = database.prepare<[string, number]>(
    'INSERT OR REPLACE INTO closed_reports (customer, until) VALUES (?, ?)',
  )
  const figuresOf = database
    .prepare<[string, Uint8Array], string>(
      'SELECT figures FROM closed_figures WHERE customer = ? AND utm = ?',
    )
    .pluck()
  const setFigures = database.prepare<[string, Uint8Array, string]>(
    'INSERT OR REPLACE INTO closed_figures (customer, utm, figures) VALUES (?, ?, ?)',
  )

  const closeFigures = database.transaction(
    ({ customer, since, until, figures }: Closing): boolean => {
      if ((untilOf.get(customer) ?? 0) !== since) return false
      for (const { utm, part } of figures) {
        const sum = createSum<string>()
        const before = figuresOf.get(customer, utm)
        if (before !== undefined) sum.add(JSON.parse(before))
        sum.add(part)
        setFigures.run(customer, utm, JSON.stringify(limitNames(sum.part(), MAX_NAMES)))
      }
      setUntil.run(customer, until)
      return true
    },
  )
  const times = database
    .prepare<[], ClosedTime>('SELECT customer, until FROM closed_reports ORDER BY customer')
    .raw()
  return {
    closeFigures: (closing) => closeFigures.immediate(closing),
    closedTimes: () => times.all(),
  }
}

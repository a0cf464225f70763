import type { Database } from 'better-sqlite3'

/** What events bring that was not there before, and that somebody can make up. */
export type Novelty = 'devices' | 'utms' | 'names'

/** How much of it is kept a day of arrival (UTC) and customer. */
export type DailyBounds = Readonly<Record<Novelty, number>>

/**
 * A day of a very large shop fits into these, so that only somebody who makes up values meets them:
 *
 * - devices: a shop with more first visits a day than a million sends over 100 events a second at its peak.
 *   Events of devices beyond are not counted, and reports name the day.
 * - utms, combinations of the three values: advertisements with an id of their own in each come to hundreds a
 *   day. A visit beyond is one of another campaign, which ends the campaign before it, and has no figures. The
 *   values of campaigns that the gateway keeps do not count.
 * - names of events: a report shows a hundred. Beyond they are counted as `(other)`.
 */
export const DAILY_BOUNDS: DailyBounds = { devices: 1_000_000, utms: 10_000, names: 1_000 }

/** Days that a report names as incomplete, the newest. */
const MAX_INCOMPLETE_DAYS = 31

const COLUMNS = 'customer, id, seq, day, devices, utms, names'
const DAY_MS = 86_400_000

/** A customer, as far as its events are counted. */
export type Customer = {
  /** Short for its id. */
  readonly customer: number
  readonly id: string
  /** Position of the last event counted. */
  seq: number
  /** Day on which that arrived, days since 1970. */
  day: number
  /** What that day has brought so far. */
  devices: number
  utms: number
  names: number
}

/** The customers with events that are counted, and what is new of them each day. */
export type Customers = {
  find(id: string): Customer | undefined
  /** Adds it where it is missing. */
  open(id: string): Customer
  /** Writes what has changed. */
  save(customer: Customer): void
  /** Comes before the first question of `admits` about an event that arrived then, ms since 1970. */
  arrive(customer: Customer, receivedAt: number): void
  /** Whether one more is kept that day; it counts as one more. */
  admits(customer: Customer, novelty: Novelty): boolean
  /** First day from which on everything with utm values that get their number now is counted. */
  sinceOf(customer: Customer | undefined): number
  /**
   * Days of arrival of which events are missing in the figures of utm values, YYYY-MM-DD, oldest first.
   *
   * @param since `sinceOf` from when the values got their number.
   */
  incompleteDays(customer: Customer, since: number): readonly string[]
}

export function createCustomers(database: Database, bounds: DailyBounds): Customers {
  const find = database.prepare<[string], Customer>(`SELECT ${COLUMNS} FROM customers WHERE id = ?`)
  const add = database.prepare<[string], Customer>(
    `INSERT INTO customers (id) VALUES (?) RETURNING ${COLUMNS}`,
  )
  const update = database.prepare<[Customer]>(
    `UPDATE customers SET seq = @seq, day = @day, devices = @devices, utms = @utms, names = @names
     WHERE customer = @customer`,
  )
  const addIncomplete = database.prepare<[number, number, Novelty]>(
    'INSERT INTO incomplete VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const incomplete = database
    .prepare<[number, number, number], number>(
      `SELECT DISTINCT day FROM incomplete
       WHERE customer = ? AND (novelty = 'devices' OR day < ?) ORDER BY day DESC LIMIT ?`,
    )
    .pluck()

  return {
    find: (id) => find.get(id),
    open: (id) => find.get(id) ?? (add.get(id) as Customer),
    save: (customer) => void update.run(customer),
    arrive(customer, receivedAt) {
      const day = Math.floor(receivedAt / DAY_MS)
      // Also back to an earlier day: a clock that was wrong once must not hold the bounds for years.
      if (day === customer.day) return
      Object.assign(customer, { day, devices: 0, utms: 0, names: 0 })
    },
    admits(customer, novelty) {
      if (customer[novelty] < bounds[novelty]) {
        customer[novelty]++
        return true
      }
      // Names that are not kept are counted all the same.
      if (novelty !== 'names') addIncomplete.run(customer.customer, customer.day, novelty)
      return false
    },
    sinceOf: (customer) => (customer ? customer.day + (customer.utms < bounds.utms ? 0 : 1) : 0),
    incompleteDays: ({ customer }, since) =>
      incomplete
        .all(customer, since, MAX_INCOMPLETE_DAYS)
        .reverse()
        .map((day) => new Date(day * DAY_MS).toISOString().slice(0, 10)),
  }
}

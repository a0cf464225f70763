import type { Database } from 'better-sqlite3'
import type { ReportDay } from '../../contract/index.ts'
import type { ReportFigures } from '../campaigns/report.ts'

/** What an event is to a report, beside an event. */
export const STEP = { any: 0, viewProduct: 1, addToCart: 2, initiateCheckout: 3, identified: 4 }

/** Names in a report; the rarest beyond are summed under OTHER. */
const MAX_NAMES = 100
export const OTHER = '(other)'

/** Stands for all utm values that have no number: they have no figures. Numbers begin at 1. */
export const OTHER_UTM = 0

/** Changes that gather before they are written, about 200 bytes each. */
const MAX_CHANGES = 10_000

const DAY_MS = 86_400_000
const ALL_DAYS = -1

/** An event, as far as it is counted. */
export type Counted = { readonly at: number; readonly name: number; readonly step: number }

/** What the campaigns' visits did. */
export type Totals = {
  /** Counts an event of a device for a campaign, or with -1 takes it back. Nothing is written yet. */
  count(device: number, utm: number, event: Counted, by: 1 | -1): void
  /** Writes what was counted. */
  apply(): void
  /** The same, where it has become so much that it must not gather in memory any more. */
  applyMuch(): void
  /** Drops what was counted and not written. */
  forget(): void
  /** @param utm Undefined: nothing was ever seen of it. */
  read(utm: number | undefined): ReportFigures
}

type Share = { device: number; utm: number; day: number; step: number; events: number }
type Total = { utm: number; day: number; step: number; events: number; devices: number }
type Named = { utm: number; name: number; events: number }

/**
 * Sums that are kept as the log grows, so that a report reads a few hundred rows however long it is.
 *
 * Changes are collected and written once a slice of the log: a slice of a thousand events of ten
 * campaigns changes some dozens of sums, and each is written once.
 */
export function createTotals(database: Database): Totals {
  const addShare = database
    .prepare<[Share], number>(
      `INSERT INTO shares VALUES (@device, @utm, @day, @step, @events)
       ON CONFLICT DO UPDATE SET events = events + excluded.events RETURNING events`,
    )
    .pluck()
  const dropShare = database.prepare<[Share]>(
    'DELETE FROM shares WHERE device = @device AND utm = @utm AND day = @day AND step = @step',
  )
  const addTotal = database
    .prepare<[Total], number>(
      `INSERT INTO totals VALUES (@utm, @day, @step, @events, @devices)
       ON CONFLICT DO UPDATE SET events = events + excluded.events, devices = devices + excluded.devices
       RETURNING events`,
    )
    .pluck()
  const dropTotal = database.prepare<[Total]>(
    'DELETE FROM totals WHERE utm = @utm AND day = @day AND step = @step',
  )
  const addNamed = database
    .prepare<[Named], number>(
      `INSERT INTO named VALUES (@utm, @name, @events)
       ON CONFLICT DO UPDATE SET events = events + excluded.events RETURNING events`,
    )
    .pluck()
  const dropNamed = database.prepare<[Named]>('DELETE FROM named WHERE utm = @utm AND name = @name')
  const totalsOf = database.prepare<[number], Omit<Total, 'utm'>>(
    'SELECT day, step, events, devices FROM totals WHERE utm = ? ORDER BY day',
  )
  const mostNamed = database.prepare<[number, number], { text: string; events: number }>(
    `SELECT text, events FROM named JOIN names USING (name)
     WHERE utm = ? ORDER BY events DESC, name LIMIT ?`,
  )
  const shares = new Map<string, Share>()
  const totals = new Map<string, Total>()
  const named = new Map<string, Named>()

  function share(device: number, utm: number, day: number, step: number, by: number): void {
    const key = `${device} ${utm} ${day} ${step}`
    const share = shares.get(key)
    if (share) share.events += by
    else shares.set(key, { device, utm, day, step, events: by })
  }

  function total(utm: number, day: number, step: number, events: number, devices: number): void {
    const key = `${utm} ${day} ${step}`
    const total = totals.get(key)
    if (!total) totals.set(key, { utm, day, step, events, devices })
    else {
      total.events += events
      total.devices += devices
    }
  }

  function forget(): void {
    shares.clear()
    totals.clear()
    named.clear()
  }

  function apply(): void {
    for (const change of shares.values()) {
      if (change.events === 0) continue
      const events = addShare.get(change) as number
      if (events === 0) dropShare.run(change)
      const came = events > 0 && events === change.events
      const devices = came ? 1 : events === 0 ? -1 : 0
      total(change.utm, change.day, change.step, change.events, devices)
    }
    for (const change of totals.values()) if (addTotal.get(change) === 0) dropTotal.run(change)
    for (const change of named.values())
      if (change.events !== 0 && addNamed.get(change) === 0) dropNamed.run(change)
    forget()
  }

  return {
    count(device, utm, { at, name, step }, by) {
      if (utm === OTHER_UTM) return
      const day = Math.floor(at / DAY_MS)
      share(device, utm, ALL_DAYS, STEP.any, by)
      share(device, utm, day, STEP.any, by)
      if (step !== STEP.any) {
        share(device, utm, ALL_DAYS, step, by)
        // How many devices came to a step on a day is not asked.
        if (step === STEP.addToCart || step === STEP.initiateCheckout) total(utm, day, step, by, 0)
      }
      const key = `${utm} ${name}`
      const sum = named.get(key)
      if (sum) sum.events += by
      else named.set(key, { utm, name, events: by })
    },
    apply,
    applyMuch() {
      if (shares.size + named.size > MAX_CHANGES) apply()
    },
    forget,
    read(utm) {
      const rows = utm === undefined ? [] : totalsOf.all(utm)
      const of = (day: number, step: number) =>
        rows.find((row) => row.day === day && row.step === step)
      const all = (step: number) => of(ALL_DAYS, step)?.devices ?? 0
      const days = daysOf(rows.filter(({ day }) => day !== ALL_DAYS))
      const most = utm === undefined ? [] : mostNamed.all(utm, MAX_NAMES + 1)
      return {
        from: days[0]?.date ?? null,
        to: days.at(-1)?.date ?? null,
        visitors: all(STEP.any),
        identified: all(STEP.identified),
        events: eventsOf(most, of(ALL_DAYS, STEP.any)?.events ?? 0),
        funnel: {
          view_product: all(STEP.viewProduct),
          add_to_cart: all(STEP.addToCart),
          initiate_checkout: all(STEP.initiateCheckout),
        },
        days,
      }
    },
  }
}

/** A name may be `__proto__`, which only becomes a field of its own by being defined. */
function eventsOf(
  most: readonly { text: string; events: number }[],
  all: number,
): Readonly<Record<string, number>> {
  const shown = most.filter(({ text }) => text !== OTHER).slice(0, MAX_NAMES)
  const rest = all - shown.reduce((sum, { events }) => sum + events, 0)
  const entries = shown.map(({ text, events }): [string, number] => [text, events])
  return Object.fromEntries(rest > 0 ? [...entries, [OTHER, rest]] : entries)
}

/** @param rows In the order of their days. */
function daysOf(rows: readonly Omit<Total, 'utm'>[]): ReportDay[] {
  const byDay = new Map<
    number,
    { visitors: number; add_to_cart: number; initiate_checkout: number }
  >()
  const first = rows[0]?.day ?? 0
  const last = rows.at(-1)?.day ?? -1
  for (let day = first; day <= last; day++)
    byDay.set(day, { visitors: 0, add_to_cart: 0, initiate_checkout: 0 })
  for (const { day, step, events, devices } of rows) {
    const figures = byDay.get(day)
    if (!figures) continue
    if (step === STEP.any) figures.visitors = devices
    if (step === STEP.addToCart) figures.add_to_cart = events
    if (step === STEP.initiateCheckout) figures.initiate_checkout = events
  }
  return [...byDay].map(([day, figures]) => ({
    date: new Date(day * DAY_MS).toISOString().slice(0, 10),
    ...figures,
  }))
}

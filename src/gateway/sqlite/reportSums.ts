import type { ReportDay } from '../../contract/index.ts'
import type { ReportFigures } from '../campaigns/report.ts'
import type { ReportView } from '../campaigns/reportView.ts'
import { OTHER } from './reportNumbers.ts'
import { createSalesSum, nothingSold, type Sales, showSaleDays, showSales } from './reportSales.ts'

/** The most event names in a report. The rarer ones are summed up as OTHER. */
const MAX_NAMES = 100
const DAY_MS = 86_400_000

/** How long after a visit events and orders count for its campaign, ms. After exactly 7 days they still count. */
export const LASTS_MS = 7 * DAY_MS

/** The steps of a report, by number. An event that is no other step is `any`. */
export const STEP = {
  any: 0,
  viewProduct: 1,
  addToCart: 2,
  initiateCheckout: 3,
  identified: 4,
  order: 5,
}

/**
 * The figures of a campaign for some devices or some time, so that they can be added up. Contains no device.
 *
 * @typeParam Name What stands for an event name: its number in the reports' file, or its text.
 */
export type Part<Name = number> = {
  /** How many devices reached each step, by the number of the step. `any` counts all of them. */
  readonly devices: readonly number[]
  /** How many events have each name. */
  readonly names: (readonly [name: Name, events: number])[]
  readonly days: Day[]
  /** The orders that are credited to these devices. Closed figures of earlier versions have none. */
  readonly sales?: Sales<Name>
}
export type Day = {
  /** Days since 1970, in the time zone of the report. */
  readonly day: number
  visitors: number
  addToCart: number
  initiateCheckout: number
}

const NO_SALES = { statuses: [], days: [] }
/** A campaign without events. */
export const NO_PART: Part<never> = { devices: [], names: [], days: [] }

/** Adds up parts. */
export function createSum<Name>() {
  const devices = Object.values(STEP).map(() => 0)
  const names = new Map<Name, number>()
  const days = new Map<number, Day>()
  const sales = createSalesSum<Name>()

  return {
    add(part: Part<Name>): void {
      for (const [step, count] of part.devices.entries())
        devices[step] = (devices[step] ?? 0) + count
      for (const [name, count] of part.names) names.set(name, (names.get(name) ?? 0) + count)
      for (const of of part.days) {
        const day = dayIn(days, of.day)
        day.visitors += of.visitors
        day.addToCart += of.addToCart
        day.initiateCheckout += of.initiateCheckout
      }
      if (part.sales) sales.add(part.sales)
    },
    part: (): Part<Name> => ({
      devices,
      names: [...names],
      days: [...days.values()],
      sales: sales.sales(),
    }),
  }
}

/** A report. Of event names with equal counts, the first ones of the part are shown. */
export function toFigures(
  people: Part<string>,
  bots: Part<string>,
  view: ReportView,
): ReportFigures {
  const sum = createSum<string>()
  sum.add(people)
  if (view.bots) sum.add(bots)
  const { devices, names, days, sales = NO_SALES } = sum.part()
  const visitors = devices[STEP.any] ?? 0
  const shownDays = showDays(new Map(days.map((day) => [day.day, day])), sales, view.currency)
  return {
    time_zone: view.timeZone,
    currency: view.currency,
    from: shownDays[0]?.date ?? null,
    to: shownDays.at(-1)?.date ?? null,
    visitors,
    identified: devices[STEP.identified] ?? 0,
    events: showEvents(names),
    funnel: {
      view_product: devices[STEP.viewProduct] ?? 0,
      add_to_cart: devices[STEP.addToCart] ?? 0,
      initiate_checkout: devices[STEP.initiateCheckout] ?? 0,
      order: devices[STEP.order] ?? 0,
    },
    days: shownDays,
    ...showSales(sales, visitors, view),
    bots: {
      visitors: bots.devices[STEP.any] ?? 0,
      events: bots.names.reduce((events, [, count]) => events + count, 0),
      included: view.bots,
    },
  }
}

/** The same, with the rarer names above `max` summed up as OTHER. */
export function limitNames(part: Part<string>, max: number): Part<string> {
  return { ...part, names: mostFrequent(part.names, max) }
}

export function dayIn(days: Map<number, Day>, day: number): Day {
  const found = days.get(day) ?? { day, visitors: 0, addToCart: 0, initiateCheckout: 0 }
  days.set(day, found)
  return found
}

/** The most frequent names first. Not by assignments, since a name may be `__proto__`. */
const showEvents = (names: Part<string>['names']): ReportFigures['events'] =>
  Object.fromEntries(mostFrequent(names, MAX_NAMES))

/** At most `max` names, the most frequent ones first. The rest is OTHER, at the end. */
function mostFrequent(names: Part<string>['names'], max: number): Part<string>['names'] {
  const shown = [...names]
    .sort(([, a], [, b]) => b - a)
    // One more, since OTHER may be among them.
    .slice(0, max + 1)
    .filter(([text]) => text !== OTHER)
    .slice(0, max)
  const sum = (some: Part<string>['names']) => some.reduce((all, [, count]) => all + count, 0)
  const rest = sum(names) - sum(shown)
  return rest > 0 ? [...shown, [OTHER, rest]] : shown
}

/** Every day from the first to the last. */
function showDays(days: Map<number, Day>, sales: Sales<string>, currency: string): ReportDay[] {
  const sold = showSaleDays(sales, currency)
  const numbers = [...days.keys(), ...sold.keys()].sort((a, b) => a - b)
  const first = numbers[0] ?? 0
  const last = numbers.at(-1) ?? -1
  return Array.from({ length: last - first + 1 }, (_, i) => {
    const { visitors, addToCart, initiateCheckout } = dayIn(days, first + i)
    const date = new Date((first + i) * DAY_MS).toISOString().slice(0, 10)
    return {
      ...{ date, visitors, add_to_cart: addToCart, initiate_checkout: initiateCheckout },
      ...(sold.get(first + i) ?? nothingSold(currency)),
    }
  })
}

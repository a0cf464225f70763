/** The arithmetic of the charts: scales that begin at zero and have whole numbers. */
import type { EmailReport, ReportDay } from '../../src/contract/answers.ts'

const DAY_MS = 86_400_000
/** The fewest days of a chart: a single day would be one wide column. */
const LEAST_DAYS = 7

/** A scale of a chart: `bottom` is its first tick, 0 or below, and `top` its last one, at least 1. */
export type Ticks = {
  readonly bottom: number
  readonly top: number
  readonly ticks: readonly number[]
}

/**
 * A scale around zero for values from `least` to `most`: whole steps of 1, 2 or 5 times a power of ten, about `steps`
 * of them.
 *
 * @param most `top` is at least this.
 * @param least `bottom` is at most this, and 0 if there are no negative values.
 */
export function scaleOf(most: number, least = 0, steps = 3): Ticks {
  const span = Math.max(1, Math.max(0, most) - Math.min(0, least)) / steps
  const power = 10 ** Math.max(0, Math.floor(Math.log10(span)))
  const factor = [1, 2, 5].find((one) => one * power >= span) ?? 10
  const step = factor * power
  const below = Math.max(0, Math.ceil(-least / step))
  // All negative: the scale still has a step above zero, as an empty one has.
  const above = Math.max(1, Math.ceil(most / step))
  return {
    bottom: below === 0 ? 0 : -below * step,
    top: above * step,
    ticks: Array.from({ length: below + above + 1 }, (_, index) => (index - below) * step),
  }
}

/**
 * The days that a chart shows: those of the report, and empty days before them up to a week. A day before the report's
 * first one had no visits.
 */
export function spreadDays(days: readonly ReportDay[]): ReportDay[] {
  const [oldest] = days
  if (!oldest || days.length >= LEAST_DAYS) return [...days]
  const first = Date.parse(`${oldest.date}T00:00:00Z`)
  const before = Array.from({ length: LEAST_DAYS - days.length }, (_, index) => ({
    date: new Date(first - (LEAST_DAYS - days.length - index) * DAY_MS).toISOString().slice(0, 10),
    visitors: 0,
    add_to_cart: 0,
    initiate_checkout: 0,
    orders: 0,
    revenue: '0',
  }))
  return [...before, ...days]
}

/**
 * The indexes of the days that have a label: the last one, and others at even distances before it.
 *
 * @param count Number of days.
 * @param slot Width of a day, px.
 * @param width Width of a label, px.
 */
export function labelled(count: number, slot: number, width: number): number[] {
  const every = Math.max(1, Math.ceil(width / slot))
  return Array.from({ length: count }, (_, index) => index).filter(
    (index) => (count - 1 - index) % every === 0,
  )
}

/** The steps of a report's funnel, each with its number of devices and the kind that sets its colour. */
export const funnelOf = ({ visitors, funnel }: Pick<EmailReport, 'visitors' | 'funnel'>) => [
  { name: 'Visitors', kind: 'viewHomepage', count: visitors },
  { name: 'Product view', kind: 'viewProduct', count: funnel.view_product },
  { name: 'Cart', kind: 'addToCart', count: funnel.add_to_cart },
  { name: 'Checkout', kind: 'initiateCheckout', count: funnel.initiate_checkout },
  { name: 'Order', kind: 'saveOrder', count: funnel.order },
]

/** The arithmetic of the charts: scales that begin at zero and have whole numbers. */
import type { EmailReport, ReportDay } from '../../src/contract/answers.ts'

const DAY_MS = 86_400_000
/** The fewest days of a chart: a single day would be one wide column. */
const LEAST_DAYS = 7

/**
 * A scale from zero for counts up to `most`: whole steps of 1, 2 or 5 times a power of ten, at most
 * `steps` of them.
 *
 * @returns `top` is the last tick, at least 1 and at least `most`.
 */
export function scaleOf(
  most: number,
  steps = 3,
): { readonly top: number; readonly ticks: readonly number[] } {
  const least = Math.max(1, most) / steps
  const power = 10 ** Math.max(0, Math.floor(Math.log10(least)))
  const factor = [1, 2, 5].find((one) => one * power >= least) ?? 10
  const step = factor * power
  const count = Math.max(1, Math.ceil(most / step))
  return {
    top: count * step,
    ticks: Array.from({ length: count + 1 }, (_, index) => index * step),
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
]

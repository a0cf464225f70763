/** The arithmetic of the charts: scales that begin at zero and have whole numbers on them. */

const DAY_MS = 86_400_000
/** A chart shows at least so many days, so that one day is not a wall. */
const LEAST_DAYS = 7

/**
 * A scale from zero for counts up to `most`: whole steps of 1, 2 or 5 times a power of ten, at most
 * `steps` of them.
 *
 * @returns {{ top: number, ticks: number[] }} `top` is the last tick, at least 1 and at least `most`.
 */
export function scaleOf(/** @type {number} */ most, steps = 3) {
  const least = Math.max(1, most) / steps
  const power = 10 ** Math.max(0, Math.floor(Math.log10(least)))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= least)
  const count = Math.max(1, Math.ceil(most / step))
  return {
    top: count * step,
    ticks: Array.from({ length: count + 1 }, (_, index) => index * step),
  }
}

/**
 * The days a chart shows: the report's, and before them as many as make a week. Nothing came on those,
 * or they would be in the report.
 */
export function spreadDays(days) {
  if (days.length === 0 || days.length >= LEAST_DAYS) return [...days]
  const first = Date.parse(`${days[0].date}T00:00:00Z`)
  const before = Array.from({ length: LEAST_DAYS - days.length }, (_, index) => ({
    date: new Date(first - (LEAST_DAYS - days.length - index) * DAY_MS).toISOString().slice(0, 10),
    visitors: 0,
    add_to_cart: 0,
    initiate_checkout: 0,
  }))
  return [...before, ...days]
}

/** Which of `count` days have a label, where each has `slot` px and a label takes `width`: the last one, and back from it evenly. */
export function labelled(
  /** @type {number} */ count,
  /** @type {number} */ slot,
  /** @type {number} */ width,
) {
  const every = Math.max(1, Math.ceil(width / slot))
  return Array.from({ length: count }, (_, index) => index).filter(
    (index) => (count - 1 - index) % every === 0,
  )
}

/** The steps of a report's funnel, each with its devices and the kind that gives it its colour. */
export const funnelOf = ({ visitors, funnel }) => [
  { name: 'Visitors', kind: 'viewHomepage', count: visitors },
  { name: 'Product view', kind: 'viewProduct', count: funnel.view_product },
  { name: 'Cart', kind: 'addToCart', count: funnel.add_to_cart },
  { name: 'Checkout', kind: 'initiateCheckout', count: funnel.initiate_checkout },
]

import type { SoldOrders } from '../../contract/index.ts'
import { fractionDigitsOf, moneyText } from '../../contract/money.ts'
import type { ReportFigures } from '../campaigns/report.ts'
import type { ReportView } from '../campaigns/reportView.ts'
import { OTHER } from './reportNumbers.ts'

/** The most statuses in a report. The rarer ones are summed up as OTHER. */
const MAX_STATUSES = 20
/** The status of orders without one. */
const NO_STATUS = '(none)'

/** Orders of a currency. Amounts are whole minor units as text, since sums may exceed 2^53. */
type Sold = {
  /** ISO 4217 code. */
  readonly currency: string
  readonly orders: number
  readonly minor: string
}

/**
 * The orders of a campaign, so that they can be added up. Contains no order.
 *
 * @typeParam Name What stands for a status: its number in the reports' file, or its text.
 */
export type Sales<Name> = {
  /** By currency and status. A status is null if there is none. */
  readonly statuses: readonly (Sold & { readonly status: Name | null })[]
  /** By currency and day. */
  readonly days: readonly (Sold & {
    /** Days since 1970. */
    readonly day: number
  })[]
}

type Sum = { orders: number; minor: bigint }

/** Adds up orders. */
export function createSalesSum<Name>() {
  const statuses = new Map<string, Map<Name | null, Sum>>()
  const days = new Map<string, Map<number, Sum>>()

  return {
    addOrder(currency: string, status: Name | null, day: number, minor: number): void {
      const amount = BigInt(minor)
      addTo(statuses, currency, status, 1, amount)
      addTo(days, currency, day, 1, amount)
    },
    add(sales: Sales<Name>): void {
      for (const { currency, status, orders, minor } of sales.statuses)
        addTo(statuses, currency, status, orders, BigInt(minor))
      for (const { currency, day, orders, minor } of sales.days)
        addTo(days, currency, day, orders, BigInt(minor))
    },
    sales: (): Sales<Name> => ({
      statuses: listed(statuses).map(({ key, ...sold }) => ({ ...sold, status: key })),
      days: listed(days).map(({ key, ...sold }) => ({ ...sold, day: key })),
    }),
  }
}

function addTo<Key>(
  sums: Map<string, Map<Key, Sum>>,
  currency: string,
  key: Key,
  orders: number,
  minor: bigint,
): void {
  const inCurrency = sums.get(currency) ?? new Map<Key, Sum>()
  sums.set(currency, inCurrency)
  const sum = inCurrency.get(key) ?? { orders: 0, minor: 0n }
  inCurrency.set(key, sum)
  sum.orders += orders
  sum.minor += minor
}

const listed = <Key>(sums: Map<string, Map<Key, Sum>>) =>
  [...sums].flatMap(([currency, inCurrency]) =>
    [...inCurrency].map(([key, { orders, minor }]) => ({
      ...{ currency, key, orders },
      minor: minor.toString(),
    })),
  )

/** The figures of a report about orders. */
type ShownSales = Pick<
  ReportFigures,
  | 'orders'
  | 'revenue'
  | 'average_order'
  | 'revenue_per_visitor'
  | 'refunds'
  | 'statuses'
  | 'other_currencies'
>

/** The orders of a report. Of statuses with equal counts, the first ones are shown. */
export function showSales(
  { statuses }: Sales<string>,
  visitors: number,
  { currency, refundStatuses }: Pick<ReportView, 'currency' | 'refundStatuses'>,
): ShownSales {
  const show = createShow(currency)
  const own = statuses.filter((sold) => sold.currency === currency)
  const isRefund = new Set(refundStatuses)
  const refunded = own.filter(({ status }) => status !== null && isRefund.has(status))
  const sum = sumOf(own)
  const others = new Map<string, Sum>()
  for (const { currency: other, orders, minor } of statuses) {
    if (other === currency) continue
    const before = others.get(other) ?? { orders: 0, minor: 0n }
    others.set(other, { orders: before.orders + orders, minor: before.minor + BigInt(minor) })
  }
  return {
    ...show(sum),
    average_order: toAmount(divide(sum.minor, sum.orders), currency),
    revenue_per_visitor: toAmount(divide(sum.minor, visitors), currency),
    refunds: { ...show(sumOf(refunded)), statuses: showStatuses(refunded, currency) },
    statuses: showStatuses(own, currency),
    other_currencies: Object.fromEntries(
      [...others]
        .sort(([, a], [, b]) => b.orders - a.orders)
        .map(([other, sold]) => [other, createShow(other)(sold)]),
    ),
  }
}

/** The orders of a currency on each day. */
export const showSaleDays = (
  { days }: Sales<string>,
  currency: string,
): ReadonlyMap<number, SoldOrders> =>
  new Map(
    days
      .filter((sold) => sold.currency === currency)
      .map(({ day, orders, minor }) => [
        day,
        createShow(currency)({ orders, minor: BigInt(minor) }),
      ]),
  )

export const nothingSold = (currency: string): SoldOrders =>
  createShow(currency)({ orders: 0, minor: 0n })

const createShow =
  (currency: string) =>
  ({ orders, minor }: Sum): SoldOrders => ({ orders, revenue: toAmount(minor, currency) })

const sumOf = (sold: readonly { readonly orders: number; readonly minor: string }[]): Sum => ({
  orders: sold.reduce((sum, { orders }) => sum + orders, 0),
  minor: sold.reduce((sum, { minor }) => sum + BigInt(minor), 0n),
})

/** The most frequent statuses first, the rest as OTHER. Not by assignments, since a status may be `__proto__`. */
function showStatuses(sold: Sales<string>['statuses'], currency: string): ShownSales['statuses'] {
  const sorted = [...sold]
    .sort((a, b) => b.orders - a.orders)
    .map((one) => ({ ...one, status: one.status ?? NO_STATUS }))
  const shown = sorted
    // One more, since OTHER may be among them.
    .slice(0, MAX_STATUSES + 1)
    .filter(({ status }) => status !== OTHER)
    .slice(0, MAX_STATUSES)
  const rest = sumOf(sorted.filter((one) => !shown.includes(one)))
  const show = createShow(currency)
  return Object.fromEntries([
    ...shown.map((one) => [one.status, show({ ...one, minor: BigInt(one.minor) })] as const),
    ...(rest.orders > 0 ? [[OTHER, show(rest)] as const] : []),
  ])
}

/** A quotient as a whole number, halves away from zero. 0 by 0. */
function divide(sum: bigint, count: number): bigint {
  if (count === 0) return 0n
  const by = BigInt(count)
  const half = sum < 0n ? -by : by
  return (2n * sum + half) / (2n * by)
}

/** Minor units as decimal text with the digits of the currency. */
const toAmount = (minor: bigint, currency: string): string =>
  moneyText(minor, fractionDigitsOf(currency))

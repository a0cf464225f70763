/** The series of the days of a report, and the panels of their chart. */
import type { EmailReport, ReportDay } from '../../src/contract/answers.ts'
import type { Kind } from '../operator/kinds.ts'
import { money } from '../operator/money.ts'
import { counted, number } from '../operator/numbers.ts'

/** What the chart and the table need of a report. */
export type Days = Pick<EmailReport, 'days' | 'currency' | 'time_zone' | 'orders' | 'revenue'>

/** One value of each day. */
export type Series = {
  readonly name: string
  /** The kind that sets its colour. */
  readonly kind: Kind
  /** For the height of a column. */
  readonly measure: (day: ReportDay) => number
  /** In a cell of the table. */
  readonly write: (day: ReportDay) => string
  /** With its noun. */
  readonly tell: (day: ReportDay) => string
  /** Of all days. */
  readonly total: (report: Days) => string
}

/** A panel of the chart. Its series have one scale. */
export type PanelOfDays = {
  readonly name: string
  readonly series: readonly Series[]
  /** Writes a value on the axis. */
  readonly tick: (value: number) => string
}

const countOf = (
  field: 'visitors' | 'add_to_cart' | 'initiate_checkout' | 'orders',
  one: string,
  name: string,
  kind: Kind,
): Series => ({
  name,
  kind,
  measure: (day) => day[field],
  write: (day) => number(day[field]),
  tell: (day) => counted(day[field], one),
  total: ({ days }) => number(days.reduce((sum, day) => sum + day[field], 0)),
})

const VISITORS = countOf('visitors', 'visitor', 'Visitors', 'viewHomepage')
const CARTS = countOf('add_to_cart', 'cart', 'Added to cart', 'addToCart')
const CHECKOUTS = countOf('initiate_checkout', 'checkout', 'Checkouts', 'initiateCheckout')
const ORDERS = countOf('orders', 'order', 'Orders', 'saveOrder')
const revenueIn = (currency: string): Series => ({
  name: 'Revenue',
  kind: 'saveOrder',
  measure: ({ revenue }) => Number(revenue),
  write: ({ revenue }) => money(revenue, currency),
  tell: ({ revenue }) => `${money(revenue, currency)} of revenue`,
  total: ({ revenue }) => money(revenue, currency),
})

/** Whether there is a panel of revenue: not for a shop that does not send its orders. */
const hasRevenue = ({ orders }: Days): boolean => orders > 0

/** Everything that is written of a day. */
export const seriesOf = (report: Days): readonly Series[] => [
  ...[VISITORS, CARTS, CHECKOUTS],
  ...(hasRevenue(report) ? [ORDERS, revenueIn(report.currency)] : []),
]

/** The panels, from above. */
export const panelsOf = (report: Days): readonly PanelOfDays[] => [
  { name: 'Visitors', series: [VISITORS], tick: number },
  { name: 'Carts and checkouts', series: [CARTS, CHECKOUTS], tick: number },
  ...(hasRevenue(report)
    ? [
        {
          name: 'Revenue',
          series: [revenueIn(report.currency)],
          tick: (value: number) => money(String(value), report.currency, true),
        },
      ]
    : []),
]

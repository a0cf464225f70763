/** The totals of a report: what its visitors did, and what they ordered. */
import type { EmailReport } from '../../src/contract/answers.ts'
import { money } from '../operator/money.ts'
import { counted, nameOf, number } from '../operator/numbers.ts'
import { percent } from './model.ts'

export function Figures(report: EmailReport) {
  const { visitors, identified, days, currency, orders, revenue, refunds, funnel } = report
  const sum = (field: 'add_to_cart' | 'initiate_checkout') =>
    days.reduce((all, day) => all + day[field], 0)
  const carts = sum('add_to_cart')
  const checkouts = sum('initiate_checkout')
  const refunded =
    refunds.orders > 0
      ? `${money(refunds.revenue, currency)} of it refunded, ${counted(refunds.orders, 'order')}`
      : 'nothing of it refunded'
  return (
    <dl class="card figures" aria-label="Totals">
      <Figure
        name="Visitors"
        value={number(visitors)}
        under={`${nameOf(visitors, 'device')} that came by the link`}
        test="visitors"
      />
      <Figure
        name="Identified"
        value={number(identified)}
        under={`${percent(identified, visitors)} of them by e-mail`}
        test="identified"
      />
      <Figure
        name="Added to cart"
        value={number(carts)}
        under={`${nameOf(carts, 'time')}, all days together`}
        test="carts"
      />
      <Figure
        name="Checkouts"
        value={number(checkouts)}
        under={`${nameOf(checkouts, 'time')}, all days together`}
        test="checkouts"
      />
      <Figure
        name="Orders"
        value={number(orders)}
        under={`by ${percent(funnel.order, visitors)} of the visitors`}
        test="orders"
      />
      <Figure name="Revenue" value={money(revenue, currency)} under={refunded} test="revenue" />
      <Figure
        name="Average order"
        value={orders > 0 ? money(report.average_order, currency) : '–'}
        under="revenue divided by orders"
        test="average-order"
      />
      <Figure
        name="Revenue a visitor"
        value={visitors > 0 ? money(report.revenue_per_visitor, currency) : '–'}
        under="revenue divided by visitors"
        test="revenue-per-visitor"
      />
    </dl>
  )
}

function Figure({
  name,
  value,
  under,
  test,
}: {
  readonly name: string
  readonly value: string
  readonly under: string
  readonly test: string
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {/* A long amount is written smaller, so that it fits. */}
        <b style={{ '--characters': String(value.length) }} data-test={test}>
          {value}
        </b>
        <small data-test={`${test}-under`}>{under}</small>
      </dd>
    </div>
  )
}

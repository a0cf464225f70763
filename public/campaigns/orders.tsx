/** The orders of a report by their status, and those in other currencies. */
import type { EmailReport, SoldOrders } from '../../src/contract/answers.ts'
import { money } from '../operator/money.ts'
import { counted, number } from '../operator/numbers.ts'
import { nameOfStatus } from './model.ts'

type Sold = Pick<
  EmailReport,
  'orders' | 'currency' | 'statuses' | 'refunds' | 'other_currencies' | 'revenue'
>

/** Whether a report has any order, in whatever currency. */
export const hasOrders = ({ orders, other_currencies }: Sold): boolean =>
  orders > 0 || Object.keys(other_currencies).length > 0

export function Orders({ report }: { readonly report: Sold }) {
  const { currency, statuses, refunds, other_currencies } = report
  const others = Object.entries(other_currencies)
  return (
    <>
      {report.orders > 0 && (
        <div class="scroll">
          <table data-test="statuses">
            <thead>
              <tr>
                <th scope="col">Status</th>
                <th scope="col">Orders</th>
                <th scope="col">Revenue</th>
              </tr>
            </thead>
            <tbody>
              {Object.entries(statuses).map(([status, sold]) => (
                <Row
                  key={status}
                  status={status}
                  isRefund={Object.hasOwn(refunds.statuses, status)}
                  currency={currency}
                  {...sold}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {others.length > 0 && (
        <p class="hint others" data-test="other-currencies">
          Not in these figures, because their currency is not {currency}:{' '}
          {others
            .map(([code, sold]) => `${counted(sold.orders, 'order')}, ${money(sold.revenue, code)}`)
            .join('; ')}
          .
        </p>
      )}
    </>
  )
}

function Row({
  status,
  isRefund,
  currency,
  orders,
  revenue,
}: SoldOrders & {
  readonly status: string
  readonly isRefund: boolean
  readonly currency: string
}) {
  return (
    <tr data-test="status" data-status={status}>
      <th scope="row">
        {nameOfStatus(status)}
        {isRefund && <em>refund</em>}
      </th>
      <td>{number(orders)}</td>
      <td>{money(revenue, currency)}</td>
    </tr>
  )
}

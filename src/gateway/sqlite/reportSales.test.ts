import { expect, test } from 'vitest'
import { showSales } from './reportSales.ts'

test.each([
  ['EUR', '1001', 2, 3, '5.01', '3.34'],
  ['EUR', '-1001', 2, 3, '-5.01', '-3.34'],
  ['EUR', '-1', 3, 3, '0.00', '0.00'],
  ['EUR', '1', 2, 2, '0.01', '0.01'],
  ['JPY', '3', 2, 4, '2', '1'],
  ['KWD', '1001', 2, 3, '0.501', '0.334'],
  ['CLF', '10001', 2, 3, '0.5001', '0.3334'],
  // Sums above 2^53.
  ['EUR', '270215977642229730', 4, 10, '675539944105574.33', '270215977642229.73'],
  // Without visitors, and without orders.
  ['EUR', '1000', 1, 0, '10.00', '0.00'],
  ['JPY', '0', 0, 0, '0', '0'],
])(
  '%s %s minor units of %d orders and %d visitors',
  (currency, minor, orders, visitors, average, each) => {
    const sold = { currency, status: null, orders, minor }
    const view = { currency, refundStatuses: [] }
    const shown = showSales({ statuses: orders > 0 ? [sold] : [], days: [] }, visitors, view)
    expect([shown.average_order, shown.revenue_per_visitor]).toEqual([average, each])
  },
)

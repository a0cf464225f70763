import { expect, test } from 'vitest'
import { type Days, panelsOf, seriesOf } from './series.ts'

const day = {
  ...{ date: '2026-11-03', visitors: 1, add_to_cart: 2, initiate_checkout: 3 },
  ...{ orders: 1, revenue: '1234.50' },
}
const report: Days = {
  ...{ currency: 'EUR', time_zone: 'Europe/Bucharest', orders: 2, revenue: '1239.50' },
  days: [day, { ...day, visitors: 4, revenue: '5.00' }],
}

test('a day is written with its nouns and with its money', () => {
  const all = seriesOf(report)
  expect(all.map(({ tell }) => tell(day))).toEqual([
    ...['1 visitor', '2 carts', '3 checkouts', '1 order', '€1,234.50 of revenue'],
  ])
  expect(all.map(({ write }) => write(day))).toEqual(['1', '2', '3', '1', '€1,234.50'])
  expect(all.map(({ total }) => total(report))).toEqual(['5', '4', '6', '2', '€1,239.50'])
})

test('revenue has a panel of its own, but not in a shop without orders', () => {
  expect(panelsOf(report).map(({ name }) => name)).toEqual([
    ...['Visitors', 'Carts and checkouts', 'Revenue'],
  ])
  expect(panelsOf(report).at(-1)?.tick(2_500)).toBe('€2.5K')
  const none = { ...report, orders: 0, revenue: '0.00' }
  expect(panelsOf(none)).toHaveLength(2)
  expect(seriesOf(none)).toHaveLength(3)
})

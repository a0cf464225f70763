import { expect, test } from 'vitest'
import { funnelOf, labelled, scaleOf, spreadDays } from './scale.ts'

test.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [3, [0, 1, 2, 3]],
  [4, [0, 2, 4]],
  [7, [0, 5, 10]],
  [30, [0, 10, 20, 30]],
  [31, [0, 20, 40]],
  [1234, [0, 500, 1000, 1500]],
])('a scale for counts up to %i', (most, ticks) => {
  expect(scaleOf(most)).toEqual({ bottom: 0, top: ticks.at(-1), ticks })
})

test.each([
  [0, -1, [-1, 0, 1]],
  [30, -4, [-20, 0, 20, 40]],
  [0, -250, [-300, -200, -100, 0, 100]],
  [1000, -1000, [-1000, 0, 1000]],
])('a scale from %i down to %i has zero', (most, least, ticks) => {
  expect(scaleOf(most, least)).toEqual({ bottom: ticks[0], top: ticks.at(-1), ticks })
})

test('every scale begins at zero, has even whole steps, and reaches its count', () => {
  const isRight = (most: number) => {
    const { top, ticks } = scaleOf(most)
    const [, step = 0] = ticks
    return (
      top >= Math.max(1, most) &&
      ticks.length <= 4 &&
      ticks.every((tick, index) => tick === index * step && Number.isInteger(tick))
    )
  }
  expect(Array.from({ length: 5000 }, (_, most) => most).filter((most) => !isRight(most))).toEqual(
    [],
  )
})

const day = (date: string) => ({
  date,
  visitors: 1,
  add_to_cart: 2,
  initiate_checkout: 3,
  orders: 0,
  revenue: '0',
})

test('a single day is shown after six empty days, also across two months', () => {
  const days = spreadDays([day('2026-03-02')])
  expect(days.map(({ date }) => date)).toEqual([
    '2026-02-24',
    '2026-02-25',
    '2026-02-26',
    '2026-02-27',
    '2026-02-28',
    '2026-03-01',
    '2026-03-02',
  ])
  expect(days[0]).toMatchObject({ visitors: 0, add_to_cart: 0, initiate_checkout: 0 })
  expect(days[6]).toEqual(day('2026-03-02'))
})

test('a week or more is shown as it is, and an empty report stays empty', () => {
  const week = Array.from({ length: 7 }, (_, index) => day(`2026-03-0${index + 1}`))
  expect(spreadDays(week)).toEqual(week)
  expect(spreadDays([])).toEqual([])
})

test('the last day has a label, and no two overlap', () => {
  expect(labelled(7, 100, 56)).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect(labelled(7, 20, 56)).toEqual([0, 3, 6])
  expect(labelled(8, 20, 56)).toEqual([1, 4, 7])
})

test('the funnel begins with the visitors, and ends with their orders', () => {
  const funnel = { view_product: 4, add_to_cart: 3, initiate_checkout: 2, order: 1 }
  expect(funnelOf({ visitors: 5, funnel }).map(({ count }) => count)).toEqual([5, 4, 3, 2, 1])
})

import { expect, test } from 'vitest'
import type { Coverage } from '../../contract/problems.ts'
import { judgeCoverage } from './judgeCoverage.ts'
import { type CoverageHistory, SLOT_MS, SLOTS_PER_HOUR } from './problems.ts'

/* The numbers and the words. judgeCoverage.slow.test.ts has the rule, with simulated shops. */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAY_SLOTS = 24 * SLOTS_PER_HOUR
/** A Monday, 00:00 UTC. */
const MONDAY = Date.UTC(2026, 5, 1)
const days = (count: number): number => MONDAY + count * DAY_MS

const only = (coverage: readonly Coverage[], operation: string) =>
  coverage.find((one) => one.operation === operation) as Coverage

test('the numbers, and the words of every state', () => {
  const now = days(16) + 30 * 60_000 + 7 * HOUR_MS
  const from = now / SLOT_MS - 15 * DAY_SLOTS
  const length = 15 * DAY_SLOTS + 1
  const zeros = () => new Array<number>(length).fill(0)
  const steady = zeros().map((_, i) => (i === length - 1 ? 0 : 10))
  const stopped = steady.map((count, i) => (i > length - 20 ? 0 : count))
  const rare = zeros()
  rare[length - 50] = 3
  const total = (operation: string, last: number, events: number) =>
    ({ operation, first: now - 15 * DAY_MS, last, events, days: 3 }) as const
  const history: CoverageHistory = {
    since: now - 15 * DAY_MS,
    from,
    observed: zeros().fill(1),
    events: new Map([
      ['viewHomepage', steady],
      ['addToCart', stopped],
      ['search', rare],
    ]),
    totals: [
      total('viewHomepage', now - 60_000, 50_000),
      total('addToCart', now - 19 * SLOT_MS, 50_000),
      total('search', now - 50 * SLOT_MS, 3),
      total('setEmail', now - 12 * DAY_MS, 40),
      {
        operation: 'viewProduct',
        first: now - 100 * DAY_MS,
        last: now - 20 * DAY_MS,
        events: 8_000,
        days: 70,
      },
    ],
  }
  const judged = judgeCoverage(history, now)
  expect(judged.map(({ operation, state }) => `${operation} ${state}`)).toEqual([
    'viewHomepage comes',
    'setEmail comes',
    'viewProduct stopped',
    'addToCart stopped',
    'removeFromCart never',
    'addToWishlist never',
    'removeFromWishlist never',
    'initiateCheckout never',
    'search comes',
    'sendCustom never',
    'sendCustomApi never',
  ])
  expect(only(judged, 'viewHomepage')).toEqual({
    operation: 'viewHomepage',
    first: '2026-06-02T07:30:00.000Z',
    last: '2026-06-17T07:29:00.000Z',
    hour: 60,
    usual: 60,
    week: 10_080,
    state: 'comes',
    message: 'As usual.',
  })
  expect(only(judged, 'addToCart').message).toBe(
    'None in the last hour, where at least 60 were to be expected. So many are not missing by chance. The last one came on 2026-06-17 at 04:20 UTC.',
  )
  expect(only(judged, 'viewProduct').message).toMatch(
    /^None in the last 20 days, where at least 1400 were to be expected\. So many are not missing by chance\./,
  )
  expect(only(judged, 'search').message).toBe(
    'Too few to say whether they still come as usual: 3 in the last seven days.',
  )
  expect(only(judged, 'sendCustom')).toMatchObject({
    first: null,
    last: null,
    hour: 0,
    usual: 0,
    message: 'Not one since 2026-06-02, when the counting began.',
  })
})

test('at the first start there is nothing to compare with', () => {
  const history: CoverageHistory = {
    since: MONDAY,
    from: MONDAY / SLOT_MS,
    observed: [1],
    events: new Map([['search', [2]]]),
    totals: [{ operation: 'search', first: MONDAY, last: MONDAY, events: 2, days: 1 }],
  }
  expect(only(judgeCoverage(history, MONDAY + 1_000), 'search')).toMatchObject({
    hour: 2,
    usual: null,
    week: 2,
    state: 'comes',
    message: 'Counted since 2026-06-01. From 2026-06-09 on it is compared with the week before.',
  })
})

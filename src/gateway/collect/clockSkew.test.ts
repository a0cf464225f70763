import { expect, test } from 'vitest'
import { createClockSkew } from './clockSkew.ts'

const NOW = 1_800_000_000_000
const DAY = 86_400_000

test.each<[string, unknown, unknown, number]>([
  ['both by a right clock: not corrected', NOW - 5_000, NOW - 1_000, NOW - 5_000],
  ['both by a clock years behind', NOW - 2_000 * DAY, NOW - 2_000 * DAY + 30_000, NOW - 30_000],
  ['both by a clock years ahead', NOW + 2_000 * DAY, NOW + 2_000 * DAY + 30_000, NOW - 30_000],
  ['days in an outbox', 1_000, 1_000 + 20 * DAY, NOW - 20 * DAY],
  ['a clock that jumped by years between the two', 1_000, NOW, NOW],
  ['without sent, in the past', NOW - DAY, Number.NaN, NOW - DAY],
  ['without sent, in the future', NOW + DAY, Number.NaN, NOW],
  ['without sent, impossibly old', 1, undefined, NOW],
  ['sent that is not a time', NOW - DAY, -1, NOW - DAY],
  ['no at', Number.NaN, NOW, NOW],
  ['at as text', `${NOW - DAY}`, NOW, NOW],
  ['at beyond all numbers', Number.POSITIVE_INFINITY, NOW, NOW],
  ['fractions', NOW - 1.5, Number.NaN, Math.round(NOW - 1.5)],
])('%s', (_, at, sent, expected) => {
  expect(createClockSkew()('device', at, sent, NOW)).toBe(expected)
})

test.each([
  ['right', 0],
  ['ahead by a minute and a half', 90_000],
  ['years behind', -2_000 * DAY],
  ['years ahead', 2_000 * DAY],
])('events of a clock that is %s keep their order, however long each request takes', (_, off) => {
  const correctTime = createClockSkew()
  const ways = [900, 10, 25_000, 3, 400, 12]
  const moments = ways.map((wayMs, index) => {
    const happened = NOW + index * 5
    return correctTime('device', happened + off, happened + off, happened + wayMs)
  })
  expect(moments).toEqual([...moments].sort((a, b) => a - b))
  for (const [index, moment] of moments.entries())
    expect(Math.abs(moment - (NOW + index * 5))).toBeLessThanOrEqual(900)
})

test('a clock that was set right is not corrected any more', () => {
  const correctTime = createClockSkew()
  correctTime('device', 1_000_000, 1_000_000, NOW)
  expect(correctTime('device', NOW + 5_000, NOW + 5_000, NOW + 5_100)).toBe(NOW + 5_000)
})

test('the clock of one device does not affect another', () => {
  const correctTime = createClockSkew()
  correctTime('a', NOW - 90_000, NOW - 90_000, NOW)
  expect(correctTime('b', NOW - 80_000, NOW - 80_000, NOW)).toBe(NOW)
})

test('a device with a name of any length is recognised, and not confused with another one', () => {
  const correctTime = createClockSkew()
  const [one, other] = ['1', '2'].map((end) => 'd'.repeat(100_000) + end) as [string, string]
  expect(correctTime(one, 1_000, 2_000, NOW)).toBe(NOW - 1_000)
  expect(correctTime(one, 1_000, 1_500, NOW)).toBe(NOW - 1_000)
  expect(correctTime(other, 1_000, 1_500, NOW)).toBe(NOW - 500)
})

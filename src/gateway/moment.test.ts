import { expect, test } from 'vitest'
import { correctedAt } from './moment.ts'

const NOW = 1_800_000_000_000
const DAY = 86_400_000

test.each<[string, unknown, unknown, number]>([
  ['both by a right clock', NOW - 5_000, NOW - 1_000, NOW - 4_000],
  ['both by a clock years behind', NOW - 2_000 * DAY, NOW - 2_000 * DAY + 30_000, NOW - 30_000],
  ['both by a clock years ahead', NOW + 2_000 * DAY, NOW + 2_000 * DAY + 30_000, NOW - 30_000],
  ['days in an outbox', 1_000, 1_000 + 20 * DAY, NOW - 20 * DAY],
  ['sent before it happened', NOW, NOW - 1, NOW],
  ['a clock that jumped by years between the two', 1_000, NOW, NOW],
  ['without sent, in the past', NOW - DAY, Number.NaN, NOW - DAY],
  ['without sent, in the future', NOW + 1, Number.NaN, NOW],
  ['without sent, impossibly old', 1, undefined, NOW],
  ['sent that is no moment', NOW - DAY, -1, NOW - DAY],
  ['no at', Number.NaN, NOW, NOW],
  ['at as text', `${NOW - DAY}`, NOW, NOW],
  ['at beyond all numbers', Number.POSITIVE_INFINITY, NOW, NOW],
  ['fractions', NOW - 1.5, Number.NaN, Math.round(NOW - 1.5)],
])('%s', (_, at, sent, expected) => {
  expect(correctedAt(at, sent, NOW)).toBe(expected)
})

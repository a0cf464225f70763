import { expect, test } from 'vitest'
import { backoff } from './backoff.ts'

test('the wait doubles up to ten minutes, and half of it is random', () => {
  const longest = Array.from({ length: 12 }, (_, i) => backoff(i + 1, 1))
  expect(longest.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000])
  expect(longest.slice(-2)).toEqual([600_000, 600_000])
  expect(backoff(1, 0)).toBe(500)
  expect(backoff(1_000_000, 0)).toBe(300_000)
})

test('a destination gets the time it asks for, within bounds', () => {
  expect(backoff(1, 0.5, 90_000)).toBe(90_000)
  expect(backoff(20, 1, 90_000)).toBe(600_000)
  expect(backoff(1, 0, 86_400_000)).toBe(3_660_000)
  expect(backoff(1, 0, -5)).toBe(500)
  expect(backoff(1, 0, Number.NaN)).toBe(500)
})

import { expect, test } from 'vitest'
import { createAttempts } from './attempts.ts'

test('an address may fail so many times, then waits, and is forgotten', () => {
  let clock = 1_000_000
  const attempts = createAttempts(3, 10_000, () => clock)
  for (let i = 0; i < 3; i++) {
    expect(attempts.waitSeconds('203.0.113.1')).toBe(0)
    attempts.failed('203.0.113.1')
  }
  expect(attempts.waitSeconds('203.0.113.1')).toBe(10)
  expect(attempts.waitSeconds('203.0.113.2')).toBe(0)
  clock += 9_999
  expect(attempts.waitSeconds('203.0.113.1')).toBe(1)
  clock += 1
  expect(attempts.waitSeconds('203.0.113.1')).toBe(0)
  attempts.failed('203.0.113.1')
  expect(attempts.waitSeconds('203.0.113.1')).toBe(10)
})

test('one network of IPv6 is one address', () => {
  const attempts = createAttempts(1, 10_000, () => 0)
  attempts.failed('2001:db8::1')
  expect(attempts.waitSeconds('2001:db8::ffff:1')).toBeGreaterThan(0)
  expect(attempts.waitSeconds('2001:db8:0:1::1')).toBe(0)
})

test('many addresses do not grow without bound, and old ones go first', () => {
  const attempts = createAttempts(1, 1_000_000, () => 0)
  attempts.failed('203.0.113.1')
  for (let i = 0; i < 10_000; i++) attempts.failed(`10.0.${i >> 8}.${i & 255}`)
  expect(attempts.waitSeconds('203.0.113.1')).toBe(0)
  expect(attempts.waitSeconds('10.0.39.15')).toBeGreaterThan(0)
})

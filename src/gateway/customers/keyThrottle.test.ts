import { expect, test } from 'vitest'
import { createKeyThrottle } from './keyThrottle.ts'

/** A throttle whose clock the test moves. `count` returns the seconds to wait. */
function prepare() {
  let clock = 1_000_000
  const throttle = createKeyThrottle(() => clock)
  return {
    wait: (ms: number) => {
      clock += ms
    },
    count(address: string, customerId: string): number {
      const refusal = throttle.refuseWrong(address, customerId, 'Wrong')
      const wait = refusal.retryAfterSeconds ?? 0
      expect(refusal.status).toBe(wait ? 429 : 401)
      expect(refusal.message).toBe(
        wait ? `Wrong, and too many wrong keys were sent. Try again in ${wait} s` : 'Wrong',
      )
      return wait
    },
  }
}
const times = <T>(count: number, act: (i: number) => T) =>
  Array.from({ length: count }, (_, i) => act(i))
const none = (count: number) => times(count, () => 0)

test('ten wrong keys of an address for a customer are free, then the wait grows to five seconds', () => {
  const { count, wait } = prepare()
  const next = () => count('203.0.113.1', 'shop')
  expect(times(10, next)).toEqual(none(10))
  expect(times(8, next)).toEqual([1, 2, 3, 4, 5, 5, 5, 5])
  expect(times(1_000, next).at(-1)).toBe(5)
  wait(5_999)
  expect(next()).toBe(1)
  wait(2_000)
  expect(next()).toBe(0)
  wait(60_000)
  expect(times(11, next)).toEqual([...none(10), 1])
})

test('other customers of the address, and other addresses of the customer, do not have to wait', () => {
  const { count } = prepare()
  times(50, () => count('203.0.113.1', 'shop'))
  expect(count('203.0.113.1', 'another')).toBe(0)
  expect(count('203.0.113.2', 'shop')).toBe(0)
})

test('a hundred wrong keys of one address, or for one customer, are free', () => {
  const one = prepare()
  expect(times(100, (i) => one.count('203.0.113.1', `shop-${i}`))).toEqual(none(100))
  expect(times(60, (i) => one.count('203.0.113.1', `more-${i}`)).slice(-5)).toEqual([5, 5, 5, 5, 5])
  expect(one.count('203.0.113.2', 'shop-1')).toBe(0)

  const other = prepare()
  expect(times(100, (i) => other.count(`203.0.113.${i}`, 'shop'))).toEqual(none(100))
  expect(times(11, (i) => other.count(`203.0.114.${i}`, 'shop')).at(-1)).toBe(2)
  other.wait(20_000)
  expect(other.count('203.0.113.1', 'shop')).toBe(0)
})

test('one network of IPv6 is one address', () => {
  const { count } = prepare()
  times(10, (i) => count(`2001:db8::${i}`, 'shop'))
  expect(count('2001:db8::ffff:1', 'shop')).toBe(1)
  expect(count('2001:db8:0:1::1', 'shop')).toBe(0)
})

test('the keys in memory are bounded, and the least recent one is forgotten', () => {
  const { count } = prepare()
  times(11, () => count('203.0.113.1', 'shop'))
  times(11, () => count('203.0.113.2', 'shop'))
  times(9_998, (i) => count(`10.0.${i >> 8}.${i & 255}`, `stranger-${i}`))
  expect(count('203.0.113.2', 'shop')).toBe(2)
  times(1, () => count('10.1.0.1', 'stranger'))
  expect(times(10, () => count('203.0.113.1', 'shop'))).toEqual(none(10))
})

test('a customer id of any length is counted by its first characters', () => {
  const { count } = prepare()
  const long = 'x'.repeat(64)
  times(10, (i) => count('203.0.113.1', long + 'y'.repeat(i * 100_000)))
  expect(count('203.0.113.1', `${long}z`)).toBe(1)
})

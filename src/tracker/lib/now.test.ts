import { afterEach, expect, test } from 'vitest'
import { now } from './now.ts'

const original = Date
const own = Object.getOwnPropertyDescriptors(Date.prototype)
const originalNow = Date.now

afterEach(() => {
  globalThis.Date = original
  Object.defineProperties(Date.prototype, own)
  Date.now = originalNow
})

/** Expects whole ms, at most a minute from the clock of `performance`. */
const expectNow = () => {
  const answer = now()
  expect(Number.isSafeInteger(answer)).toBe(true)
  expect(Math.abs(answer - (performance.timeOrigin + performance.now()))).toBeLessThan(60_000)
}

test('the clock', expectNow)

test('Date.now returns text', () => {
  Date.now = () => 'soon' as never
  expectNow()
})

test('Date makes objects that are not numbers', () => {
  globalThis.Date = class {} as never
  expect(now()).toBe(1)
})

test('the constructor of Date throws', () => {
  globalThis.Date = (() => 0) as never
  expect(now()).toBe(1)
})

test('the methods of Date throw', () => {
  for (const name of [...Object.keys(own), Symbol.toPrimitive])
    if (name !== 'constructor')
      Object.defineProperty(Date.prototype, name, {
        configurable: true,
        value() {
          throw new Error('broken')
        },
      })
  expect(now()).toBe(1)
})

test('only methods that are not used throw', () => {
  Date.prototype.toISOString = Date.prototype.getTime = () => {
    throw new Error('broken')
  }
  expectNow()
})

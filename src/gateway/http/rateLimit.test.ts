import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRateLimit, type RateLimits } from './rateLimit.ts'

const PLENTY = { perSecond: 1e9, burst: 1e9 }

function createTimed(limits: Partial<RateLimits>, maxKeys?: number) {
  const clock = { ms: 5_000 }
  const limit = createRateLimit(
    { events: PLENTY, bytes: PLENTY, ...limits },
    maxKeys,
    () => clock.ms,
  )
  return { clock, ...limit }
}

test.each([
  ['events', (limit: ReturnType<typeof createTimed>, n: number) => limit.take('a', n, 0)],
  ['bytes', (limit: ReturnType<typeof createTimed>, n: number) => limit.take('a', 0, n)],
] as const)('%s: a burst passes, then the steady rate', (unit, take) => {
  const limit = createTimed({ [unit]: { perSecond: 2, burst: 5 } })
  for (let i = 0; i < 5; i++) expect(take(limit, 1)).toBeUndefined()
  expect(take(limit, 1)).toEqual({ unit, retryAfterSeconds: 1 })
  limit.clock.ms += 499
  expect(take(limit, 1)).toBeDefined()
  limit.clock.ms += 1
  expect(take(limit, 1)).toBeUndefined()
  expect(take(limit, 1)).toBeDefined()
  limit.clock.ms += 60_000
  expect(take(limit, 5)).toBeUndefined()
  expect(take(limit, 1)).toBeDefined()
})

test('a rate without a whole number of ms for each event allows a whole burst', () => {
  const limit = createTimed({ events: { perSecond: 3, burst: 7 } })
  for (let i = 0; i < 7; i++) expect(limit.take('a', 1, 0)).toBeUndefined()
  expect(limit.take('a', 1, 0)).toBeDefined()
})

test('a request passes after its retryAfterSeconds', () => {
  const limit = createTimed({ events: { perSecond: 2, burst: 100 } })
  limit.take('a', 100, 0)
  expect(limit.take('a', 50, 0)).toEqual({ unit: 'events', retryAfterSeconds: 25 })
  limit.clock.ms += 25_000
  expect(limit.take('a', 50, 0)).toBeUndefined()
})

test('a request larger than the bucket passes when it is full, and is paid off afterwards', () => {
  const limit = createTimed({ events: { perSecond: 10, burst: 100 } })
  limit.take('a', 1, 0)
  expect(limit.take('a', 500, 0)).toEqual({ unit: 'events', retryAfterSeconds: 1 })
  limit.clock.ms += 1_000
  expect(limit.take('a', 500, 0)).toBeUndefined()
  // 400 more than the bucket holds: 40 seconds until it is empty, then one event's time.
  expect(limit.take('a', 1, 0)).toEqual({ unit: 'events', retryAfterSeconds: 41 })
})

test('the amount that the same request has paid before is not taken again', () => {
  const limit = createTimed({ events: { perSecond: 1, burst: 10 } })
  limit.take('a', 1, 0)
  expect(limit.take('a', 10, 0)).toBeDefined()
  expect(limit.take('a', 10, 0, { events: 1, bytes: 0 })).toBeUndefined()
  expect(limit.take('a', 1, 0)).toEqual({ unit: 'events', retryAfterSeconds: 1 })
})

test('a refusal by one bucket takes nothing from the other, and a check takes nothing', () => {
  const limit = createTimed({
    events: { perSecond: 1, burst: 10 },
    bytes: { perSecond: 1, burst: 100 },
  })
  expect(limit.take('a', 1, 100)).toBeUndefined()
  for (let i = 0; i < 50; i++) expect(limit.take('a', 1, 1)?.unit).toBe('bytes')
  expect(limit.take('a', 9, 0)).toBeUndefined()
  expect(limit.check('a', 1, 0)?.unit).toBe('events')
  for (let i = 0; i < 50; i++) expect(limit.check('b', 10, 100)).toBeUndefined()
  expect(limit.take('b', 10, 100)).toBeUndefined()
})

test('each key has buckets of its own', () => {
  const limit = createTimed({ events: { perSecond: 1, burst: 1 } })
  limit.take('a', 1, 0)
  expect(limit.take('a', 1, 0)).toBeDefined()
  expect(limit.take('b', 1, 0)).toBeUndefined()
})

test('no bucket refills while the clock does not move', () => {
  const limit = createTimed({ events: { perSecond: 1_000, burst: 1 } })
  limit.take('a', 1, 0)
  for (let i = 0; i < 50; i++) expect(limit.take('a', 1, 0)).toBeDefined()
})

test('above the limit of keys the least recently used one is forgotten', () => {
  const limit = createTimed({ events: { perSecond: 0.001, burst: 2 } }, 3)
  limit.take('flood', 1, 0)
  limit.take('old', 2, 0)
  limit.take('b', 1, 0)
  limit.take('flood', 1, 0)
  limit.take('c', 1, 0)
  expect(limit.take('flood', 1, 0)).toBeDefined()
  expect(limit.take('old', 1, 0)).toBeUndefined()
})

test('never more passes than burst and rate allow, and a request passes after its retryAfterSeconds', () => {
  const step = fc.record({ pauseMs: fc.nat(3_000), events: fc.integer({ min: 1, max: 30 }) })
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const limit = createTimed({ events: { perSecond: 7, burst: 40 } })
      const from = limit.clock.ms
      let passed = 0
      for (const { pauseMs, events } of steps) {
        limit.clock.ms += pauseMs
        const limited = limit.take('a', events, 0)
        if (!limited) passed += events
        expect(passed).toBeLessThanOrEqual(40 + (7 * (limit.clock.ms - from)) / 1_000 + 1e-6)
        if (!limited) continue
        limit.clock.ms += limited.retryAfterSeconds * 1_000
        expect(limit.check('a', events, 0)).toBeUndefined()
      }
    }),
  )
})

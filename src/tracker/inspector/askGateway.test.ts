// @vitest-environment happy-dom

import { expect, test } from 'vitest'
import { askGateway, describeClock, durationText, readClock } from './askGateway.ts'

const DATE = 'Sat, 28 Nov 2026 23:00:00 GMT'
const AT = Date.parse(DATE)

test('the answer gives version, settings and clock', async () => {
  const asked: unknown[] = []
  const get = async (address: unknown, options: unknown) => {
    asked.push(address, options)
    return Response.json({ version: '1.2.3', config: { gpc: true } }, { headers: { date: DATE } })
  }
  const facts = await askGateway('https://gw.example/in', 'A/B', get as typeof fetch)
  expect(facts).toMatchObject({ version: '1.2.3', settings: { gpc: true } })
  expect(Math.abs((facts?.clock?.aheadMs ?? 0) + Date.now() - AT)).toBeLessThan(60_000)
  expect(asked).toEqual([
    'https://gw.example/in/t/j/A%2FB',
    { headers: { accept: 'application/json' }, credentials: 'omit' },
  ])
})

test.each([
  ['no answer', () => Promise.reject(new TypeError('Failed to fetch'))],
  ['an answer that is not JSON', async () => new Response('<html>')],
])('%s gives nothing', async (_, get) => {
  expect(await askGateway('https://gw.example', 'K', get as typeof fetch)).toBeUndefined()
})

test.each([
  [null, undefined],
  ['', undefined],
  ['yesterday', undefined],
  [DATE, { aheadMs: 400, errorMs: 600 }],
])('the clock by the header %o', (date, clock) => {
  expect(readClock(date, AT, AT + 200)).toEqual(clock)
})

test.each([
  [undefined, /^unknown: /],
  [{ aheadMs: 400, errorMs: 600 }, /^in step with the gateway \(± 0\.6 s\)$/],
  [{ aheadMs: 7_380_000, errorMs: 510 }, /^2 h 3 min behind the gateway \(± 0\.6 s\)/],
  [{ aheadMs: -90_000, errorMs: 500 }, /^1 min 30 s ahead of the gateway/],
])('%o in words', (clock, text) => {
  expect(describeClock(clock)).toMatch(text)
})

test.each([
  [0, '0 ms'],
  [43.4, '43 ms'],
  [999, '999 ms'],
  [1_640, '1.6 s'],
  [10_900, '10 s'],
  [61_500, '1 min 1 s'],
  [3_600_000, '1 h'],
  [3_661_000, '1 h 1 min'],
  [90_000_000, '1 d 1 h'],
])('%d ms as text', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})

import { expect, test } from 'vitest'
import type { CountBatch, CoverageCount, ProblemCount } from '../problems/problems.ts'
import { decodeCounts, encodeCounts } from './countsMessage.ts'

const NOW = Date.UTC(2026, 0, 1)
const problem = (page: string): ProblemCount => ({
  ...{ customer: 'demo', reason: 'invalid', source: 'page', operation: 'search', path: 'term' },
  ...{ page, day: 20_454, count: 2, first: NOW, last: NOW + 1, example: '{"a":"ü"}' },
})
const COVERAGE: CoverageCount = {
  ...{ customer: 'demo', operation: 'search', slot: 1, events: 3, first: NOW, last: NOW + 5 },
}
const decode = (messages: readonly Uint8Array[]) => messages.map((data) => decodeCounts(data, NOW))

test('counts are decoded as they were, also if there are none', () => {
  for (const batch of [
    { problems: [problem('/a'), problem('/ü')], coverage: [COVERAGE], now: NOW },
    { problems: [], coverage: [], now: NOW },
  ] satisfies CountBatch[])
    expect(decode(encodeCounts(batch))).toEqual([batch])
})

test('what is too large for one message is in several, each row in one of them', () => {
  const problems = Array.from({ length: 600 }, (_, i) => problem(`/${i}${'x'.repeat(2_000)}`))
  const messages = encodeCounts({ problems, coverage: [COVERAGE], now: NOW })
  expect(messages.length).toBeGreaterThan(3)
  for (const { length } of messages) expect(length).toBeLessThan(300_000)
  const decoded = decode(messages)
  expect(decoded.flatMap((one) => one.problems)).toEqual(problems)
  expect(decoded.flatMap((one) => one.coverage)).toEqual([COVERAGE])
})

test('a gateway whose clock is far ahead does not make the counts of others old', () => {
  const [message] = encodeCounts({ problems: [], coverage: [], now: NOW }) as [Buffer]
  expect(decodeCounts(message, NOW - 600_000).now).toBe(NOW)
  expect(decodeCounts(message, NOW - 86_400_000).now).toBe(NOW - 86_400_000)
})

test('data that is not that of counts is refused', () => {
  const wrong = [
    ...['', '[]', '{}', '{"problems":{},"coverage":[],"now":1}', 'null'],
    ...[
      { ...problem('/a'), path: 1 },
      { ...problem('/a'), count: 0.5 },
      { ...problem('/a'), example: {} },
    ].map((row) => JSON.stringify({ problems: [row], coverage: [], now: 1 })),
    JSON.stringify({ problems: [], coverage: [{ ...COVERAGE, events: null }], now: 1 }),
  ]
  for (const text of wrong) expect(() => decodeCounts(Buffer.from(text), NOW)).toThrow()
})

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RefusedEvent } from '../http/refusedEvent.ts'
import { createRefusalLines, type LeftOut } from './refusalLines.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function start() {
  const lines: RefusedEvent[] = []
  const counts: LeftOut[] = []
  const log = createRefusalLines(
    (event) => void lines.push(event),
    (count) => void counts.push(count),
  )
  return { ...log, lines, counts }
}

const refusal = (customer: string | undefined, reason = 'origin'): RefusedEvent => ({
  customer,
  reason,
  status: 403,
})

test('a few refusals have a line each, in this second and in the next one', () => {
  const { add, lines, counts } = start()
  for (let second = 0; second < 2; second++) {
    for (let i = 0; i < 3; i++) add(refusal('a'))
    vi.advanceTimersByTime(1_000)
  }
  expect(lines).toHaveLength(6)
  expect(counts).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('a flood of one customer is a sample and a count, and hides no other reason or customer', () => {
  const { add, lines, counts } = start()
  for (let i = 0; i < 10_000; i++) add(refusal('a'))
  add(refusal('b'))
  add(refusal('a', 'no_consent'))
  expect(lines.map(({ customer, reason }) => `${customer} ${reason}`)).toEqual([
    ...Array(3).fill('a origin'),
    'b origin',
    'a no_consent',
  ])
  vi.advanceTimersByTime(1_000)
  expect(counts).toEqual([{ customer: 'a', reason: 'origin', leftOut: 9_997 }])
})

test('a flood of many customers is bounded too, and every refusal is counted', () => {
  const { add, close, lines, counts } = start()
  for (let i = 0; i < 3_000; i++) add(refusal(`c${i % 1_000}`))
  expect(lines).toHaveLength(50)
  close()
  expect(counts).toHaveLength(21)
  expect(counts.at(-1)).not.toHaveProperty('reason')
  expect(counts.reduce((sum, { leftOut }) => sum + leftOut, 50)).toBe(3_000)
  close()
  expect(counts).toHaveLength(21)
})

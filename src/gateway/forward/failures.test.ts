import { expect, test } from 'vitest'
import { createFailures } from './failures.ts'
import type { Item } from './source.ts'

const DAY_MS = 86_400_000

const itemOf = (device: string, seq: number): Item => ({
  ...{ seq, device, isLetter: false },
  prepare: () => ({ ok: false, reason: 'unused' }),
})
const [a, b] = [itemOf('a', 1), itemOf('b', 2)]
const fail = { status: 'failed', reason: 'HTTP 500' } as const

/** How often an event fails until it is given up. Undefined if it is tried all the time. */
function attemptsOf(
  failures: ReturnType<typeof createFailures>,
  isBlocking: boolean,
  between: (attempt: number) => void,
): number | undefined {
  for (let attempt = 1; attempt <= 100; attempt++) {
    if (failures.add(a, fail, attempt * DAY_MS, isBlocking)) return attempt
    between(attempt)
  }
  return undefined
}

test('while nothing is delivered and others fail too, no event is given up', () => {
  const failures = createFailures(() => 0)
  failures.add(b, fail, 0, false)
  expect(attemptsOf(failures, true, () => {})).toBe(undefined)
})

test('an event is given up after 30 failures, each after others were delivered', () => {
  const failures = createFailures(() => 0)
  expect(attemptsOf(failures, false, () => failures.settle(b, 'delivered'))).toBe(31)
})

test('an event that holds all others up is given up too', () => {
  expect(
    attemptsOf(
      createFailures(() => 0),
      true,
      () => {},
    ),
  ).toBe(31)
  expect(
    attemptsOf(
      createFailures(() => 0),
      false,
      () => {},
    ),
  ).toBe(undefined)
})

test('it is given up earlier if it has failed twice after others were delivered', () => {
  for (const [times, attempts] of [
    [1, 31],
    [2, 11],
  ]) {
    const failures = createFailures(() => 0)
    const deliver = (attempt: number) => {
      if (attempt <= (times as number)) failures.settle(b, 'delivered')
    }
    expect(attemptsOf(failures, true, deliver)).toBe(attempts)
  }
})

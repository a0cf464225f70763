import { expect, test } from 'vitest'
import { createProblemCounts } from './problemCounts.ts'
import { type Fault, MAX_FAULTS_OF_REASON, OTHER } from './problems.ts'

const NOON = 20_000 * 86_400_000 + 43_200_000
const fault = (page: string, given: Partial<Fault> = {}): Fault => ({
  reason: 'origin',
  source: 'gateway',
  operation: '',
  path: '',
  page,
  ...given,
})
const sums = (rows: readonly { customer: string; page: string; count: number }[]) =>
  rows.map(({ customer, page, count }) => `${customer} ${page} ${count}`)

test('equal faults are one row a day, with the times of the first and the last', () => {
  const counts = createProblemCounts()
  counts.count('a', fault('/x'), NOON)
  counts.count('a', fault('/x'), NOON + 5, 3)
  counts.count('a', fault('/x', { reason: 'invalid' }), NOON)
  counts.count('b', fault('/x'), NOON)
  counts.count('a', fault('/x'), NOON + 86_400_000)
  const rows = counts.take()
  expect(rows).toHaveLength(4)
  expect(rows[0]).toEqual({
    ...fault('/x'),
    customer: 'a',
    day: 20_000,
    count: 4,
    first: NOON,
    last: NOON + 5,
    example: null,
  })
  expect(counts.take()).toEqual([])
})

test('an example is made once for a row', () => {
  const counts = createProblemCounts()
  let made = 0
  for (let i = 0; i < 100; i++) counts.count('a', fault('/x'), NOON, 1, () => `${++made}`)
  expect([made, counts.take()[0]?.example]).toEqual([1, '1'])
})

test('a flood of different faults is counted together, and pushes out neither another reason nor another customer', () => {
  const counts = createProblemCounts()
  counts.count('a', fault('/real', { reason: 'refused' }), NOON)
  for (let i = 0; i < 10_000; i++) counts.count('a', fault(`https://${i}.example`), NOON)
  counts.count('a', fault('/later', { reason: 'refused' }), NOON)
  counts.count('b', fault('https://new.example'), NOON)
  const rows = counts.take()
  expect(rows).toHaveLength(MAX_FAULTS_OF_REASON + 1 + 3)
  expect(sums(rows)).toEqual(
    expect.arrayContaining([
      'a /real 1',
      'a /later 1',
      'b https://new.example 1',
      `a ${OTHER} ${10_000 - MAX_FAULTS_OF_REASON}`,
    ]),
  )
})

test('a flood over many customers and reasons leaves room for one more', () => {
  const counts = createProblemCounts(100)
  for (let i = 0; i < 3_000; i++)
    counts.count(`flood-${i % 30}`, fault(`/${i}`, { reason: i % 2 ? 'origin' : 'refused' }), NOON)
  counts.count('small', fault('/mine'), NOON)
  const rows = counts.take()
  expect(rows.filter(({ page }) => page !== OTHER).length).toBeLessThanOrEqual(100)
  expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(3_001)
  expect(sums(rows)).toContain('small /mine 1')
})

test('what could not be stored is counted again, with what has come since', () => {
  const counts = createProblemCounts()
  counts.count('a', fault('/x'), NOON, 2, () => '{}')
  const rows = counts.take()
  counts.count('a', fault('/x'), NOON + 1)
  counts.putBack(rows)
  expect(counts.take()).toMatchObject([{ count: 3, first: NOON, last: NOON + 1, example: '{}' }])
})

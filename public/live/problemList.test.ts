import { expect, test } from 'vitest'
import type { Coverage, Problem, ProblemList } from '../../src/contract/problems.ts'
import { nameOperation } from '../operator/kinds.ts'
import { createProblems, daysOf, mean, piecesOf, titleOf } from './problemList.ts'
import { viewOf } from './views.tsx'

const NOW = Date.parse('2026-11-28T12:00:00Z')
const HOUR_MS = 3_600_000
const before = (hours: number) => new Date(NOW - hours * HOUR_MS).toISOString()

/** @param hours Since it was first counted, and since it was last counted. */
const problem = (id: string, [first, last]: readonly [number, number], more = {}): Problem => ({
  id,
  reason: 'invalid',
  source: 'page',
  operation: 'addToCart',
  page: '/product',
  count: 1,
  first: before(first),
  last: before(last),
  days: [1],
  message: 'Wrong.',
  fix: 'Mend it.',
  ...more,
})
const listOf = (data: readonly Problem[], coverage: readonly Coverage[] = []): ProblemList => ({
  from: '2026-11-15',
  to: '2026-11-28',
  since: before(400),
  data,
  coverage,
})
const ids = (problems: readonly Problem[]) => problems.map(({ id }) => id)

test('problems that were not counted for a day are earlier ones', () => {
  const problems = createProblems(() => NOW)
  expect(problems.list()).toBeUndefined()
  expect([problems.current(), problems.earlier(), problems.warnings()]).toEqual([[], [], []])
  problems.take(listOf([problem('a', [50, 0]), problem('b', [90, 23.9]), problem('c', [90, 24])]))
  expect(ids(problems.current())).toEqual(['a', 'b'])
  expect(ids(problems.earlier())).toEqual(['c'])
})

test('the problems of the first list are no news; later ones are, and old ones that are back', () => {
  let now = NOW
  const problems = createProblems(() => now)
  const [a, old] = [problem('a', [1, 0]), problem('old', [90, 48])]
  expect(problems.take(listOf([a, old]))).toEqual([])
  expect(problems.take(listOf([a, old]))).toEqual([])
  expect(ids(problems.take(listOf([problem('b', [0, 0]), a, old])))).toEqual(['b'])
  expect(ids(problems.take(listOf([problem('old', [90, 0]), a, problem('b', [0, 0])])))).toEqual([
    'old',
  ])
  // Mended for a day, and broken again.
  now += 30 * HOUR_MS
  expect(problems.take(listOf([a]))).toEqual([])
  expect(ids(problems.take(listOf([problem('a', [1, -30])])))).toEqual(['a'])
})

test('the problems of another customer are no news', () => {
  const problems = createProblems(() => NOW)
  problems.take(listOf([problem('a', [1, 0])]))
  problems.reset()
  expect(problems.list()).toBeUndefined()
  expect(problems.take(listOf([problem('b', [1, 0])]))).toEqual([])
})

test('a problem is new for a day', () => {
  const problems = createProblems(() => NOW)
  expect([problem('a', [23, 0]), problem('b', [24, 0])].map(problems.isNew)).toEqual([true, false])
})

test('operations that come less than usual, or not any more, are warnings', () => {
  const coverage = (['never', 'comes', 'fewer', 'stopped'] as const).map(
    (state): Coverage => ({
      operation: 'search',
      first: null,
      last: null,
      hour: 0,
      usual: null,
      week: 0,
      state,
      message: '',
    }),
  )
  const problems = createProblems(() => NOW)
  problems.take(listOf([], coverage))
  expect(problems.warnings().map(({ state }) => state)).toEqual(['fewer', 'stopped'])
})

test.each([
  [{}, 'Cart, added: invalid'],
  [{ operation: 'viewHomepage', reason: 'refused' }, 'Page view: refused by the gateway'],
  [{ operation: undefined, reason: 'origin' }, 'Origin is not allowed'],
  [{ operation: undefined, reason: 'unknown_key' }, 'Unknown tracking key'],
])('the title of %o', (more, title) => {
  expect(titleOf(problem('a', [1, 0], more))).toBe(title)
})

test('an operation that this page does not know yet keeps its own name', () => {
  expect(nameOperation('rentMug')).toBe('rentMug')
  expect(titleOf(problem('a', [1, 0], { operation: undefined, reason: 'melted' }))).toBe('Melted')
})

test('a range counts both its days', () => {
  expect(daysOf({ from: '2026-11-15', to: '2026-11-28' })).toBe(14)
  expect(daysOf({ from: '2026-11-28', to: '2026-11-28' })).toBe(1)
})

test.each([
  [0, '0'],
  [0.14, '0.1'],
  [3, '3'],
  [0.96, '1'],
  [9.96, '10'],
  [36.4, '36'],
])('a mean of %d is written as %s', (value, written) => {
  expect(mean(value)).toBe(written)
})

test('backticks make code, and a command can be told from other code', () => {
  expect(piecesOf('Run `npx shoptrail customer set a`, not `track.search`.')).toEqual([
    { text: 'Run ', kind: 'text' },
    { text: 'npx shoptrail customer set a', kind: 'command' },
    { text: ', not ', kind: 'text' },
    { text: 'track.search', kind: 'code' },
    { text: '.', kind: 'text' },
  ])
  expect(piecesOf('Allow it: npx shoptrail customer set a --origin https://b.example')).toEqual([
    { text: 'Allow it: ', kind: 'text' },
    { text: 'npx shoptrail customer set a --origin https://b.example', kind: 'command' },
  ])
  expect(piecesOf('`track`')).toEqual([{ text: 'track', kind: 'code' }])
})

test.each([
  ['', 'events'],
  ['#stream', 'events'],
  ['#problems', 'problems'],
  ['#problems-view', 'problems'],
  ['#coverage', 'coverage'],
])('the fragment %j shows the %s', (hash, view) => {
  expect(viewOf(hash)).toBe(view)
})

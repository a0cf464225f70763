import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { forgetVersions, upgradeFile } from '../../test/earlierData.ts'
import { makeFolder } from '../../test/gateway.ts'
import {
  type CoverageCount,
  type Fault,
  KEPT_DAYS,
  MAX_FAULTS_OF_REASON,
  OTHER,
  type ProblemCount,
  SLOT_MS,
  slotOf,
} from '../problems/problems.ts'
import { openDatabase } from './database.ts'
import { createProblemRows } from './problemRows.ts'
import { EVENTS_SCHEMA, openStore } from './store.ts'

const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const nextFile = () => join(folder, `${++files}.db`)

const DAY_MS = 86_400_000
const DAY = 20_000
const NOON = DAY * DAY_MS + DAY_MS / 2

const problem = (page: string, given: Partial<ProblemCount> = {}): ProblemCount => ({
  customer: 'shop',
  day: DAY,
  reason: 'origin',
  source: 'gateway',
  operation: '',
  path: '',
  page,
  count: 1,
  first: NOON,
  last: NOON,
  example: null,
  ...given,
})
const stored = (operation: string, at: number, given: Partial<CoverageCount> = {}) => ({
  customer: 'shop',
  operation,
  slot: slotOf(at),
  events: 1,
  first: at,
  last: at,
  ...given,
})
const batch = (problems: ProblemCount[], coverage: CoverageCount[] = [], now = NOON) => ({
  problems,
  coverage,
  now,
})
const pages = (rows: readonly (Fault & { count: number })[]) =>
  rows.map(({ page, count }) => `${page} ${count}`).sort()

test('counts of several connections are added, and the newest example stays', () => {
  const file = nextFile()
  const [one, other] = [openStore(file), openStore(file)]
  one.writeCounts(batch([problem('/x', { example: '{"a":1}' })]))
  other.writeCounts(batch([problem('/x', { count: 4, first: NOON - 9, last: NOON + 9 })]))
  one.writeCounts(batch([problem('/x', { example: '{"a":2}' })]))
  expect(other.readProblems('shop', DAY - 29)).toEqual([
    problem('/x', { count: 6, first: NOON - 9, last: NOON + 9, example: '{"a":2}' }),
  ])
  expect(other.readProblems('other', DAY - 29)).toEqual([])
  expect(other.readProblems('shop', DAY + 1)).toEqual([])
  one.close()
  other.close()
})

test('a reason of a day has a bounded number of faults; the rest is one row, and other reasons and days have their own', () => {
  const store = openStore(nextFile())
  for (let i = 0; i < 100; i++) store.writeCounts(batch([problem(`/${i}`, { count: 2 })]))
  const further = [
    problem('/99'),
    problem('/0'),
    problem('/other', { reason: 'refused' }),
    problem('/next', { day: DAY + 1 }),
    problem('/mine', { customer: 'second' }),
  ]
  store.writeCounts(batch(further))
  const rows = store.readProblems('shop', DAY - 28)
  expect(pages(rows.filter(({ reason, day }) => reason === 'origin' && day === DAY))).toEqual(
    [
      '/0 3',
      ...Array.from({ length: MAX_FAULTS_OF_REASON - 1 }, (_, i) => `/${i + 1} 2`),
      `${OTHER} ${(100 - MAX_FAULTS_OF_REASON) * 2 + 1}`,
    ].sort(),
  )
  expect(pages(rows)).toEqual(expect.arrayContaining(['/other 1', '/next 1']))
  expect(pages(store.readProblems('second', DAY - 29))).toEqual(['/mine 1'])
  store.close()
})

test('problems are kept for 30 days, hours for 15, and old ones go in small steps', () => {
  const store = openStore(nextFile())
  const many = Array.from({ length: 1_200 }, (_, i) => problem('/x', { customer: `${i}` }))
  store.writeCounts(batch([...many, problem('/x')], [stored('search', NOON)]))
  const later = NOON + (KEPT_DAYS - 1) * DAY_MS
  store.writeCounts(batch([], [], later))
  expect(store.readProblems('shop', DAY)).toHaveLength(1)
  const left = () => {
    store.writeCounts(batch([], [], later + DAY_MS))
    return many.filter(({ customer }) => store.readProblems(customer, DAY).length > 0).length
  }
  // 500 with each write.
  const counts = [left(), left(), left()]
  expect(counts[0]).toBeGreaterThan(0)
  expect(counts[2]).toBe(0)
  expect(store.readProblems('shop', DAY)).toEqual([])
  const { events, totals } = store.readCoverage('shop', NOON)
  expect([events.size, totals]).toEqual([
    0,
    [{ operation: 'search', first: NOON, last: NOON, events: 1, days: 1 }],
  ])
  store.close()
})

test('coverage has the events of each slot, the slots in which a gateway ran, and when the counting began', () => {
  const file = nextFile()
  const store = openStore(file)
  expect(store.readCoverage('shop', NOON)).toMatchObject({ since: NOON, totals: [] })
  store.writeCounts(batch([], [stored('search', NOON), stored('addToCart', NOON, { events: 5 })]))
  const later = NOON + 3 * SLOT_MS + 7
  const second = openStore(file)
  second.writeCounts(
    batch(
      [],
      [stored('search', later, { events: 2 }), stored('search', later, { customer: 'x' })],
      later,
    ),
  )
  store.writeCounts(batch([], [stored('search', later)], later))
  const { since, from, observed, events, totals } = store.readCoverage('shop', later)
  const at = slotOf(NOON) - from
  expect(since).toBe(NOON)
  expect(observed.slice(at - 1)).toEqual([0, 1, 0, 0, 1])
  expect([...events]).toEqual([
    ['addToCart', expect.anything()],
    ['search', expect.anything()],
  ])
  expect(events.get('addToCart')?.slice(at - 1)).toEqual([0, 5, 0, 0, 0])
  expect(events.get('search')?.slice(at - 1)).toEqual([0, 1, 0, 0, 3])
  expect(totals).toEqual([
    { operation: 'addToCart', first: NOON, last: NOON, events: 5, days: 1 },
    { operation: 'search', first: NOON, last: later, events: 4, days: 1 },
  ])
  // A clock that was ahead has counted in the future.
  expect(store.readCoverage('shop', NOON).events.get('search')?.at(-1)).toBe(1)
  second.close()
  store.close()
})

test('the days on which an operation came are counted, each once', () => {
  const store = openStore(nextFile())
  for (const day of [0, 0, 1, 1, 5, 1, 6]) {
    const at = NOON + day * DAY_MS
    store.writeCounts(batch([], [stored('search', at), stored('search', at + SLOT_MS)], at))
  }
  expect(store.readCoverage('shop', NOON + 6 * DAY_MS).totals).toMatchObject([
    { operation: 'search', events: 14, days: 4 },
  ])
  store.close()
})

test('days are counted from now on in a database that did not count them', async () => {
  const file = nextFile()
  openStore(file).close()
  const database = openDatabase(file)
  database.exec(`ALTER TABLE coverage DROP COLUMN days;
    INSERT INTO coverage (customer, operation, began, ended, events) VALUES ('shop', 'search', ${NOON}, ${NOON}, 3)`)
  database.close()
  forgetVersions(file)
  await upgradeFile(file, EVENTS_SCHEMA)
  const store = openStore(file)
  expect(store.readCoverage('shop', NOON).totals).toEqual([
    { operation: 'search', first: NOON, last: NOON, events: 3, days: 1 },
  ])
  store.close()
})

test('customers with many problems leave room for those of others', () => {
  const database = openDatabase(nextFile(), EVENTS_SCHEMA)
  const rows = createProblemRows(database, 600)
  for (let i = 0; i < 40; i++)
    for (let page = 0; page < 30; page++)
      rows.addProblems([problem(`/${page}`, { customer: `flooded ${i}` })])
  rows.addProblems([problem('/x', { customer: 'quiet' })])
  expect(pages(rows.readProblems('quiet', DAY - 29))).toEqual(['/x 1'])
  database.close()
})

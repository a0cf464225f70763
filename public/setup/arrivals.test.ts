import { expect, test } from 'vitest'
import type { Coverage } from '../../src/contract/problems.ts'
import type { LiveEvent } from '../operator/feed.ts'
import { createArrivals } from './arrivals.ts'
import { isSentence } from './paste.tsx'

const BEGAN = 1_800_000_000_000
let seq = 0

const event = (operation: string, receivedAt: number, payload: object = {}): LiveEvent => ({
  seq: ++seq,
  id: `${seq}`,
  operation,
  event: operation,
  did: null,
  at: receivedAt,
  receivedAt,
  payload: { ...payload },
})
const coverage = (operation: Coverage['operation'], last: number | null): Coverage => ({
  operation,
  first: null,
  last: last === null ? null : new Date(last).toISOString(),
  hour: 0,
  usual: null,
  week: 0,
  state: 'comes',
  message: '',
})
const WALK = ['viewHomepage', 'viewProduct', 'search'] as const

test('operations are ticked off as they arrive, and the first that is missing is next', () => {
  const arrivals = createArrivals()
  arrivals.start(BEGAN)
  expect([arrivals.next(WALK), arrivals.count(WALK)]).toEqual(['viewHomepage', 0])
  expect(arrivals.takeEvent(event('viewHomepage', BEGAN + 1))).toBe(true)
  expect(arrivals.takeEvent(event('search', BEGAN + 2))).toBe(true)
  expect([arrivals.next(WALK), arrivals.count(WALK)]).toEqual(['viewProduct', 2])
  // Only the first one of its operation is news.
  expect(arrivals.takeEvent(event('search', BEGAN + 3))).toBe(false)
  expect(arrivals.find('search')?.at).toBe(BEGAN + 3)
  arrivals.takeEvent(event('viewProduct', BEGAN + 4))
  expect([arrivals.next(WALK), arrivals.count(WALK)]).toEqual([undefined, 3])
})

test('what came before this page was opened counts, but is no news', () => {
  const arrivals = createArrivals()
  arrivals.start(BEGAN)
  expect(arrivals.takeEvent(event('viewHomepage', BEGAN - 1))).toBe(false)
  arrivals.takeCoverage([
    coverage('viewHomepage', BEGAN - 500),
    coverage('viewProduct', BEGAN - 9_000),
    coverage('search', null),
  ])
  expect(arrivals.find('viewHomepage')).toMatchObject({ at: BEGAN - 1, isFresh: false })
  expect(arrivals.find('viewProduct')).toEqual({ at: BEGAN - 9_000, page: '', isFresh: false })
  expect(arrivals.next(WALK)).toBe('search')
  expect(arrivals.takeEvent(event('viewProduct', BEGAN))).toBe(true)
})

test('an older event does not replace a newer one', () => {
  const arrivals = createArrivals()
  arrivals.start(BEGAN)
  arrivals.takeEvent(event('search', BEGAN + 9, { url: 'https://shop.example/new' }))
  expect(arrivals.takeEvent(event('search', BEGAN + 1, { url: 'https://shop.example/old' }))).toBe(
    false,
  )
  expect(arrivals.find('search')?.page).toBe('shop.example/new')
})

test('nothing is left of another customer', () => {
  const arrivals = createArrivals()
  arrivals.start(BEGAN)
  arrivals.takeEvent(event('search', BEGAN + 1))
  arrivals.start(BEGAN + 2)
  expect(arrivals.find('search')).toBeUndefined()
})

test.each([
  ['https://shop.example/p/12?token=secret#top', 'shop.example/p/12'],
  [undefined, ''],
  [{}, ''],
  ['javascript:alert(1)', ''],
  [`https://${'x'.repeat(100_000)}`, `${'x'.repeat(80)}…`],
])('the page of %j is shown as %j', (url, page) => {
  const arrivals = createArrivals()
  arrivals.start(BEGAN)
  arrivals.takeEvent(event('search', BEGAN, { url }))
  expect(arrivals.find('search')?.page).toBe(page)
})

test.each([
  ['Put it before the tag.', true],
  ['See in debug mode whether the answer arrives: docs/consent.md.', true],
  ['<script async src="https://t.example/t/j/K"></script>', false],
  ["script-src 'self' https://t.example/t/", false],
  ['npx shoptrail customer set acme --origin https://shop.example', false],
])('%j is a sentence: %j', (text, is) => {
  expect(isSentence(text)).toBe(is)
})

import { expect, test, vi } from 'vitest'
import { takeEarlyCalls } from './earlyCalls.ts'

const ID = '01890000-0000-7000-8000-000000000001'
const OTHER = '01890000-0000-7000-8000-000000000002'
const URL = 'https://shop.example/before'

const createHelpers = () => ({
  viewProduct: vi.fn((..._: unknown[]): unknown => Promise.resolve({ ok: true })),
  search: vi.fn((..._: unknown[]): unknown => Promise.resolve({ ok: true })),
  on: vi.fn((..._: unknown[]): unknown => () => {}),
  reset: vi.fn(),
})

test('stored calls are replayed first, then those of the stub, each with its own URL, time and id', () => {
  const helpers = createHelpers()
  const q = [
    ['search', [{ search_term: 'mug' }], URL, 2, OTHER, () => {}],
    ['viewProduct', [{ product_id: 2 }], URL, 3, ID],
  ]
  const kept = [JSON.stringify(['viewProduct', [{ product_id: 1 }], `${URL}?kept`, 1, ID])]
  takeEarlyCalls(kept, { q }, helpers)()
  expect(helpers.viewProduct.mock.calls).toEqual([
    [{ product_id: 1 }, { url: `${URL}?kept`, at: 1, id: ID }],
    [{ product_id: 2 }, { url: URL, at: 3, id: ID }],
  ])
  expect(helpers.search.mock.calls).toEqual([
    [{ search_term: 'mug' }, { url: URL, at: 2, id: OTHER }],
  ])
  const order = [helpers.viewProduct, helpers.search].flatMap(
    (call) => call.mock.invocationCallOrder,
  )
  expect(order).toEqual([Math.min(...order), Math.max(...order), Math.min(...order) + 1])
  expect([...q]).toEqual([])
})

test('calls by a reference to the stub are still replayed', () => {
  const helpers = createHelpers()
  const q: unknown[][] = []
  takeEarlyCalls([], { q }, helpers)()
  q.push(['search', [{ search_term: 'mug' }], URL, 2, OTHER])
  expect(helpers.search.mock.calls).toEqual([
    [{ search_term: 'mug' }, { url: URL, at: 2, id: OTHER }],
  ])
  expect([...q]).toEqual([])
})

test('calls of this page get the landing URL if only its query was removed; others keep their own', () => {
  const landing = `${URL}?utm_source=mail`
  const entries = vi.spyOn(performance, 'getEntriesByType')
  entries.mockReturnValue([{ name: landing } as PerformanceEntry])
  const helpers = createHelpers()
  const other = 'https://shop.example/other'
  const call = (url: string) => ['search', [{}], url, 1, ID]
  const q = [call(URL), call(other)]
  takeEarlyCalls([JSON.stringify(call(URL))], { q }, helpers)()
  q.push(call(URL))
  const urls = helpers.search.mock.calls.map(([, seen]) => (seen as { url: string }).url)
  expect(urls).toEqual([URL, landing, other, URL])
  entries.mockRestore()
})

test('the promise of the caller resolves with the outcome', async () => {
  const helpers = createHelpers()
  const outcome = await new Promise((resolve) => {
    takeEarlyCalls([], { q: [['search', [{}], URL, 1, ID, resolve]] }, helpers)()
  })
  expect(outcome).toEqual({ ok: true })
})

test('a call with a second argument (the index of forEach) keeps its time and id', () => {
  const helpers = createHelpers()
  takeEarlyCalls([], { q: [['viewProduct', [{ product_id: 1 }, 0, []], URL, 1, ID]] }, helpers)()
  expect(helpers.viewProduct).toHaveBeenCalledExactlyOnceWith(
    { product_id: 1 },
    { url: URL, at: 1, id: ID },
  )
})

test('track.on gets its listener', () => {
  const helpers = createHelpers()
  const listener = () => {}
  takeEarlyCalls([], { q: [['on', ['accepted', listener], URL, 1, ID]] }, helpers)()
  expect(helpers.on).toHaveBeenCalledExactlyOnceWith('accepted', listener)
})

test('for a key that joins later, only events are replayed, and only for that key', () => {
  const helpers = createHelpers()
  const replay = takeEarlyCalls(
    [],
    {
      q: [
        ['on', ['accepted', () => {}], URL, 1, ID],
        ['search', [{}], URL, 1, ID],
        ['reset', [], URL, 1, OTHER],
      ],
    },
    helpers,
  )
  const only = () => true
  replay()
  replay(only)
  expect(helpers.on).toHaveBeenCalledOnce()
  expect(helpers.reset).toHaveBeenCalledOnce()
  expect(helpers.search.mock.calls).toEqual([
    [{}, { url: URL, at: 1, id: ID }],
    [{}, { url: URL, at: 1, id: ID, only }],
  ])
})

test('invalid calls are skipped, and those after them replayed', () => {
  const helpers = createHelpers()
  const good = ['search', [{}], URL, 1, ID]
  const thrown = () => {
    throw new Error('of the shop')
  }
  helpers.viewProduct.mockImplementation(thrown)
  const junk = [
    null,
    undefined,
    1,
    [],
    ['search'],
    ['search', null, URL, 1, ID],
    ['search', [{}], URL, 1, 'no id'],
    ['search', [{}], URL, 1],
    ['nothing', [{}], URL, 1, ID],
    ['__proto__', [{}], URL, 1, ID],
    ['constructor', [{}], URL, 1, ID],
    ['viewProduct', [{}], URL, 1, ID, thrown],
    ['on', [], URL, 1, ID, thrown],
  ]
  takeEarlyCalls(['{', '[', 'null', '"x"', '[1,2]'], { q: [...junk, good] }, helpers)()
  expect(helpers.search).toHaveBeenCalledExactlyOnceWith({}, { url: URL, at: 1, id: ID })
})

test.each([
  undefined,
  null,
  {},
  { q: 'text' },
  { q: 5 },
  [],
  'track',
  Object.assign(() => {}, { q: null }),
])('not a stub: %s', (stub) => {
  takeEarlyCalls([], stub, createHelpers())()
})

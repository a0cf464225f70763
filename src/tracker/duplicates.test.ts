// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Config } from './config.ts'
import { createIsDuplicate, type Reporter, type Reports } from './duplicates.ts'

const config: Config = { key: 'ABC123', base: 'http://gateway.example' }
const line = {
  event: 'add_to_cart',
  product_id: 42,
  quantity: 1,
  variation: { id: '57', sku: 'TEE' },
  url: 'https://shop.example/',
}
const email = {
  event: 'set_email',
  email_address: 'ana@shop.example',
  firstname: '',
  lastname: '',
  phone: '',
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

const pass = (ms: number) => vi.setSystemTime(+new Date() + ms)
const create = (reports: Reports = new Map()) => createIsDuplicate(reports)

test('the same event from another reporter within the window is a duplicate', () => {
  const isDuplicate = create()
  expect(isDuplicate(config, line, 'attribute')).toBe(false)
  pass(4999)
  expect(isDuplicate(config, { ...line, url: 'https://shop.example/#x' }, 'dataLayer')).toBe(true)
})

test('after the window the same event is another action', () => {
  const isDuplicate = create()
  isDuplicate(config, line, 'attribute')
  pass(5000)
  expect(isDuplicate(config, line, 'dataLayer')).toBe(false)
})

test.each([
  [0, 0, false],
  ['0', 0, false],
  [100, 99, true],
  ['100', 100, false],
  [60_000, 59_999, true],
])('window %o, %i ms later: %s', (duplicateWindowMs, ms, expected) => {
  const isDuplicate = create()
  const own = { ...config, duplicateWindowMs }
  isDuplicate(own, line, 'call')
  pass(ms)
  expect(isDuplicate(own, line, 'dataLayer')).toBe(expected)
})

test.each<[string, [Reporter, boolean][]]>([
  [
    'two clicks, each reported in two ways',
    [
      ['attribute', false],
      ['dataLayer', true],
      ['attribute', false],
      ['dataLayer', true],
    ],
  ],
  [
    'two clicks, the reports of the second way later',
    [
      ['attribute', false],
      ['attribute', false],
      ['dataLayer', true],
      ['dataLayer', true],
    ],
  ],
  [
    'one click and one more, which only the second way knows',
    [
      ['attribute', false],
      ['dataLayer', true],
      ['dataLayer', false],
    ],
  ],
  [
    'one click reported in three ways',
    [
      ['attribute', false],
      ['dataLayer', true],
      ['call', true],
    ],
  ],
  [
    'one way that repeats itself',
    [
      ['call', false],
      ['call', false],
      ['call', false],
    ],
  ],
])('%s', (_name, reports) => {
  const isDuplicate = create()
  for (const [from, expected] of reports) expect(isDuplicate(config, line, from)).toBe(expected)
})

test.each([
  ['product', { product_id: 43 }],
  ['quantity', { quantity: 2 }],
  ['variation', { variation: { id: '58', sku: 'TEE' } }],
  ['event name', { event: 'remove_from_cart' }],
])('another %s is another action', (_name, fields) => {
  const isDuplicate = create()
  isDuplicate(config, line, 'attribute')
  expect(isDuplicate(config, { ...line, ...fields }, 'dataLayer')).toBe(false)
})

test('the SKU does not distinguish actions', () => {
  const isDuplicate = create()
  isDuplicate(config, line, 'attribute')
  const push = { ...line, variation: { id: '57', sku: 'another' } }
  expect(isDuplicate(config, push, 'dataLayer')).toBe(true)
})

test.each([
  ['search term', { event: 'search', search_term: 'mug' }, { search_term: 'cup' }],
  ['address', email, { email_address: 'bob@shop.example' }],
  ['phone', email, { phone: '0722' }],
  ['name', email, { firstname: 'Ana' }],
])('by %s', (_name, payload, fields) => {
  const isDuplicate = create()
  isDuplicate(config, payload, 'attribute')
  expect(isDuplicate(config, { ...payload, ...fields }, 'dataLayer')).toBe(false)
  expect(isDuplicate(config, payload, 'dataLayer')).toBe(true)
})

test('each key has its own reports', () => {
  const isDuplicate = create()
  isDuplicate(config, line, 'attribute')
  expect(isDuplicate({ ...config, key: 'OTHER1' }, line, 'dataLayer')).toBe(false)
})

describe('GA4', () => {
  const ga4 = { ...line, quantity: 3, variation: { id: '42', sku: '42' } }
  test.each<[string, Reporter, Reporter]>([
    ['first', 'ga4', 'dataLayer'],
    ['second', 'dataLayer', 'ga4'],
  ])('%s: the name and the product decide', (_name, first, second) => {
    const isDuplicate = create()
    expect(isDuplicate(config, first === 'ga4' ? ga4 : line, first)).toBe(false)
    expect(isDuplicate(config, second === 'ga4' ? ga4 : line, second)).toBe(true)
    expect(isDuplicate(config, { ...line, product_id: 43 }, second)).toBe(false)
  })

  test('two lines of one product in one push are two events', () => {
    const isDuplicate = create()
    expect(isDuplicate(config, ga4, 'ga4')).toBe(false)
    expect(isDuplicate(config, { ...ga4, variation: { id: '43', sku: '42' } }, 'ga4')).toBe(false)
  })
})

describe('the same reporter', () => {
  const during = (act: () => void) => {
    // happy-dom has no `window.event`, which browsers set while they dispatch one.
    const target = new EventTarget()
    const set = (value: unknown) =>
      Object.defineProperty(window, 'event', { value, configurable: true })
    const before = window.event
    target.addEventListener('click', (event) => {
      set(event)
      act()
    })
    target.dispatchEvent(new Event('click'))
    set(before)
  }

  test('twice during one DOM event is a duplicate', () => {
    const isDuplicate = create()
    const seen: boolean[] = []
    const run = () => void seen.push(isDuplicate(config, line, 'call'))
    during(() => {
      run()
      run()
    })
    during(run)
    run()
    run()
    expect(seen).toEqual([false, true, false, false, false])
  })

  test('twice during one DOM event is a duplicate, also with another event between', () => {
    const isDuplicate = create()
    const seen: boolean[] = []
    const run = () => void seen.push(isDuplicate(config, line, 'call'))
    during(() => {
      run()
      during(run)
      run()
    })
    expect(seen).toEqual([false, false, true])
  })

  test('with another SKU during one DOM event is another action', () => {
    const isDuplicate = create()
    during(() => {
      expect(isDuplicate(config, line, 'call')).toBe(false)
      const other = { ...line, variation: { ...line.variation, sku: 'BLUE' } }
      expect(isDuplicate(config, other, 'call')).toBe(false)
    })
  })

  test.each(['page', new Event('click')])(
    'a page that has a global named event of its own: %o',
    (value) => {
      const isDuplicate = create()
      Object.defineProperty(window, 'event', { value, configurable: true })
      expect([1, 2, 3].map(() => isDuplicate(config, line, 'call'))).toEqual([false, false, false])
      Object.defineProperty(window, 'event', { value: undefined, configurable: true })
    },
  )

  test('with another quantity during one DOM event is another action', () => {
    const isDuplicate = create()
    during(() => {
      expect(isDuplicate(config, line, 'call')).toBe(false)
      expect(isDuplicate(config, { ...line, quantity: 2 }, 'call')).toBe(false)
    })
  })
})

test('reports of the previous page count', () => {
  const reports: Reports = new Map()
  create(reports)(config, line, 'ga4')
  const carried: Reports = new Map(JSON.parse(JSON.stringify([...reports])))
  expect(create(carried)(config, line, 'dataLayer')).toBe(true)
})

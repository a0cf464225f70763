// @vitest-environment happy-dom

import { afterEach, expect, test, vi } from 'vitest'
import type { Config } from '../config.ts'
import { watchGa4 } from './watchGa4.ts'

const page = window as unknown as { dataLayer?: unknown[] }
afterEach(() => {
  delete page.dataLayer
})

/** gtag pushes its `arguments` object. */
const gtag = new Function('return arguments') as (...all: unknown[]) => unknown

/** Watches a page whose key has this setting. Returns the printed texts. */
async function watch(push: unknown, ...settings: Partial<Config>[]) {
  page.dataLayer = [{ event: 'gtm.js' }, 'text', null, push]
  const printed: string[] = []
  const configs = new Map(
    settings.map((one, index) => [`${index}`, { key: `${index}`, base: '', ...one } as Config]),
  )
  watchGa4(window, configs, (text) => printed.push(text))()
  return printed
}

test.each([
  ['add_to_cart', { event: 'add_to_cart', ecommerce: { items: [] } }],
  ['view_item', gtag('event', 'view_item', { items: [] })],
  ['add', { ecommerce: { add: { products: [] } } }],
])('%s is seen while ga4 is off', async (name, push) => {
  for (const off of [{}, { ga4: false as const }])
    expect(await watch(push, off)).toEqual([
      expect.stringContaining(`a GA4 push was seen (${name})`),
    ])
})

test('nothing is reported if ga4 is on for a key', async () => {
  const push = { event: 'add_to_cart', ecommerce: { items: [] } }
  expect(await watch(push, { ga4: true })).toEqual([])
  expect(await watch(push, {}, { ga4: 'true' })).toEqual([])
})

test.each([
  ['a bare name', { event: 'add_to_cart' }],
  ['a reset', { ecommerce: null }],
  ['a setting', gtag('config', 'G-1')],
  ['a list', ['event', 'view_item']],
])('%s is not reported', async (_what, push) => {
  expect(await watch(push, {})).toEqual([])
})

test('the array may have another name, and a push may come later', async () => {
  vi.useFakeTimers()
  try {
    const printed: string[] = []
    const other: unknown[] = []
    Object.assign(window, { layer: other })
    const configs = new Map([['K', { key: 'K', base: '', dataLayerName: 'layer' } as Config]])
    watchGa4(window, configs, (text) => printed.push(text))
    other.push({ event: 'add_to_cart', ecommerce: {} })
    await vi.advanceTimersByTimeAsync(3_000)
    expect(printed).toHaveLength(1)
  } finally {
    vi.useRealTimers()
    Reflect.deleteProperty(window, 'layer')
  }
})

test('pushes that can not be read do not hide the others', async () => {
  const thrower = () => {
    throw new Error('mine')
  }
  const unreadable = [
    Object.defineProperty({}, 'event', { get: thrower }),
    Object.defineProperty({ event: 'view_item' }, 'ecommerce', { get: thrower }),
    new Proxy({}, { get: thrower, getPrototypeOf: thrower }),
    gtag('event', { toString: thrower }),
  ]
  page.dataLayer = [...unreadable, { event: 'view_item', ecommerce: {} }]
  const printed: string[] = []
  const configs = new Map([['K', { key: 'K', base: '' } as Config]])
  watchGa4(window, configs, (text) => printed.push(text))()
  expect(printed).toEqual([expect.stringContaining('(view_item)')])
})

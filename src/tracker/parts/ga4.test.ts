// @vitest-environment happy-dom
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Ga4Settings } from '../../contract/settings.ts'
import { watchTrack } from '../../test/watchTrack.ts'
import type { Config } from '../config.ts'
import { ga4 } from './ga4.ts'

const page = window as unknown as { [name: string]: unknown[] }
let name = ''
let pages = 0
beforeEach(() => {
  name = `layer${++pages}`
})
afterEach(() => sessionStorage.clear())

const push = (...pushes: unknown[]) => page[name]?.push(...pushes)
const gtag = (...given: unknown[]) => {
  const call = () => {
    // Rest parameters are an array. gtag pushes an `arguments` object.
    return Reflect.apply(argumentsOf, undefined, given)
  }
  push(call())
}
const argumentsOf = new Function('return arguments') as (...given: unknown[]) => unknown

/** A page with the setting ga4. */
function open(options: Ga4Settings | boolean | string = true, config: Partial<Config> = {}) {
  const watched = watchTrack({ dataLayerName: name, ga4: options, ...config })
  ga4(...watched.state)
  watched.startDataLayer()
  return {
    ...watched,
    codes: async () => (await watched.dropped()).map(({ code, reason }) => code ?? reason),
  }
}

const item = { item_id: '42', quantity: 1, item_variant: '57' }
const added = {
  event: 'add_to_cart',
  product_id: 42,
  quantity: 1,
  variation: { id: '57', sku: '42' },
}
const add = (...items: object[]) => ({ event: 'add_to_cart', ecommerce: { items } })

type Row = { push?: object; gtag?: unknown[]; expect: object[]; warn?: string[] }
const rows: Row[] = JSON.parse(readFileSync(`${import.meta.dirname}/../fixtures/ga4.json`, 'utf8'))
/** A purchase causes a notice that the vectors do not list. */
const hasAllNotices = ({ push: pushed }: Row) => !JSON.stringify(pushed ?? '').includes('purchase')

describe.each(rows)('vector $push $gtag', (row) => {
  const pushRow = () => (row.gtag ? gtag(...row.gtag) : push(row.push))

  test('pushed', async () => {
    const { events, codes } = open()
    pushRow()
    expect(events()).toEqual(row.expect)
    if (hasAllNotices(row)) expect(await codes()).toEqual(row.warn ?? [])
  })

  test('pushed before the script', () => {
    page[name] = []
    pushRow()
    expect(open().events()).toEqual(row.expect)
  })

  test('the same object again is not counted again', () => {
    const { events } = open()
    pushRow()
    push(page[name]?.[0])
    expect(events()).toEqual(row.expect)
  })

  test('with the reader off', () => {
    const { events } = open(false)
    page[name] ??= []
    pushRow()
    expect(events()).toEqual([])
  })
})

test.each([
  ['gtag commands', () => gtag('js', new Date())],
  ['a consent command', () => gtag('consent', 'default', { ad_storage: 'denied' })],
  ['gtag of nothing', () => gtag()],
  ['a function', () => push(() => {})],
  ['a real list', () => push(['event', 'search', { search_term: 'x' }])],
  ['nothing', () => push(null, undefined, 0, '', {})],
  ['a name of Object.prototype', () => push({ event: 'constructor', ecommerce: { items: [] } })],
  ['later steps', () => push({ ecommerce: { checkout: { actionField: { step: 2 } } } })],
  ['impressions', () => push({ ecommerce: { impressions: [{ id: '1' }] } })],
  [
    'a click',
    () => push({ event: 'productClick', ecommerce: { click: { products: [{ id: 1 }] } } }),
  ],
  ['search results', () => gtag('event', 'view_search_results', { search_term: 'x' })],
  ['user data', () => gtag('set', 'user_data', { email: 'ana@shop.example' })],
])('ignores %s without a notice', async (_kind, act) => {
  const { events, codes } = open()
  act()
  expect(events()).toEqual([])
  expect(await codes()).toEqual([])
})

test('an error does not reach the page, and the next push is read', () => {
  const fail = () => {
    throw new Error('the page is broken')
  }
  const { events } = open()
  push(Object.defineProperty({}, 'event', { get: fail, enumerable: true }))
  push(add(Object.defineProperty({}, 'item_id', { get: fail, enumerable: true })))
  push(new Proxy({}, { getOwnPropertyDescriptor: fail }))
  push(add(item))
  expect(events()).toEqual([added])
})

test('nothing inherited counts, and an old toJSON of arrays does no harm', () => {
  const polluted = Object.prototype as { [key: string]: unknown }
  const lists = Array.prototype as { toJSON?: unknown }
  try {
    polluted.item_id = '7'
    lists.toJSON = function () {
      return JSON.stringify(this)
    }
    const { events } = open()
    push(add({ item_name: 'A' }), add(item))
    expect(events()).toEqual([added])
  } finally {
    delete polluted.item_id
    delete lists.toJSON
  }
})

test('a changed object is another event; one that a tag manager has marked is not', () => {
  const { events } = open()
  const object = add({ ...item })
  push(object)
  push(Object.assign(object, { 'gtm.uniqueEventId': 5 }))
  Object.assign(object.ecommerce.items[0] as object, { quantity: 4 })
  push(object)
  expect(events()).toEqual([added, { ...added, quantity: 4 }])
})

describe('one click in two dialects', () => {
  const enhanced = { event: 'addToCart', ecommerce: { add: { products: [{ id: '42' }] } } }
  const plugin = { ...added, event: '__sm__add_to_cart', variation: { id: 'x', sku: 'y' } }

  test.each<[string, () => unknown]>([
    ['Universal Analytics and GA4', () => push(enhanced, add(item))],
    ['GA4 and Universal Analytics', () => push(add(item), enhanced)],
    ['gtag and GA4', () => [gtag('event', 'add_to_cart', { items: [item] }), push(add(item))]],
    ['the plugin and GA4', () => push(plugin, add(item))],
    ['GA4 and the plugin', () => push(add(item), plugin)],
    ['all of them', () => push(plugin, enhanced, add(item))],
  ])('%s is one event', (_name, act) => {
    const { events } = open()
    act()
    expect(events()).toHaveLength(1)
  })

  test('two clicks are two events', () => {
    const { events } = open()
    push(add({ ...item }), { ...plugin }, add({ ...item }), { ...plugin })
    expect(events()).toHaveLength(2)
  })

  test('the plugin reports on the next page', () => {
    open()
    push(add(item))
    window.dispatchEvent(new Event('pagehide'))
    name = `${name}next`
    const { events } = open()
    push(plugin, { ...plugin })
    expect(events()).toHaveLength(1)
    expect(Object.keys(sessionStorage)).toEqual([])
  })

  test('no e-mail address is stored for the next page', () => {
    const { track } = open()
    track('setEmail', { email_address: 'ana@shop.example' })
    window.dispatchEvent(new Event('pagehide'))
    expect(JSON.stringify({ ...sessionStorage })).not.toContain('ana')
  })

  test.each(['{', 'null', '5', '[1]', '[["a"]]', '[["a",[null]]]', '[["a",[{}]]]'])(
    'an invalid stored value is ignored: %s',
    (junk) => {
      sessionStorage.setItem('track.ga4', junk)
      const { events } = open()
      push(add(item))
      expect(events()).toEqual([added])
    },
  )
})

describe('lines', () => {
  test('of many items the first 20 are sent, with a notice', async () => {
    const { events, codes } = open()
    push(add(...Array.from({ length: 25 }, (_, index) => ({ ...item, item_id: index + 1 }))))
    expect(events()).toHaveLength(20)
    expect(await codes()).toEqual(['ga4-too-many'])
  })

  test.each([
    ['SKU_12345', 'ga4-item-id'],
    ['12-34', 'ga4-item-id'],
    ['0', 'ga4-item-id'],
    [0, 'ga4-item-id'],
    ['1e3', 'ga4-item-id'],
    [1.5, 'ga4-item-id'],
    ['820982911946154508', 'ga4-item-id'],
    ['  ', 'ga4-no-id'],
    [null, 'ga4-no-id'],
    [{}, 'ga4-no-id'],
  ])('item_id %j: %s', async (item_id, code) => {
    const { events, dropped } = open()
    push(add({ item_id, quantity: 1 }))
    expect(events()).toEqual([])
    expect(await dropped()).toMatchObject([{ operation: 'add_to_cart', code, reason: 'invalid' }])
  })

  test.each([0, -1, 0.5, '0.5', '', 'many', null, {}, '2,5'])('quantity %j', async (quantity) => {
    const { events, codes } = open()
    push(add({ ...item, quantity }))
    if (quantity === null) return expect(events()).toEqual([added])
    expect(events()).toEqual([])
    return expect(await codes()).toEqual(['ga4-quantity'])
  })

  test('an invalid item does not affect the others', async () => {
    const { events, codes } = open()
    push(add({ item_name: 'A' }, item))
    expect(events()).toEqual([added])
    expect(await codes()).toEqual(['ga4-no-id'])
  })

  test('items without ecommerce are read', () => {
    const { events } = open()
    push({ event: 'add_to_cart', items: [item] })
    expect(events()).toEqual([added])
  })
})

describe('options', () => {
  test.each<[string, Ga4Settings, object, object]>([
    [
      'a parameter',
      { productId: { from: 'shop_id' } },
      { shop_id: 42, item_id: 'SKU' },
      { sku: 'SKU' },
    ],
    [
      'a pattern',
      { productId: { pattern: '^shopify_[A-Z]{2}_(\\d+)_' } },
      { item_id: 'shopify_RO_42_456' },
      { sku: 'shopify_RO_42_456' },
    ],
    ['a table', { productId: { table: { SKU_1: 42 } } }, { item_id: 'SKU_1' }, { sku: 'SKU_1' }],
    ['a variation', { variationId: 'vid' }, { item_id: 42, vid: 'M-7' }, { id: 'M-7' }],
    ['a SKU', { sku: 'dimension3' }, { item_id: 42, dimension3: 'TEE-M' }, { sku: 'TEE-M' }],
  ])('%s', (_name, options, given, variation) => {
    const { events } = open(options)
    push(add({ quantity: 1, ...given }))
    expect(events()).toEqual([{ ...added, variation: { id: '42', sku: '42', ...variation } }])
  })

  test.each<[string, Ga4Settings]>([
    ['a table without the id', { productId: { table: { other: 1 } } }],
    ['a table, for an id that is a name of Object.prototype', { productId: { table: {} } }],
    ['a pattern that does not match', { productId: { pattern: '^x' } }],
  ])('%s refuses the line', async (_name, options) => {
    const { events, codes } = open(options)
    push(add({ item_id: 'constructor', quantity: 1 }))
    expect(events()).toEqual([])
    expect(await codes()).toEqual(['ga4-item-id'])
  })

  test('quantities are rounded up', () => {
    const { events } = open({ quantity: 'up' })
    push(add({ ...item, quantity: 0.5 }), add({ ...item, quantity: '1.2' }))
    expect(events()).toEqual([added, { ...added, quantity: 2 }])
  })

  test('the homepage is reported on load or page_view, once for each path', () => {
    const { events } = open({ homepage: [location.pathname] })
    gtag('event', 'page_view')
    push({ event: 'page_view' })
    expect(events()).toEqual([{ event: 'view_homepage' }])
  })

  test('search results', () => {
    const { events } = open({ searchResults: true })
    gtag('event', 'view_search_results', { search_term: 'mug' })
    expect(events()).toEqual([{ event: 'search', search_term: 'mug' }])
  })

  test('user data', async () => {
    const { events, codes } = open({ userData: true })
    const address = { first_name: 'Ana', last_name: 'Pop' }
    gtag('set', 'user_data', { email: 'ana@shop.example', phone_number: '+40722', address })
    push({ event: 'x', user_data: { sha256_email_address: 'abc' } })
    const email_address = 'ana@shop.example'
    expect(events()).toEqual([
      { event: 'set_email', email_address, firstname: 'Ana', lastname: 'Pop', phone: '+40722' },
    ])
    expect(await codes()).toEqual(['ga4-user-data'])
  })
})

test('only keys with ga4 on get events, also if another key loads the part', () => {
  const watched = watchTrack(
    { key: 'AAAAAA', dataLayerName: name },
    { key: 'BBBBBB', ga4: true, eventPrefix: 'b_' },
  )
  ga4(...watched.state)
  watched.startDataLayer()
  push(add(item))
  expect(watched.events()).toEqual([{ ...added, event: 'b_add_to_cart' }])
})

test('works with dataLayer off', () => {
  const { events } = open(true, { dataLayer: false })
  push({ event: '__sm__view_homepage' }, add(item))
  expect(events()).toEqual([added])
})

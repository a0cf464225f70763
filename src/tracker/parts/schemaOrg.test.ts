// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { watchTrack } from '../../test/watchTrack.ts'
import type { Config } from '../config.ts'
import { schemaOrg } from './schemaOrg.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  history.replaceState({}, '', '/p/mug-7')
})
afterEach(() => {
  vi.useRealTimers()
  document.body.innerHTML = ''
})

const jsonLd = (...nodes: unknown[]) =>
  nodes
    .map((node) => {
      const text = typeof node === 'string' ? node : JSON.stringify(node)
      return `<script type="application/ld+json">${text}</script>`
    })
    .join('')

/** A page with this body and the setting schemaOrg. */
function open(body: string, config: Partial<Config> = {}) {
  document.body.innerHTML = body
  const watched = watchTrack({ schemaOrg: true, ...config })
  schemaOrg(...watched.state)
  return {
    ...watched,
    wait: (ms = 4000) => vi.advanceTimersByTimeAsync(ms),
    ids: () => watched.events().map(({ product_id }) => product_id),
    codes: async () => (await watched.dropped()).map(({ code, reason }) => code ?? reason),
  }
}

const product = (fields: object) => ({
  '@context': 'https://schema.org',
  '@type': 'Product',
  ...fields,
})

describe('the id is', () => {
  test.each<[string, unknown, string]>([
    ['productID', product({ productID: '42', sku: 'TEE', url: '/p/mug-7' }), '42'],
    ['a number', product({ productID: 42 }), '42'],
    ['sku, as a number', product({ sku: 17 }), '17'],
    ['a list', product({ productID: ['42', '43'] }), '42'],
    ['a value object', product({ productID: { '@value': ' 42 ' } }), '42'],
    ['sku', product({ sku: 'TEE', url: '/p/mug-7' }), 'TEE'],
    ['sku where productID is blank', product({ productID: ' ', sku: 'TEE' }), 'TEE'],
    ['@id', product({ '@id': 'https://shop.example/p/mug-7/?x=1#product' }), 'mug-7'],
    ['@id that is a fragment', product({ '@id': '#product' }), 'mug-7'],
    ['url, not a name within the description', product({ '@id': '_:b0', url: '/p/cup/' }), 'cup'],
    ['url', product({ '@id': 'https://', url: 'https://shop.example/p/cup.html' }), 'cup.html'],
    ['an address relative to the page', product({ url: '../p/bowl?x=1' }), 'bowl'],
    ['the group of its variants', product({ '@type': 'ProductGroup', productGroupID: 'g1' }), 'g1'],
    [
      'a group, not the variant in it',
      product({
        '@type': 'ProductGroup',
        productGroupID: 'g1',
        hasVariant: [product({ sku: 'g1-s' })],
      }),
      'g1',
    ],
    ['one type of several', product({ '@type': ['Thing', 'Product'], sku: 'TEE' }), 'TEE'],
    ['a whole type', product({ '@type': 'http://schema.org/Product', sku: 'TEE' }), 'TEE'],
    ['@graph', { '@graph': [{ '@type': 'WebPage' }, product({ sku: 'TEE' })] }, 'TEE'],
    ['a list of nodes', [{ '@type': 'Organization' }, product({ sku: 'TEE' })], 'TEE'],
    ['mainEntity', { '@type': 'WebPage', mainEntity: product({ sku: 'TEE' }) }, 'TEE'],
  ])('JSON-LD: %s', async (_name, node, id) => {
    const { wait, events } = open(jsonLd(node))
    await wait()
    expect(events()).toEqual([{ event: 'view_product', product_id: id }])
  })

  const micro = (inside: string, more = '') =>
    `<div itemscope itemtype="https://schema.org/Product" ${more}>${inside}</div>`
  test.each([
    ['productID', micro('<meta itemprop="productID" content="42"><b itemprop="sku">TEE</b>'), '42'],
    ['text', micro('<b itemprop="sku"> TEE </b>'), 'TEE'],
    ['one name of several', micro('<b itemprop="mpn sku">TEE</b>'), 'TEE'],
    ['a link', micro('<a itemprop="url" href="/p/mug-7">Mug</a>'), 'mug-7'],
    ['itemid', micro('', 'itemid="https://shop.example/p/cup"'), 'cup'],
    [
      'that of the product, not of an item in it',
      micro(
        '<p itemprop="offers" itemscope><b itemprop="sku">OFFER</b></p><b itemprop="sku">TEE</b>',
      ),
      'TEE',
    ],
  ])('microdata: %s', async (_name, body, id) => {
    const { wait, ids } = open(body)
    await wait()
    expect(ids()).toEqual([id])
  })
})

describe('no event', () => {
  const many = [product({ sku: 'A' }), product({ sku: 'B' })]
  test.each<[string, string, string[]]>([
    ['no description', '<p>x</p>', []],
    ['another type', jsonLd({ '@type': 'Article', sku: 'x' }), []],
    ['products of a list', jsonLd({ '@type': 'ItemList', itemListElement: many }), []],
    ['related products', jsonLd({ '@type': 'WebPage', relatedLink: many[0] }), []],
    ['several products', jsonLd(...many), ['schema-many']],
    ['a product without an id', jsonLd(product({ name: 'Mug' })), ['schema-no-id']],
    ['broken JSON', jsonLd('{"@type":'), ['schema-json']],
    ['null', jsonLd(null, 5, '"x"'), []],
    [
      'microdata of a related product',
      '<p itemprop="isRelatedTo" itemscope itemtype="https://schema.org/Product"><b itemprop="sku">A</b></p>',
      [],
    ],
  ])('%s', async (_name, body, expected) => {
    const { wait, events, codes } = open(body)
    await wait()
    expect(events()).toEqual([])
    expect(await codes()).toEqual(expected)
  })
})

test('of several products the one with the page’s URL', async () => {
  const { wait, ids } = open(
    jsonLd(product({ sku: 'A', url: '/p/cup' }), product({ sku: 'B', url: '/p/mug-7' })),
  )
  await wait()
  expect(ids()).toEqual(['B'])
})

test('an invalid description does not hide a valid one, and the same one twice is one product', async () => {
  const { wait, ids } = open(jsonLd('{', product({ sku: 'TEE' }), product({ sku: 'TEE' })))
  await wait()
  expect(ids()).toEqual(['TEE'])
})

describe('the page has time to report', () => {
  const body = jsonLd(product({ sku: 'TEE' }))

  test('nothing is reported before the time is over', async () => {
    const { wait, ids } = open(body)
    await wait(3999)
    expect(ids()).toEqual([])
    await wait(1)
    await wait()
    expect(ids()).toEqual(['TEE'])
  })

  test('if the page reports a product itself, nothing else is reported', async () => {
    const { wait, ids, track } = open(body)
    await wait(3000)
    track('viewProduct', { product_id: '42' }, { from: 'dataLayer' })
    await wait()
    window.dispatchEvent(new Event('pagehide'))
    expect(ids()).toEqual(['42'])
  })

  test('other events of the page do not count', async () => {
    const { wait, ids, track } = open(body)
    track('viewHomepage', { event: 'view_page' }, { from: 'pageView' })
    track('viewProduct', {})
    await wait()
    expect(ids()).toEqual([undefined, 'TEE'])
  })

  test('a page that is left early is reported when it is left, once', async () => {
    const { wait, ids } = open(body)
    window.dispatchEvent(new Event('pagehide'))
    expect(ids()).toEqual(['TEE'])
    await wait()
    window.dispatchEvent(new Event('pagehide'))
    expect(ids()).toEqual(['TEE'])
  })

  test('the time begins after the load', async () => {
    const state = vi.spyOn(document, 'readyState', 'get').mockReturnValue('interactive')
    const { wait, ids } = open(body)
    state.mockRestore()
    await wait()
    expect(ids()).toEqual([])
    window.dispatchEvent(new Event('load'))
    await wait()
    expect(ids()).toEqual(['TEE'])
  })
})

describe('a router', () => {
  const go = async (path: string, { track }: ReturnType<typeof open>) => {
    history.pushState({}, '', path)
    track('viewHomepage', { event: 'view_page' }, { from: 'pageView' })
  }

  test('shows another product', async () => {
    const shop = open(jsonLd(product({ sku: 'A' })))
    await shop.wait()
    await go('/p/cup', shop)
    document.body.innerHTML = jsonLd(product({ sku: 'B' }))
    await shop.wait()
    expect(shop.ids().filter(Boolean)).toEqual(['A', 'B'])
  })

  test('leaves the description of the product in the page', async () => {
    const shop = open(jsonLd(product({ sku: 'A' })))
    await shop.wait()
    await go('/cart', shop)
    await shop.wait()
    expect(shop.ids().filter(Boolean)).toEqual(['A'])
  })
})

test.each([false, undefined])('nothing is reported if schemaOrg is %s', async (schemaOrg) => {
  const { wait, events } = open(jsonLd(product({ sku: 'TEE' })), { schemaOrg } as Partial<Config>)
  await wait()
  expect(events()).toEqual([])
})

test('runs once a page', async () => {
  const { state, wait, ids } = open(jsonLd(product({ sku: 'TEE' })))
  schemaOrg(...state)
  await wait()
  expect(ids()).toEqual(['TEE'])
})

// @vitest-environment happy-dom
import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { watchTrack } from '../../test/watchTrack.ts'
import type { Config } from '../config.ts'

type Push = (...pushes: unknown[]) => unknown
type Layer = Omit<unknown[], 'push'> & { push: Push }
const page = window as unknown as { [name: string]: unknown }

let name = ''
let pages = 0
beforeEach(() => {
  name = `layer${++pages}`
})

const layer = () => page[name] as Layer

/** A page on which the part has started. */
function open(config: Partial<Config> = {}) {
  const watched = watchTrack({ dataLayerName: name, ...config })
  watched.startDataLayer()
  return watched
}

const view = (...ids: unknown[]) => ({
  event: '__sm__view_product',
  product_id: ids.length ? ids[0] : '42',
})
const viewed = (id = '42') => ({ event: 'view_product', product_id: id })
const line = {
  event: '__sm__add_to_cart',
  product_id: 42,
  quantity: 2,
  variation: { id: '57', sku: 'TEE' },
}
const added = { ...line, event: 'add_to_cart' }

type Fixture = {
  id: string
  objects?: { [letter: string]: object }
  pushes: { t: number; push: unknown; note?: string; undefined_fields?: string[] }[]
  expect: { event?: string; dropped?: string; note?: string; why?: string }[]
}
const fixtures: Fixture[] = JSON.parse(
  readFileSync(`${import.meta.dirname}/../fixtures/storefront-pushes.json`, 'utf8'),
).fixtures

describe.each(fixtures)('storefront: $id', ({ objects, pushes, expect: expected }) => {
  const toPush = ({ push, undefined_fields = [] }: Fixture['pushes'][number]) =>
    typeof push === 'string'
      ? objects?.[push]
      : Object.assign({}, push, Object.fromEntries(undefined_fields.map((key) => [key, undefined])))
  const events = expected.filter(({ event }) => event).map(({ note: _, ...fields }) => fields)
  const drops = expected.flatMap(({ dropped }) => dropped ?? [])

  test.each([
    ['after every push', pushes.length],
    ['before every push', 0],
    ['in the middle', Math.ceil(pushes.length / 2)],
    ['at its place in the page', pushes.filter(({ t }) => t < 0).length],
  ])('script %s', async (_when, early) => {
    page[name] = []
    layer().push(...pushes.slice(0, early).map(toPush))
    const { events: accepted, dropped } = open()
    for (const push of pushes.slice(early)) layer().push(toPush(push))
    expect(accepted()).toEqual(events)
    const names: { [operation: string]: string } = { setEmail: 'set_email' }
    expect((await dropped()).map(({ operation = '' }) => names[operation] ?? operation)).toEqual(
      drops,
    )
  })
})

test('makes the array if there is none', () => {
  const { events } = open()
  expect(layer()).toHaveLength(0)
  layer().push(view())
  expect(events()).toEqual([viewed()])
})

test('is called dataLayer by default', () => {
  watchTrack().startDataLayer()
  expect(page.dataLayer).toBeInstanceOf(Array)
  delete page.dataLayer
})

test('keeps an existing array with its content', () => {
  const mine = [view(), 'text', null, undefined, 5, () => {}, line]
  page[name] = mine
  const { events } = open()
  expect(layer()).toBe(mine)
  expect(mine).toHaveLength(7)
  expect(events()).toEqual([viewed(), added])
})

test.each([
  ['an element', () => document.createElement('form')],
  ['text', () => 'x'],
  ['an object', () => ({ push: 5 })],
])('leaves %s of that name alone', (_kind, make) => {
  const there = make()
  page[name] = there
  const { events } = open()
  expect(page[name]).toBe(there)
  expect(events()).toEqual([])
})

test('reads a frozen array and does not throw', () => {
  page[name] = Object.freeze([view()])
  expect(open().events()).toEqual([viewed()])
})

test('push gets all arguments, and its result is returned', () => {
  const got: unknown[] = []
  page[name] = []
  layer().push = (...pushes) => {
    got.push(...pushes)
    return 42
  }
  const { events } = open()
  const other = { event: 'x' }
  const push = view()
  expect(layer().push(push, other)).toBe(42)
  expect(got).toEqual([push, other])
  expect(got[0]).toBe(push)
  expect(events()).toEqual([viewed()])
})

test('returns the length if push is not wrapped by others', () => {
  open()
  expect(layer().push(view(), {})).toBe(2)
  expect(layer().push()).toBe(2)
})

test('a tag manager that wraps push later and shortens the array', () => {
  const { events } = open()
  const before = layer().push
  layer().push = function (this: unknown, ...pushes) {
    const length = before.apply(this, pushes)
    while (layer().length > 2) layer().shift()
    return length
  }
  for (let id = 1; id <= 6; id++) layer().push(view(id))
  expect(events()).toEqual([1, 2, 3, 4, 5, 6].map((id) => viewed(`${id}`)))
})

test('an error of another wrapper reaches the page, and the event is accepted', () => {
  page[name] = []
  layer().push = () => {
    throw new Error('theirs')
  }
  const { events } = open()
  expect(() => layer().push(view())).toThrow('theirs')
  expect(events()).toEqual([viewed()])
})

test.each([
  [
    'a getter that throws',
    () => Object.defineProperty({}, 'event', { get: fail, enumerable: true }),
  ],
  [
    'a field that throws',
    () => Object.defineProperty(view(), 'phone', { get: fail, enumerable: true }),
  ],
  ['a proxy that throws', () => new Proxy({}, { get: fail })],
  ['a big integer', () => view(1n)],
  ['a symbol', () => view(Symbol('x'))],
])('never throws: %s', (_kind, make) => {
  const { events } = open()
  expect(layer().push(make())).toBe(1)
  expect(events()).toEqual([])
  layer().push(view())
  expect(events()).toEqual([viewed()])
})

const fail = () => {
  throw new Error('the page is broken')
}

test.each([
  ['nothing', {}],
  ['a tag manager', { 'gtm.start': 1, event: 'gtm.js' }],
  ['GA4', { event: 'add_to_cart', ecommerce: { items: [{ item_id: '42' }] } }],
  ['a null reset', { ecommerce: null }],
  ['a bare name', { event: 'search', search_term: 'x' }],
  ['one underscore', { event: '__sm_view_homepage' }],
  ['an event name that is not text', { event: { toString: (): string => '__sm__search' } }],
  ['an order without a name', { saveOrderInfo: { event: '__sm__order' } }],
  ['a list', ['event', '__sm__search', { search_term: 'x' }]],
])('ignores %s without a notice', async (_kind, push) => {
  const { events, dropped } = open()
  layer().push(push)
  expect(events()).toEqual([])
  expect(await dropped()).toEqual([])
})

test.each(['something', 'constructor', 'addtocart', ''])(
  'an unknown name after the prefix causes a notice: %s',
  async (operation) => {
    const { events, dropped } = open()
    const push = { event: `__sm__${operation}` }
    layer().push(push)
    expect(events()).toEqual([])
    expect(await dropped()).toEqual([{ operation, reason: 'invalid', where: push }])
  },
)

test('without a prefix, unknown names cause no notices', async () => {
  const { events, dropped } = open({ dataLayerPrefix: '' })
  layer().push({ event: 'gtm.js' }, { event: 'view_homepage' })
  expect(events()).toEqual([{ event: 'view_homepage' }])
  expect(await dropped()).toEqual([])
})

test.each([[undefined], [null]])(
  'a line whose variation is %s is its own variation',
  (variation) => {
    const { events } = open()
    layer().push({ ...line, variation })
    expect(events()).toEqual([{ ...added, variation: { id: '42', sku: '42' } }])
  },
)

describe('the same object', () => {
  test('pushed again with the same content is one event', () => {
    const { events } = open()
    const push = view()
    layer().push(push)
    layer().push(push, push)
    expect(events()).toHaveLength(1)
  })

  test('pushed again after a tag manager has marked it is one event', () => {
    const { events } = open()
    const push = view()
    layer().push(push)
    Object.assign(push, { 'gtm.uniqueEventId': 7 })
    layer().push(push)
    expect(events()).toHaveLength(1)
  })

  test('with changed content is new', () => {
    const { events } = open()
    const push = { ...line }
    layer().push(push)
    push.quantity = 3
    layer().push(push)
    expect(events()).toEqual([added, { ...added, quantity: 3 }])
  })

  test('changed after its push, the event stays as it was', () => {
    const { events } = open()
    const push = { ...line, variation: { ...line.variation } }
    layer().push(push)
    push.variation.id = 'other'
    window.dispatchEvent(new Event('load'))
    expect(events()).toEqual([added])
  })

  test('other objects with the same content are further events', () => {
    const { events } = open()
    layer().push({ ...line })
    layer().push({ ...line })
    expect(events()).toEqual([added, added])
  })
})

describe('another array', () => {
  test('is read at once, with its content', () => {
    const { events } = open()
    page[name] = [view(1)]
    layer().push(view(2))
    expect(events()).toEqual([viewed('1'), viewed('2')])
    expect(layer()).toHaveLength(2)
  })

  test('does not repeat objects of the old one', () => {
    const { events } = open()
    layer().push(view(1))
    page[name] = [...layer(), view(2)]
    expect(events()).toEqual([viewed('1'), viewed('2')])
  })

  test('the first array assigned again is not read twice', () => {
    const { events } = open()
    const old = layer()
    page[name] = []
    page[name] = old
    layer().push(view())
    expect(events()).toEqual([viewed()])
  })

  test('the array assigned to itself changes nothing', () => {
    const { events } = open()
    page[name] = page[name] || []
    layer().push(view())
    expect(events()).toEqual([viewed()])
  })

  test('is made again after it was set to null', () => {
    const { events } = open()
    page[name] = null
    layer().push(view())
    expect(events()).toEqual([viewed()])
  })

  test('in a variable that can have no accessor is found at a click', () => {
    Object.defineProperty(page, name, { value: [], writable: true, enumerable: true })
    const { events } = open()
    layer().push(view(1))
    page[name] = [view(2)]
    expect(events()).toEqual([viewed('1')])
    document.body.click()
    layer().push(view(3))
    expect(events()).toEqual([viewed('1'), viewed('2'), viewed('3')])
  })
})

describe('fields', () => {
  test.each([
    ['a number', 42, '42'],
    ['text', ' 00042 ', '00042'],
    ['a combination', '12_34', '12_34'],
  ])('a viewed product as %s', (_kind, given, product_id) => {
    const { events } = open()
    layer().push(view(given))
    expect(events()).toEqual([viewed(product_id)])
  })

  test.each([[0], [Number.NaN], [''], ['  '], [undefined], [null], [['42']], [{}], [true]])(
    'no viewed product: %o',
    async (given) => {
      const { events, dropped } = open()
      layer().push(view(given))
      expect(events()).toEqual([])
      expect(await dropped()).toMatchObject([{ operation: 'viewProduct', reason: 'invalid' }])
    },
  )

  test.each([
    ['product_id as digits', { product_id: '0042' }],
    ['quantity as digits', { quantity: ' 2 ' }],
    ['qty', { quantity: undefined, qty: '2' }],
    ['variation as numbers', { variation: { id: 57, sku: 'TEE' } }],
    ['fields of other operations', { url: '/relative', did: 5, price: 3, source: {} }],
  ])('a line with %s', (_kind, fields) => {
    const { events } = open()
    layer().push({ ...line, ...fields })
    expect(events()).toEqual([added])
  })

  test.each([
    ['product_id', { product_id: '12_34' }],
    ['product_id', { product_id: 0 }],
    ['product_id', { product_id: undefined }],
    ['product_id', { product_id: '820982911946154508' }],
    ['quantity', { quantity: undefined }],
    ['quantity', { quantity: '0.5' }],
    ['quantity', { quantity: '2,5' }],
    ['quantity', { quantity: [2] }],
    ['quantity', { quantity: -1 }],
    ['variation.id', { variation: { sku: 'TEE' } }],
    ['variation.sku', { variation: { id: '57', sku: ' ' } }],
    ['variation.id', { variation: 'x' }],
  ])('a line without a valid %s is refused: %o', async (path, fields) => {
    const { events, dropped } = open()
    const push = { ...line, ...fields }
    layer().push(push)
    expect(events()).toEqual([])
    const [notice] = await dropped()
    expect(notice).toMatchObject({ operation: 'addToCart', reason: 'invalid', where: push })
    expect(notice?.error?.issues.map((issue) => issue.path)).toContain(path)
  })

  test.each(['add_to_wishlist', 'remove_from_wishlist'])(
    '%s without a quantity is one',
    (event) => {
      const { events } = open()
      const { quantity: _, ...rest } = line
      layer().push({ ...rest, event: `__sm__${event}` })
      layer().push({ ...line, event: `__sm__${event}` })
      expect(events()).toMatchObject([
        { event, quantity: 1 },
        { event, quantity: 2 },
      ])
    },
  )

  test.each([
    ['pantofi', 'pantofi'],
    ['a &#38; &#34;b&#34;', 'a & "b"'],
    ['Men&#124;Shoes &#x26; &#X1F600;', 'Men|Shoes & 😀'],
    ['&amp;&lt;&gt;&quot;&apos;', '&<>"\''],
    ['&amp;#38; &#38;amp;', '&#38; &amp;'],
    ['&nbsp; &#; &#99999999; &AMP; & &amp', '&nbsp; &#; &#99999999; &AMP; & &amp'],
    [404, '404'],
  ])('search term %j is %j', (given, search_term) => {
    const { events } = open()
    layer().push({ event: '__sm__search', search_term: given })
    expect(events()).toEqual([{ event: 'search', search_term }])
  })

  test.each([[['a']], [''], [null], [undefined], [{}]])('no search term: %o', (given) => {
    const { events } = open()
    layer().push({ event: '__sm__search', search_term: given })
    expect(events()).toEqual([])
  })

  test('inherited fields do not count', async () => {
    const polluted = Object.prototype as { [name: string]: unknown }
    try {
      Object.assign(polluted, { search_term: 'evil', phone: '1', id: 'evil', toJSON: fail })
      const { events } = open()
      layer().push({ event: '__sm__search' }, { ...line, variation: { sku: 'TEE' } })
      layer().push({ event: '__sm__view_homepage' })
      delete polluted.toJSON
      expect(events().map(({ event }) => event)).toEqual(['view_homepage'])
    } finally {
      for (const key of ['search_term', 'phone', 'id', 'toJSON']) delete polluted[key]
    }
  })
})

test.each(['view_category', 'view_brand'])('%s is a page event of its own name', (event) => {
  const { events } = open({ eventPrefix: 'shop_' })
  layer().push({ event: `__sm__${event}`, category: 'Men|Shoes', name: 'Acme' })
  expect(events()).toEqual([{ event: `shop_${event}` }])
})

test('an order is not sent, with a notice', async () => {
  const { events, dropped } = open()
  layer().push({ event: '__sm__order', number: 7, email_address: 'ana@shop.example' })
  expect(events()).toEqual([])
  expect(await dropped()).toMatchObject([{ operation: 'order', reason: 'invalid' }])
})

describe('set_phone', () => {
  const email = (address = 'ana@shop.example') => ({
    event: '__sm__set_email',
    email_address: address,
  })
  const known = (phone = '', email_address = 'ana@shop.example') => ({
    event: 'set_email',
    email_address,
    firstname: '',
    lastname: '',
    phone,
  })

  test('after set_email: set_email is sent again with the number', () => {
    const { events } = open()
    layer().push(email(), { event: '__sm__set_phone', phone: ' 0722 000 000 ' })
    expect(events()).toEqual([known(), known('0722 000 000')])
  })

  test('before set_email: a notice, and the number is sent with set_email, once', async () => {
    const { events, dropped } = open()
    layer().push({ event: '__sm__set_phone', tmphone: 722 }, email(), email('bob@shop.example'))
    expect(events()).toEqual([known('722'), known('', 'bob@shop.example')])
    expect(await dropped()).toMatchObject([{ operation: 'set_phone' }])
  })

  test('waits for a set_email that is valid', () => {
    const { events } = open()
    layer().push({ event: '__sm__set_phone', phone: '722' }, email('ana@exmaple'), email())
    expect(events()).toEqual([known('722')])
  })

  test('does not replace the number of set_email', () => {
    const { events } = open()
    layer().push({ event: '__sm__set_phone', phone: '1' }, { ...email(), phone: '2' })
    expect(events()).toEqual([known('2')])
  })

  test.each([{ phone: '' }, {}, { phone: null }])(
    'without a number: a notice (%o)',
    async (fields) => {
      const { events, dropped } = open()
      layer().push(email(), { event: '__sm__set_phone', ...fields })
      expect(events()).toEqual([known()])
      expect(await dropped()).toMatchObject([{ operation: 'set_phone' }])
    },
  )
})

test('the URL is that at the time of the push', () => {
  const { urls } = open()
  history.replaceState({}, '', '#first')
  layer().push(view(1))
  history.replaceState({}, '', '#second')
  layer().push(view(2))
  expect(urls().map((url) => url.split('#')[1])).toEqual(['first', 'second'])
})

describe('settings', () => {
  test('off: no array is made, no push wrapped', () => {
    const { events } = open({ dataLayer: false })
    expect(name in page).toBe(false)
    expect(events()).toEqual([])
  })

  test('the prefix', () => {
    const { events } = open({ dataLayerPrefix: 'shop:' })
    layer().push(view(), { event: 'shop:view_homepage' })
    expect(events()).toEqual([{ event: 'view_homepage' }])
  })

  test('only keys with dataLayer on get events, and the array is wrapped once', () => {
    const { events, startDataLayer } = watchTrack(
      { key: 'AAAAAA', dataLayer: false, eventPrefix: 'a_' },
      { key: 'BBBBBB', dataLayerName: name, eventPrefix: 'b_' },
      { key: 'CCCCCC', eventPrefix: 'c_' },
    )
    page[name] = [view(1)]
    startDataLayer()
    layer().push(view(2))
    expect(events().map(({ event, product_id }) => `${event} ${product_id}`)).toEqual([
      'b_view_product 1',
      'c_view_product 1',
      'b_view_product 2',
      'c_view_product 2',
    ])
  })

  test('a reader that joins later reads what is there; the others do not read it again', () => {
    const { state, events, startDataLayer } = watchTrack({ dataLayerName: name })
    page[name] = [view(1)]
    startDataLayer()
    const read: unknown[] = []
    const reader = (push: object) => {
      read.push(push)
      return ''
    }
    const [, , , readers] = state
    readers.set(reader, new WeakMap())
    startDataLayer()
    layer().push(view(2))
    expect(read).toEqual([view(1), view(2)])
    expect(events()).toHaveLength(2)
  })
})

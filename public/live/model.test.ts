import { expect, test } from 'vitest'
import type { LiveEvent } from '../operator/feed.ts'
import { createHues } from './hues.ts'
import { cut, hasNoConsent, kindOf, MAX_SHOWN, pathOf, subjectOf } from './kinds.ts'
import { createModel, type Filter, MAX_COUNTED, MAX_EVENTS, MAX_LENGTH, MAX_ROWS } from './model.ts'

const NOW = 1_800_000_000_000
const ALL: Filter = { kinds: new Set(), did: '', words: '' }
/** Length of a usual event's JSON, UTF-16 units. */
const USUAL = 700
let made = 0

/** An event as the gateway streams it. */
function event(
  operation: string,
  did: string | null = 'a',
  more: Partial<LiveEvent> = {},
): LiveEvent {
  made++
  const payload = { did, event: operation, url: 'https://shop.example/a?b=1', ...more.payload }
  const times = { at: NOW - 1000, receivedAt: NOW - 500 }
  return {
    seq: made,
    id: `id-${made}`,
    operation,
    event: operation,
    did,
    ...times,
    ...more,
    payload,
  }
}

function modelWith(...events: LiveEvent[]) {
  const model = createModel(() => NOW)
  for (const one of events) model.add(one, USUAL)
  return model
}

test('an event that arrives again after a reconnection is counted once', () => {
  const one = event('search')
  const model = modelWith(one, one)
  expect(model.total()).toBe(1)
  expect(model.find(ALL)).toHaveLength(1)
})

test('the funnel counts events and distinct devices, and their share of the devices that viewed a product', () => {
  const model = modelWith(
    event('viewProduct', 'a'),
    event('viewProduct', 'a'),
    event('viewProduct', 'b'),
    event('addToCart', 'a'),
    event('addToCart', 'a'),
  )
  expect(model.funnel()).toMatchObject([
    { kind: 'viewProduct', events: 3, devices: 2, share: 1 },
    { kind: 'addToCart', events: 2, devices: 1, share: 0.5 },
    { kind: 'initiateCheckout', events: 0, devices: 0, share: 0 },
    { kind: 'saveOrder', one: 'order', events: 0, devices: 0, share: 0 },
  ])
})

const order = (number: string, email_address: string, at = NOW) =>
  event('saveOrder', null, { at, payload: { number, email_address, url: undefined } })
const giveAddress = (did: string, email_address: string, at = NOW) =>
  event('setEmail', did, { at, payload: { email_address } })

test('an order counts once, for the device that gave its address before it or up to an hour after it', () => {
  const HOUR_MS = 3_600_000
  const lastOf = (...events: LiveEvent[]) =>
    modelWith(event('viewProduct', 'a'), event('viewProduct', 'b'), ...events)
      .funnel()
      .at(-1)
  const custom = event('sendCustom', 'b', { payload: { email: ' ANN@shop.example' } })
  const none = { events: 1, devices: 0, share: 0 }
  const one = { events: 1, devices: 1, share: 0.5 }
  const ann = 'Ann@shop.example'
  expect(lastOf(order('1', ann))).toMatchObject(none)
  expect(lastOf(giveAddress('a', 'ann@shop.example'), order('1', ann))).toMatchObject(one)
  expect(lastOf(custom, order('1', ann), order('1', ann))).toMatchObject(one)
  expect(lastOf(order('1', ann), giveAddress('a', ann, NOW + HOUR_MS))).toMatchObject(one)
  expect(lastOf(order('1', ann), giveAddress('a', ann, NOW + HOUR_MS + 1))).toMatchObject(none)
  expect(lastOf(giveAddress('a', 'bob@shop.example'), order('1', ann))).toMatchObject(none)
  expect(lastOf(giveAddress('a', ''), order('1', ''))).toMatchObject(none)
  const both = [giveAddress('a', ann), giveAddress('b', ann), order('1', ann), order('2', ann)]
  expect(lastOf(...both)).toMatchObject({ events: 2, devices: 1 })
})

test('an event of a server is counted and has no device', () => {
  const payload = { email: 'ann@shop.example', event: 'birthday', url: undefined }
  const model = modelWith(event('sendCustomApi', null, { event: 'birthday', payload }))
  expect(model.count('sendCustomApi')).toBe(1)
  expect(model.deviceTotal()).toEqual({ count: 0, isMore: false })
  expect(model.devices(9)).toEqual([])
  const [record] = model.find(ALL)
  expect(record).toMatchObject({ kind: 'sendCustomApi', path: '' })
  expect(record && subjectOf(record)).toEqual({
    ...{ main: 'birthday', amount: '', more: 'ann@shop.example' },
  })
  expect(model.find({ ...ALL, did: 'a' })).toEqual([])
})

test('a funnel without product views has no shares', () => {
  const shares = modelWith(event('addToCart'))
    .funnel()
    .map(({ share }) => share)
  expect(shares).toEqual([null, null, null, null])
})

test('filters by kind, device and words, newest first', () => {
  const cart = event('addToCart', 'a', { payload: { variation: { id: '1', sku: 'MUG' } } })
  const model = modelWith(event('search', 'a'), cart, event('addToCart', 'b'))
  const found = (filter: Partial<Filter>) => model.find({ ...ALL, ...filter }).map(({ id }) => id)
  expect(found({})).toHaveLength(3)
  expect(found({ kinds: new Set(['search']) })).toHaveLength(1)
  expect(found({ kinds: new Set(['addToCart']), did: 'a' })).toEqual([cart.id])
  expect(found({ words: 'mug' })).toEqual([cart.id])
  expect(model.find(ALL)[0]?.did).toBe('b')
})

test('cleared events do not come back; reset forgets them', () => {
  const one = event('search')
  const model = modelWith(one)
  model.clear()
  expect(model.add(one, USUAL)).toBeUndefined()
  expect(model.total()).toBe(0)
  model.reset()
  expect(model.add(one, USUAL)).toBeDefined()
})

test('memory is bounded, but totals are not', () => {
  const model = createModel(() => NOW)
  const many = MAX_EVENTS * 2
  for (let i = 0; i < many; i++) model.add(event('search', `d${i}`), USUAL)
  expect(model.total()).toBe(many)
  expect(model.deviceTotal()).toEqual({ count: many, isMore: false })
  expect(model.find(ALL)).toHaveLength(MAX_ROWS)
  expect(model.devices(many).length).toBeLessThanOrEqual(2000)
  expect(model.devices(1)[0]?.did).toBe(`d${many - 1}`)
})

test('of large events, the newest are kept up to a total length', () => {
  const model = createModel(() => NOW)
  const most = 100
  for (let i = 0; i < 3 * most; i++) model.add(event('search', `d${i}`), MAX_LENGTH / most)
  expect(model.total()).toBe(3 * most)
  const kept = model.find(ALL)
  expect(kept).toHaveLength(most)
  expect(kept.map(({ did }) => did)).toEqual(
    Array.from({ length: most }, (_, i) => `d${3 * most - 1 - i}`),
  )
  expect(model.get(kept[most - 1]?.id ?? '')).toBe(kept[most - 1])
  model.add(event('search', 'huge'), 2 * MAX_LENGTH)
  expect(model.find(ALL).map(({ did }) => did)).toEqual(['huge'])
})

test('distinct devices are counted up to a bound; beyond it there is no share', () => {
  const model = createModel(() => NOW)
  for (let i = 0; i < MAX_COUNTED; i++) model.add(event('viewProduct', `d${i}`), USUAL)
  model.add(event('addToCart', 'd0'), USUAL)
  expect(model.deviceTotal()).toEqual({ count: MAX_COUNTED, isMore: false })
  expect(model.funnel()[1]).toMatchObject({ devices: 1, isMore: false, share: 1 / MAX_COUNTED })
  for (let i = 0; i < 9; i++) model.add(event('viewProduct', `made up ${i}`), USUAL)
  expect(model.deviceTotal()).toEqual({ count: MAX_COUNTED, isMore: true })
  expect(model.funnel()).toMatchObject([
    { devices: MAX_COUNTED, isMore: true, events: MAX_COUNTED + 9, share: null },
    { devices: 1, isMore: false, share: null },
    { devices: 0, isMore: false, share: null },
    { devices: 0, isMore: false, share: null },
  ])
  model.clear()
  expect(model.deviceTotal()).toEqual({ count: 0, isMore: false })
})

test('the last minute is measured by the gateway’s clock', () => {
  const model = modelWith(
    event('search', 'a', { receivedAt: NOW - 61_000 }),
    event('search', 'a', { receivedAt: NOW - 59_000 }),
    event('search', 'a', { receivedAt: NOW }),
  )
  expect(model.lastMinute(30).count).toBe(2)
  model.setServerClock(NOW + 5000)
  const { count, slots } = model.lastMinute(30)
  expect(count).toBe(1)
  expect(slots.reduce((sum, bars) => sum + bars, 0)).toBe(1)
})

test.each([
  [{ operation: 'viewHomepage', event: 'view_homepage' }, 'viewHomepage'],
  [{ operation: 'viewHomepage', event: 'shop_view_homepage' }, 'viewHomepage'],
  [{ operation: 'viewHomepage', event: 'view_page' }, 'page'],
  [{ operation: 'constructor', event: 'x' }, 'sendCustom'],
])('%o is the kind %s', (given, kind) => {
  expect(kindOf(given)).toBe(kind)
})

test.each([
  [{ product_id: 12, quantity: 2, variation: { id: '1', sku: 'S' } }, '#12', '× 2  S'],
  [{ search_term: 'tea' }, '“tea”', ''],
  [{ email_address: 'a@b.example', firstname: '', lastname: 'Pop' }, 'a@b.example', 'Pop'],
  [{ email: 'a@b.example' }, 'E', 'a@b.example'],
  [{ product_id: '7' }, '#7', ''],
  [{}, '', 'E'],
])('%o is about %s %s', (payload, main, more) => {
  expect(subjectOf({ kind: 'page', event: 'E', payload })).toEqual({ main, amount: '', more })
})

test.each([
  [
    'saveOrder',
    {
      ...{ number: '1001', total_value: '1234.50', currency: 'EUR', email_address: 'a@b.example' },
      products: [{ product_id: '12' }, { product_id: '15' }],
    },
    ['No. 1001', '€1,234.50', '2 products · a@b.example'],
  ],
  ['saveOrder', { number: 'A-7', products: [{}], email_address: '' }, ['No. A-7', '', '1 product']],
  ['saveOrder', {}, ['No. ?', '', '']],
  [
    'updateOrderStatus',
    { order_number: '1001', order_status: 'refunded' },
    ['No. 1001', '', 'refunded'],
  ],
  ['addSubscriber', { email: 'a@b.example', name: 'Ann Pop' }, ['a@b.example', '', 'Ann Pop']],
  ['addSubscriber', { email: 'a@b.example', firstname: 'Ann' }, ['a@b.example', '', 'Ann']],
  ['removeSubscriber', { email: 'a@b.example' }, ['a@b.example', '', '']],
  [
    'removeSubscriber',
    { email: 'a@b.example', channels: ['email', 'sms'] },
    ['a@b.example', '', 'email, sms'],
  ],
] as const)('%s of %o is about %o', (kind, payload, [main, amount, more]) => {
  expect(subjectOf({ kind, event: 'E', payload })).toEqual({ main, amount, more })
})

test.each([
  ['https://x.example/a/b?c=d#e', '/a/b?c=d#e'],
  ['HTTP://x.example', '/'],
  ['https://x.example?a', '/?a'],
  ['not an address', 'not an address'],
  // The host is not parsed, however long.
  [`https://${'漢'.repeat(43_000)}:x/a`, '/a'],
  [undefined, ''],
  [null, ''],
])('an address is shown as its path, other text as it is: %.40s', (url, path) => {
  expect(pathOf({ payload: { url } })).toBe(path)
})

test('long texts of a row are cut', () => {
  const long = '😀'.repeat(9 * MAX_SHOWN)
  const short = `${'😀'.repeat(MAX_SHOWN)}…`
  expect(cut(long)).toBe(short)
  expect(cut('😀'.repeat(MAX_SHOWN))).toBe('😀'.repeat(MAX_SHOWN))
  expect(cut('a'.repeat(MAX_SHOWN + 1))).toBe(`${'a'.repeat(MAX_SHOWN)}…`)
  expect(pathOf({ payload: { url: `https://x.example/${long}` } })).toHaveLength(2 * MAX_SHOWN)
  expect(pathOf({ payload: { url: long } })).toBe(short)
  for (const payload of [
    { search_term: long },
    { email_address: long, firstname: long, lastname: long },
    { email: long },
    { product_id: long },
    { product_id: 1, quantity: 1, variation: { sku: long } },
    {},
  ]) {
    const { main, more } = subjectOf({ kind: 'page', event: long, payload })
    expect(main.length + more.length).toBeLessThanOrEqual(2 * short.length)
  }
  const order = { number: long, total_value: long, currency: long, email_address: long }
  const { main, amount, more } = subjectOf({ kind: 'saveOrder', event: '', payload: order })
  expect(Math.max(main.length, amount.length, more.length)).toBeLessThanOrEqual(short.length)
})

test('a device keeps its hue, and devices that arrive together have different hues', () => {
  const hueOf = createHues()
  const hues = Array.from({ length: 12 }, (_, index) => hueOf(`device-${index}`))
  expect(hueOf('device-3')).toBe(hues[3])
  const apart = (a: number, b: number) => Math.min(Math.abs(a - b), 360 - Math.abs(a - b))
  for (const [index, hue] of hues.entries()) {
    if (index > 0) expect(apart(hue, hues[index - 1] ?? 0)).toBeGreaterThan(90)
    for (const other of hues.slice(0, index)) expect(apart(hue, other)).toBeGreaterThan(15)
  }
})

test.each([
  ['a UUID of version 8: the hash of a day', '0b5f6d3a-1f0c-8a00-9000-000000000000', true],
  ['a UUID of version 4: that of a browser', '0b5f6d3a-1f0c-4a00-8000-000000000000', false],
  ['of another variant', '0b5f6d3a-1f0c-8a00-1000-000000000000', false],
  ['an id of another script', 'a8-8a00-8000', false],
  ['longer than a UUID', '0b5f6d3a-1f0c-8a00-9000-0000000000000', false],
  ['none: a server sent it', null, false],
])('a device id that is %s', (_kind, did, expected) => {
  expect(hasNoConsent({ did })).toBe(expected)
})

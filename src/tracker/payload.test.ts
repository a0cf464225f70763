// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from 'vitest'
import { EVENT_NAMES } from '../contract/eventNames.ts'
import type { TrackingOperation } from '../contract/payloads.ts'
import type { Config } from './config.ts'
import { completePayload } from './payload.ts'

const config: Config = { key: 'DEMOSHOP', base: 'https://gw.example' }
const HERE = 'https://shop.example/p/42?color=red'
const DID = '11111111-2222-4333-8444-555555555555'

const complete = (operation: TrackingOperation, given?: unknown, more: Partial<Config> = {}) =>
  completePayload(operation, given, HERE, DID, { ...config, ...more })

afterEach(() => void vi.restoreAllMocks())

test('missing fields are filled in', () => {
  expect(complete('viewHomepage')).toEqual({
    did: DID,
    event: 'view_homepage',
    url: HERE,
    http_user_agent: navigator.userAgent,
    remote_addr: undefined,
    source: undefined,
  })
})

test.each(Object.entries(EVENT_NAMES))(
  'the event name of %s is %j, with the prefix',
  (operation, name) => {
    expect(complete(operation as TrackingOperation).event).toBe(name)
    expect(complete(operation as TrackingOperation, {}, { eventPrefix: 'eu_' }).event).toBe(
      name && `eu_${name}`,
    )
  },
)

test('a name in the settings replaces the usual one, with the prefix; the caller’s name replaces both', () => {
  const names = { events: { search: 'find' }, eventPrefix: 'eu_' }
  expect(complete('search', {}, names).event).toBe('eu_find')
  expect(complete('viewProduct', {}, names).event).toBe('eu_view_product')
  expect(complete('search', { event: 'look' }, names).event).toBe('look')
  expect(complete('sendCustom', { event: 'quiz' }, names).event).toBe('quiz')
})

test('given fields win', () => {
  const given = {
    did: 'd',
    event: 'e',
    url: 'https://other.example/',
    http_user_agent: 'A',
    remote_addr: '::1',
    source: 's',
    extra: 1,
  }
  expect(complete('viewHomepage', given, { source: 'web', remoteAddr: '::2' })).toEqual(given)
})

test.each([null, undefined])('a field given as %s counts as absent', (nothing) => {
  const given = {
    did: nothing,
    event: nothing,
    url: nothing,
    source: nothing,
    remote_addr: nothing,
  }
  expect(complete('viewHomepage', given, { source: 'web', remoteAddr: '::2' })).toEqual(
    complete('viewHomepage', {}, { source: 'web', remoteAddr: '::2' }),
  )
  expect(complete('viewHomepage', nothing)).toEqual(complete('viewHomepage'))
  expect(complete('setEmail', { firstname: nothing, phone: nothing })).toMatchObject({
    firstname: '',
    phone: '',
  })
})

test('empty text counts as given', () => {
  expect(complete('viewHomepage', { event: '', url: '' })).toMatchObject({ event: '', url: '' })
})

test('setEmail: the names and the phone may be left out', () => {
  expect(complete('setEmail', { email_address: 'a@b.example', firstname: 'Ann' })).toMatchObject({
    email_address: 'a@b.example',
    firstname: 'Ann',
    lastname: '',
    phone: '',
  })
  expect(complete('search')).not.toHaveProperty('phone')
})

test.each([
  [42, '42'],
  [0, '0'],
  ['00042', '00042'],
  [' x ', ' x '],
  // A number that is not a product id stays as it is, and the contract refuses it.
  [Number.NaN, Number.NaN],
  [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  [2 ** 53, 2 ** 53],
  [1.5, 1.5],
  [true, true],
])('product_id %j of viewProduct becomes %j', (given, expected) => {
  expect(complete('viewProduct', { product_id: given }).product_id).toBe(expected)
})

test('product_id of a line is left as it is', () => {
  expect(complete('addToCart', { product_id: 42 }).product_id).toBe(42)
})

test('URLs are masked, the page’s own and a given one', () => {
  const masked = 'https://shop.example/?token=***'
  const own = completePayload('search', {}, 'https://u:p@shop.example/?token=1', DID, config)
  expect(own.url).toBe(masked)
  expect(complete('search', { url: 'https://shop.example/?token=2' }).url).toBe(masked)
  expect(complete('search', { url: 'https://shop.example/?vip=2' }, { mask: ['vip'] }).url).toBe(
    'https://shop.example/?vip=***',
  )
  expect(complete('search', { url: 7 }).url).toBe(7)
})

test.each([
  ['at its fragment', `?a=1#${'x'.repeat(9000)}`, '?a=1'],
  ['then at its query', `?${'x'.repeat(9000)}#top`, ''],
  ['at its query alone', `?${'x'.repeat(9000)}`, ''],
  ['not where its characters are few', `?${'😀'.repeat(8000)}#a`, `?${'😀'.repeat(8000)}#a`],
  ['not at a ? in its fragment', `#a?${'x'.repeat(9000)}`, ''],
  ['when a mask has made it longer', `?a=1#${'&pin=1'.repeat(1300)}`, '?a=1'],
])('a URL that is too long is cut %s', (_, given, expected) => {
  const start = 'https://shop.example/p'
  expect(complete('search', { url: start + given }).url).toBe(start + expected)
  expect(completePayload('search', {}, start + given, DID, config).url).toBe(start + expected)
})

test('a path that is too long is not cut, so the event is invalid', () => {
  const { url } = complete('search', { url: `https://u:p@shop.example/${'x'.repeat(200_000)}?q#f` })
  expect(url).toMatch(/^https:\/\/shop\.example\/x{8192}/)
})

test.each([1, 'text', true, [], () => 0, document, new Event('click')])(
  'given something that is not an object of fields (%s)',
  (given) => {
    expect(complete('viewHomepage', given)).toMatchObject({ did: DID, event: 'view_homepage' })
  },
)

test('only own fields count, and __proto__ changes nothing', () => {
  const given = JSON.parse('{"__proto__": {"search_term": "x"}}')
  expect(Object.hasOwn(complete('search', given), 'search_term')).toBe(false)
  const inherited = Object.create({ search_term: 'x' })
  expect(complete('search', inherited).search_term).toBeUndefined()
})

test('the given object is not changed', () => {
  const given = Object.freeze({ product_id: 1, url: 'https://shop.example/?token=1' })
  complete('viewProduct', given)
  expect(given).toEqual({ product_id: 1, url: 'https://shop.example/?token=1' })
})

test('a field given as undefined is absent, also if Object.prototype has it', () => {
  const prototype = Object.prototype as { product_id?: number }
  prototype.product_id = 5
  const payload = complete('addToCart', { product_id: undefined, quantity: undefined })
  delete prototype.product_id
  expect(payload.product_id).toBeUndefined()
})

import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { makeForwardEvent } from '../../test/forwardEvents.ts'
import { DEFAULT_ORDER_SETTINGS } from '../customers/orderSettings.ts'
import { clientIdOf, type Ga4Hit, toGa4 } from './ga4Event.ts'
import type { Ga4Destination } from './ga4Settings.ts'
import type { ForwardEvent } from './kind.ts'

const SETTINGS: Ga4Destination = { measurementId: 'G-ABC1234567', apiSecret: 'secret-1' }
const { refundStatuses } = DEFAULT_ORDER_SETTINGS
const NOW = Date.UTC(2026, 10, 29, 13)

const map = (fields: Partial<ForwardEvent>, settings: Partial<Ga4Destination> = {}) =>
  toGa4(makeForwardEvent(1, fields), { ...SETTINGS, ...settings }, NOW, refundStatuses)

const hitOf = (...given: Parameters<typeof map>): Ga4Hit => {
  const { hit } = map(...given)
  if (!hit) throw new Error('It is not sent')
  return hit
}

const line = {
  product_id: 42,
  quantity: 2,
  variation: { id: '57', sku: 'MUG-RED' },
}

describe('an operation becomes', () => {
  const items = { items: [{ item_id: '42', item_variant: '57', quantity: 2 }] }
  test.each<[operation: string, fields: object, name: string, params: object]>([
    ['viewHomepage', {}, 'page_view', {}],
    ['viewProduct', { product_id: 'p1' }, 'view_item', { items: [{ item_id: 'p1' }] }],
    ['addToCart', line, 'add_to_cart', items],
    ['removeFromCart', line, 'remove_from_cart', items],
    ['addToWishlist', line, 'add_to_wishlist', items],
    ['removeFromWishlist', line, 'remove_from_wishlist', items],
    ['initiateCheckout', {}, 'begin_checkout', {}],
    ['search', { search_term: 'red mug' }, 'search', { search_term: 'red mug' }],
  ])('%s', (operation, fields, name, params) => {
    const payload = { product_id: undefined, ...fields }
    const { request, event } = hitOf({ operation, payload })
    expect(request).toEqual({
      client_id: clientIdOf('d1'),
      user_agent: 'Mozilla/5.0',
      consent: { ad_user_data: 'DENIED', ad_personalization: 'DENIED' },
    })
    expect(JSON.parse(JSON.stringify(event))).toEqual({
      name,
      timestamp_micros: (Date.UTC(2026, 10, 29, 12) + 1) * 1000,
      params: {
        event_id: '00000000-0000-7000-8000-000000000001',
        session_id: Date.UTC(2026, 10, 29) / 1000,
        engagement_time_msec: 1,
        page_location: 'https://shop.example/mug',
        ...params,
      },
    })
  })

  test.each(['setEmail', 'sendCustom', 'sendCustomApi'])('nothing by default: %s', (operation) =>
    expect(map({ operation })).toEqual({ refused: undefined }),
  )

  test('nothing if it has no device', () =>
    expect(map({ did: null })).toEqual({ refused: undefined }))

  test('what the setting says', () => {
    const events = { viewProduct: 'product_seen', search: false, setEmail: 'login' } as const
    expect(hitOf({}, { events }).event.name).toBe('product_seen')
    expect(map({ operation: 'search' }, { events })).toEqual({ refused: undefined })
    expect(hitOf({ operation: 'setEmail' }, { events }).event.name).toBe('login')
    expect(hitOf({ operation: 'initiateCheckout' }, { events }).event.name).toBe('begin_checkout')
  })

  test.each([
    ['newsletter-signup', 'newsletter_signup'],
    ['a'.repeat(60), 'a'.repeat(40)],
    ['7up', undefined],
    ['session_start', undefined],
  ])('the custom event %s under its own name', (event, expected) => {
    const mapped = map({ operation: 'sendCustom', event }, { events: { sendCustom: true } })
    if (expected) expect(mapped.hit?.event.name).toBe(expected)
    else expect(mapped).toEqual({ refused: `Google takes no event with the name ${event}` })
  })
})

test.each([
  [{}, { item_id: '42', item_variant: '57', quantity: 2 }],
  [{ itemId: 'sku' }, { item_id: 'MUG-RED', item_variant: '57', quantity: 2 }],
  [{ itemId: 'variation_id' }, { item_id: '57', item_variant: '57', quantity: 2 }],
] as const)('items with %j', (settings, item) => {
  const { event } = hitOf({ operation: 'addToCart', payload: line }, settings)
  expect(event.params).toMatchObject({ items: [item] })
})

test('a product without variations has no variant, and a view no sku', () => {
  const payload = { ...line, variation: { id: '42', sku: '42' } }
  const { event } = hitOf({ operation: 'addToCart', payload })
  expect(event.params).toMatchObject({ items: [{ item_id: '42', quantity: 2 }] })
  expect(JSON.stringify(event)).not.toContain('item_variant')
  expect(hitOf({}, { itemId: 'sku' }).event.params).toMatchObject({ items: [{ item_id: '42' }] })
})

test.each([
  ['72 hours old', NOW - 72 * 3_600_000, undefined],
  ['older', NOW - 72 * 3_600_000 - 1, 'It is older than 72 hours, and Google takes no such events'],
])('an event that is %s', (_, at, refused) => {
  const mapped = map({ at })
  if (refused) expect(mapped).toEqual({ refused })
  else expect(mapped.hit?.event.timestamp_micros).toBe(at * 1000)
})

test('an event from the future gets the time of now', () =>
  expect(hitOf({ at: NOW + 5_000 }).event.timestamp_micros).toBe(NOW * 1000))

test('the client id is the documented hash of the device id', () => {
  const bytes = createHash('sha256').update('d1').digest()
  expect(clientIdOf('d1')).toBe(`${bytes.readUInt32BE(0)}.${bytes.readUInt32BE(4)}`)
  expect(clientIdOf('d1')).toMatch(/^[1-9]\d*\.[1-9]\d*$/)
})

test('constant parameters are added, and replace none', () => {
  const { event } = hitOf({}, { params: { currency: 'EUR', event_id: 'mine', level: 3 } })
  expect(event.params).toMatchObject({ currency: 'EUR', level: 3 })
  expect(event.params).not.toMatchObject({ event_id: 'mine' })
})

test('consent is what the setting says', () =>
  expect(hitOf({}, { consent: { ad_user_data: 'GRANTED' } }).request.consent).toEqual({
    ad_user_data: 'GRANTED',
    ad_personalization: 'DENIED',
  }))

describe('who the visitor is', () => {
  const payload = {
    email_address: ' Ana.Pop@GMail.com ',
    firstname: 'Ana',
    lastname: 'Pop',
    phone: '+40 712 345 678',
  }
  const person = { operation: 'setEmail', payload }
  const events = { setEmail: 'login' }

  test('is not sent by default', () => {
    const text = JSON.stringify(hitOf(person, { events }))
    expect(text).not.toMatch(/ana|pop\b|712|203\.0\.113|"user_data|user_id|ip_override/i)
  })

  test('is sent as hashes if the setting says so', () => {
    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
    expect(hitOf(person, { events, userData: true }).request.user_data).toEqual({
      sha256_email_address: [sha256('anapop@gmail.com')],
      sha256_phone_number: [sha256('+40712345678')],
    })
    const other = {
      ...person,
      payload: { ...payload, email_address: 'Ana.Pop@x.ro', phone: '0712' },
    }
    expect(hitOf(other, { events, userData: true }).request.user_data).toEqual({
      sha256_email_address: [sha256('ana.pop@x.ro')],
    })
    expect(hitOf({}, { userData: true }).request).not.toHaveProperty('user_data')
  })

  test('is sent with the address if the setting says so', () =>
    expect(hitOf({}, { sendAddress: true }).request.ip_override).toBe('203.0.113.7'))
})

test('fields that were left out are missing', () => {
  const { request, event } = hitOf(
    { payload: { url: undefined, http_user_agent: undefined, remote_addr: undefined } },
    { sendAddress: true },
  )
  expect(Object.keys(request)).toEqual(['client_id', 'consent'])
  expect(event.params).not.toHaveProperty('page_location')
})

test('long texts are cut', () => {
  const payload = {
    url: `https://shop.example/${'a'.repeat(5_000)}`,
    search_term: '😀'.repeat(200),
  }
  const params = hitOf({ operation: 'search', payload }).event.params as Record<string, string>
  expect(params.page_location).toHaveLength(1_000)
  expect(params.search_term).toBe('😀'.repeat(100))
})

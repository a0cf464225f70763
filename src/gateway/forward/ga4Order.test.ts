import { safeParse } from 'valibot'
import { expect, test } from 'vitest'
import { DEFAULT_ORDER_SETTINGS } from '../customers/orderSettings.ts'
import { clientIdOf, type Ga4Hit, toGa4 } from './ga4Event.ts'
import { type Ga4Destination, ga4Settings } from './ga4Settings.ts'
import type { ForwardEvent } from './kind.ts'

const SETTINGS: Ga4Destination = { measurementId: 'G-ABC1234567', apiSecret: 'secret-1' }
const { refundStatuses } = DEFAULT_ORDER_SETTINGS
const NOW = Date.UTC(2026, 10, 29, 13)
const AT = Date.UTC(2026, 10, 29, 12)

const ORDER = {
  number: '1042',
  email_address: 'ana.pop@shop.example',
  phone: '+40712345678',
  firstname: 'Ana',
  lastname: 'Pop',
  city: 'Cluj',
  county: 'CJ',
  address: 'Strada Lungă 5',
  discount_value: '-5.00',
  discount_code: 'SPRING',
  shipping: '15.00',
  tax: '19.99',
  total_value: '1234.50',
  products: [
    {
      product_id: '42',
      price: '600.00',
      quantity: 2,
      variation_sku: 'MUG-RED',
      price_minor: 60000,
    },
    { product_id: '43', price: '19.50', quantity: 1.5, price_minor: 1950 },
  ],
  currency: 'RON',
  minor: { discount_value: -500, shipping: 1500, tax: 1999, total_value: 123450 },
}

const recordOf = (
  operation: string,
  payload: object,
  fields: Partial<ForwardEvent> = {},
): ForwardEvent => ({
  ...{ seq: 1, customer: 'acme', id: '00000000-0000-7000-8000-000000000001', operation },
  ...{ at: AT, receivedAt: AT, event: operation, did: null, bot: false, version: null },
  payload: payload as ForwardEvent['payload'],
  ...fields,
})

function hitOf(event: ForwardEvent, settings: Partial<Ga4Destination> = {}): Ga4Hit {
  const { hit } = toGa4(event, { ...SETTINGS, ...settings }, NOW, refundStatuses)
  if (!hit) throw new Error('It is not sent')
  return hit
}

const SHARED = {
  event_id: '00000000-0000-7000-8000-000000000001',
  session_id: Date.UTC(2026, 10, 29) / 1000,
  engagement_time_msec: 1,
  transaction_id: '1042',
}

test('an order becomes a purchase, without personal data', () => {
  const { request, event } = hitOf(recordOf('saveOrder', ORDER))
  expect(request).toEqual({
    client_id: clientIdOf('order 1042'),
    consent: { ad_user_data: 'DENIED', ad_personalization: 'DENIED' },
  })
  expect(event).toEqual({
    name: 'purchase',
    timestamp_micros: AT * 1000,
    params: {
      ...SHARED,
      value: 1234.5,
      currency: 'RON',
      shipping: 15,
      tax: 19.99,
      coupon: 'SPRING',
      items: [
        { item_id: '42', price: 600, quantity: 2 },
        { item_id: '43', price: 19.5, quantity: 1.5 },
      ],
    },
  })
  expect(JSON.stringify({ request, event })).not.toMatch(/ana|pop|712345|cluj|lung/i)
})

test('the items have the SKU if the setting says so and there is one', () => {
  const { event } = hitOf(recordOf('saveOrder', ORDER), { itemId: 'sku' })
  expect(event.params).toMatchObject({ items: [{ item_id: 'MUG-RED' }, { item_id: '43' }] })
})

test('a purchase has at most 200 items, and no empty coupon', () => {
  const products = Array.from({ length: 300 }, () => ORDER.products[0])
  const { event } = hitOf(recordOf('saveOrder', { ...ORDER, products, discount_code: '' }))
  const { items, ...rest } = event.params as { items: unknown[] }
  expect(items).toHaveLength(200)
  expect(rest).not.toHaveProperty('coupon')
})

test('what the destination leaves out is missing', () => {
  const { number, currency } = ORDER
  const { event } = hitOf(recordOf('saveOrder', { number, currency }))
  expect(event.params).toEqual({ ...SHARED, currency: 'RON' })
})

test('the address goes along as a hash only if the setting says so', () => {
  const { request } = hitOf(recordOf('saveOrder', ORDER), { userData: true })
  expect(request.user_data).toEqual({
    sha256_email_address: [expect.stringMatching(/^[\da-f]{64}$/)],
    sha256_phone_number: [expect.stringMatching(/^[\da-f]{64}$/)],
  })
})

const status = (order_status: string, fields: Partial<ForwardEvent> = {}) =>
  recordOf('updateOrderStatus', { order_number: '1042', order_status }, fields)

test.each([
  ['refunded', {}],
  [' Cancelled ', {}],
  ['Rambursat', { refundStatuses: ['RAMBURSAT'] }],
  ['Chargeback', { refundStatuses: undefined }],
])('the status %j becomes a refund of the same user', (text, settings) => {
  const { request, event } = hitOf(status(text), settings)
  expect(request.client_id).toBe(clientIdOf('order 1042'))
  expect(event).toMatchObject({ name: 'refund', params: SHARED })
})

test('a refund has the value of the order, if it is known', () => {
  const { event } = hitOf(status('refunded', { order: ORDER }))
  expect(event.params).toEqual({ ...SHARED, value: 1234.5, currency: 'RON' })
  expect(hitOf(status('refunded')).event.params).toEqual(SHARED)
})

test.each([
  ['a status that is no refund', status('shipped'), {}],
  ['a status that is none by the setting', status('refunded'), { refundStatuses: [] }],
  ['an order by the setting', recordOf('saveOrder', ORDER), { events: { saveOrder: false } }],
  ['a subscriber', recordOf('addSubscriber', { email: 'ana@shop.example' }), {}],
  ['a removed subscriber', recordOf('removeSubscriber', { email: 'ana@shop.example' }), {}],
] as const)('%s is not sent', (_, event, settings) => {
  expect(toGa4(event, { ...SETTINGS, ...settings } as Ga4Destination, NOW, refundStatuses)).toEqual(
    {
      refused: undefined,
    },
  )
})

test('names can be others', () => {
  const events = { saveOrder: 'sold', updateOrderStatus: 'sent_back' } as const
  expect(hitOf(recordOf('saveOrder', ORDER), { events }).event.name).toBe('sold')
  expect(hitOf(status('refunded'), { events }).event.name).toBe('sent_back')
})

test.each([
  [{ refundStatuses: 'refunded' }, 'refundStatuses'],
  [{ refundStatuses: [''] }, 'refundStatuses'],
  [{ events: { addSubscriber: 'sign_up' } }, 'events'],
])('the settings %j are refused', (given, field) => {
  const { issues } = safeParse(ga4Settings, { ...SETTINGS, ...given })
  expect(issues?.[0]?.path?.[0]?.key).toBe(field)
})

import { expect, test } from 'vitest'
import type { LogRecord } from '../collect/eventLog.ts'
import { prepareEvent } from './prepareEvent.ts'

const ORDER = {
  number: '1042',
  email_address: 'ana@shop.example',
  phone: '',
  firstname: 'Ana',
  lastname: 'Pop',
  city: 'Cluj',
  county: '',
  address: 'Strada Lungă 5',
  discount_value: '0.00',
  discount_code: '',
  shipping: '15.00',
  tax: '0.00',
  total_value: '1234.50',
  products: [
    { product_id: '42', price: '617.25', quantity: 2, variation_sku: '', price_minor: 61725 },
  ],
  currency: 'RON',
  minor: { discount_value: 0, shipping: 1500, tax: 0, total_value: 123450 },
}

const record = (operation: string, payload: object): LogRecord => ({
  ...{ seq: 1, customer: 'acme', id: 'x', at: 1, receivedAt: 1, operation, event: 'save_order' },
  ...{ did: null, bot: false, version: null, payload: JSON.stringify(payload) },
})

test('an order goes on as it is stored, without what is left out', () => {
  const { address: _, city: __, ...rest } = ORDER
  const leaveOut = ['address', 'city', 'name', 'did']
  expect(prepareEvent(record('saveOrder', ORDER), { leaveOut })).toMatchObject({
    ok: true,
    event: { operation: 'saveOrder', event: 'save_order', did: null, payload: rest },
  })
})

test('an amount that is left out is not there in minor units either', () => {
  const { total_value: _, tax: __, minor, ...rest } = ORDER
  const { total_value: ___, tax: ____, ...left } = minor
  const leaveOut = ['total_value', 'tax']
  const prepared = prepareEvent(record('saveOrder', ORDER), { leaveOut })
  expect(prepared.ok && prepared.event.payload).toEqual({ ...rest, minor: left })
  const status = record('updateOrderStatus', { order_number: '1042', order_status: 'refunded' })
  const later = prepareEvent(status, { leaveOut }, null, () => JSON.stringify(ORDER))
  expect(later.ok && later.event.order).toEqual({ ...rest, minor: left })
})

test('a mended order keeps its currency, and its minor units are those of the new amounts', () => {
  const patch = { total_value: '1,000.5', county: 'CJ' }
  const prepared = prepareEvent(record('saveOrder', ORDER), { leaveOut: [] }, patch)
  expect(prepared.ok && prepared.event.payload).toEqual({
    ...ORDER,
    county: 'CJ',
    total_value: '1000.50',
    minor: { ...ORDER.minor, total_value: 100050 },
  })
})

test.each<[string, object, object, string]>([
  ['saveOrder', ORDER, { total_value: '1.234,50' }, 'total_value'],
  ['saveOrder', ORDER, { total_value: '1.005' }, 'total_value'],
  ['saveOrder', ORDER, { number: null }, 'number'],
  [
    'updateOrderStatus',
    { order_number: '1', order_status: 'x' },
    { order_status: '' },
    'order_status',
  ],
  ['addSubscriber', { email: 'ana@shop.example' }, { email: 'ana' }, 'email'],
])('%s of %j with the patch %j is invalid', (operation, payload, patch, field) => {
  const prepared = prepareEvent(record(operation, payload), { leaveOut: [] }, patch as never)
  expect(prepared).toEqual({
    ok: false,
    reason: expect.stringMatching(`^The mended payload is invalid: .*${field}`),
  })
})

test('a status has the order as it was saved last, without what is left out', () => {
  const status = record('updateOrderStatus', { order_number: '1042', order_status: 'refunded' })
  const findOrder = (number: string) => (number === '1042' ? JSON.stringify(ORDER) : undefined)
  const { address: _, ...rest } = ORDER
  const prepared = prepareEvent(status, { leaveOut: ['address'] }, null, findOrder)
  expect(prepared.ok && prepared.event.order).toEqual(rest)
  const other = prepareEvent(status, { leaveOut: [] }, { order_number: '7' }, findOrder)
  expect(other.ok && other.event).not.toHaveProperty('order')
})

import { expect, test } from 'vitest'
import { orderingKeyOf } from './orderingKey.ts'

const keyOf = (operation: string, payload: unknown, did: string | null = null) =>
  orderingKeyOf({ seq: 7, operation, did, payload: JSON.stringify(payload) })

test.each<[operation: string, payload: unknown, key: string]>([
  ['saveOrder', { number: '1042', email_address: 'ana@shop.example' }, 'order 1042'],
  ['updateOrderStatus', { order_number: '1042', order_status: 'shipped' }, 'order 1042'],
  ['addSubscriber', { email: 'Ana@Shop.example' }, 'subscriber ana@shop.example'],
  ['removeSubscriber', { email: 'ana@shop.example' }, 'subscriber ana@shop.example'],
  // It is about no order, whatever fields it has.
  ['sendCustomApi', { email: 'ana@shop.example', event: 'quiz' }, 'event 7'],
  ['saveOrder', {}, 'event 7'],
  ['saveOrder', null, 'event 7'],
])('%s of %j stays in order with others of: %s', (operation, payload, key) => {
  expect(keyOf(operation, payload)).toBe(key)
})

test('an event stays in order with those of its device', () => {
  expect(keyOf('sendCustom', { email: 'ana@shop.example' }, 'd-1')).toBe('d-1')
})

test('a payload that can not be read has a key of its own', () => {
  expect(orderingKeyOf({ seq: 7, operation: 'saveOrder', did: null, payload: '{' })).toBe('event 7')
})

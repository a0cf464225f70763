import { randomInt } from 'node:crypto'
import type { LogEvent } from '../gateway/collect/eventLog.ts'
import { digestOf, type StoredOrder, type StoredSubscriber } from '../gateway/orders/orders.ts'
import { makeLogEvent } from './logEvents.ts'

export type RecordOperation =
  | 'saveOrder'
  | 'updateOrderStatus'
  | 'addSubscriber'
  | 'removeSubscriber'

/** A record of a shop's server. */
export const makeRecord = (
  customer: string,
  operation: RecordOperation,
  payload: object | string,
  given: Partial<LogEvent> = {},
): LogEvent =>
  makeLogEvent({
    ...{ customer, operation },
    event: operation.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    did: null,
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    ...given,
  })

/** An order. Another content is another total. */
export const makeOrder = (number: string, content = 1) => ({
  number,
  email_address: 'anna@example.org',
  total_value: `${content}.00`,
})

/** Numbers and addresses of `makeRandomRecord`: few, so that most records meet one that is there. */
export const RANDOM_NUMBERS = Array.from({ length: 20 }, (_, i) => `N-${i}`)
export const RANDOM_ADDRESSES = Array.from({ length: 20 }, (_, i) => `a${i}@example.org`)

/** A record of one of few orders or subscribers, with one of few contents. */
export function makeRandomRecord(customer: string): LogEvent {
  const given = { receivedAt: 1_700_000_000_000 + randomInt(1_000_000) }
  const number = RANDOM_NUMBERS[randomInt(RANDOM_NUMBERS.length)] as string
  const email = RANDOM_ADDRESSES[randomInt(RANDOM_ADDRESSES.length)]
  switch (randomInt(4)) {
    case 0:
      return makeRecord(customer, 'saveOrder', makeOrder(number, randomInt(3)), given)
    case 1: {
      const order_status = `status ${randomInt(3)}`
      return makeRecord(
        customer,
        'updateOrderStatus',
        { order_number: number, order_status },
        given,
      )
    }
    case 2:
      return makeRecord(customer, 'addSubscriber', { email, firstname: `${randomInt(3)}` }, given)
    default:
      return makeRecord(customer, 'removeSubscriber', { email }, given)
  }
}

type Read = Pick<LogEvent, 'operation' | 'payload' | 'receivedAt'> & { readonly seq: number }

/** What follows from the records of a customer, in order: computed in the plainest way. */
export function statesFrom(records: readonly Read[]) {
  const orders = new Map<string, StoredOrder>()
  const subscribers = new Map<string, StoredSubscriber>()
  for (const { operation, payload, receivedAt, seq } of records) {
    const fields = JSON.parse(payload)
    const digest = digestOf(payload)
    const isEqualTo = (other: Uint8Array) => Buffer.compare(digest, other) === 0
    if (operation === 'saveOrder') {
      const last = orders.get(fields.number)
      const isEqual = last !== undefined && isEqualTo(last.digest)
      orders.set(fields.number, {
        ...{ digest, seq },
        status: last?.status ?? null,
        versions: (last?.versions ?? 0) + (isEqual ? 0 : 1),
        savedAt: isEqual ? last.savedAt : receivedAt,
      })
    } else if (operation === 'updateOrderStatus') {
      const none = { digest: new Uint8Array(), versions: 0, seq: 0, savedAt: 0 }
      const order = orders.get(fields.order_number) ?? none
      orders.set(fields.order_number, { ...order, status: fields.order_status })
    } else if (operation === 'addSubscriber' || operation === 'removeSubscriber') {
      const last = subscribers.get(fields.email)
      const isEqual = last?.operation === operation && isEqualTo(last.digest)
      subscribers.set(fields.email, {
        ...{ digest, operation, seq },
        subscribed: operation === 'addSubscriber',
        versions: (last?.versions ?? 0) + (isEqual ? 0 : 1),
        at: isEqual ? last.at : receivedAt,
      })
    }
  }
  return { orders, subscribers }
}

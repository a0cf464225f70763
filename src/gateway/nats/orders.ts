import type { Orders } from '../orders/orders.ts'
import type { Ask } from './ask.ts'

/** How long a call waits for the stored state of its order or subscriber, ms. Plugins give up after one second. */
export const FIND_MS = 100

/**
 * Orders and subscribers in the copy of the follower that holds the partition of their customer. Without an answer in
 * time nothing is found, so that the record is appended. If its content is not new, the copy counts no new version.
 *
 * @param partitionOf The partition of a customer.
 */
export const createNatsOrders = (ask: Ask, partitionOf: (customer: string) => number): Orders => ({
  find: (customer, number) =>
    ask(partitionOf(customer), 'findOrder', [customer, number], FIND_MS).catch(() => undefined),
  findSubscriber: (customer, email) =>
    ask(partitionOf(customer), 'findSubscriber', [customer, email], FIND_MS).catch(() => undefined),
  unsubscribed: (customer, range) =>
    ask(partitionOf(customer), 'listUnsubscribed', [customer, range]),
})

import type { Orders } from '../orders/orders.ts'
import type { Ask } from './ask.ts'

/** Time for the answer what is stored of an order or a subscriber, ms. */
const FIND_MS = 100

/**
 * Orders and subscribers in the copy of the follower that holds the partition of their customer. Without an answer in
 * time nothing is found, so that the record is appended. The copy then finds out that it is not new.
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

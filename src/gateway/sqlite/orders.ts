import type { Orders } from '../orders/orders.ts'
import type { Call } from './remote.ts'
import type { Store } from './store.ts'

/** Orders and subscribers in the SQLite file of the events, by the thread that writes it. */
export const createSqliteOrders = (call: Call<Store>): Orders => ({
  find: (customer, number) => call('findOrder', customer, number),
  findSubscriber: (customer, email) => call('findSubscriber', customer, email),
  unsubscribed: (customer, range) => call('listUnsubscribed', customer, range),
})

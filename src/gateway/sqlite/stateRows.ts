import type { Database } from 'better-sqlite3'
import { createOrderRows, ORDER_TABLE, type OrderRows } from './orderRows.ts'
import type { StateRecord, States } from './states.ts'
import { createSubscriberRows, SUBSCRIBER_TABLES, type SubscriberRows } from './subscriberRows.ts'

/** The states of orders and subscribers. Synchronous, like the store. */
export type StateRows = Omit<OrderRows, keyof States> &
  Omit<SubscriberRows, keyof States> & {
    /** See States. The values are those of the event's row. */
    addState(
      customer: string,
      operation: string,
      receivedAt: number,
      payload: Uint8Array,
      seq: number,
    ): void
    /** Call it before the event is removed, in the same transaction. An event without a state is ignored. */
    removeState(seq: number): void
  }

/** The tables of the second version of events.db. */
export const STATE_TABLES = ORDER_TABLE + SUBSCRIBER_TABLES

const OPERATIONS = ['saveOrder', 'updateOrderStatus', 'addSubscriber', 'removeSubscriber']
const known: ReadonlySet<unknown> = new Set(OPERATIONS)

/** Whether records of an operation have a state. Every stored event is asked, and nearly all have none. */
export const hasState = (operation: unknown): boolean => known.has(operation)

type Stored = Omit<StateRecord, 'fields' | 'payload'> & { readonly payload: Buffer }

export function createStateRows(database: Database): StateRows {
  const { add: addOrder, remove: removeOrder, ...orders } = createOrderRows(database)
  const {
    add: addSubscriber,
    remove: removeSubscriber,
    ...subscribers
  } = createSubscriberRows(database)
  const find = database.prepare<[number], Stored>(
    `SELECT customer, operation, received_at AS receivedAt, CAST(payload AS BLOB) AS payload FROM events
     WHERE seq = ? AND operation IN (${OPERATIONS.map((name) => `'${name}'`).join(', ')})`,
  )

  return {
    addState(customer, operation, receivedAt, payload, seq) {
      const record = { customer, operation, receivedAt, payload, fields: () => fieldsOf(payload) }
      addOrder(record, seq)
      addSubscriber(record, seq)
    },
    removeState(seq) {
      const stored = find.get(seq)
      if (!stored) return
      const record = { ...stored, fields: () => fieldsOf(stored.payload) }
      removeOrder(record, seq)
      removeSubscriber(record, seq)
    },
    ...orders,
    ...subscribers,
  }
}

/** A message of a cluster may have a payload that no gateway has written. It must not stop the copy. */
function fieldsOf(payload: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(payload).toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

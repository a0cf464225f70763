import type { Database } from 'better-sqlite3'
import { RECORD_OPERATIONS } from '../../contract/recordOperations.ts'
import { createOrderRows, ORDER_TABLE, type OrderRows } from './orderRows.ts'
import { fieldsOf, STATE_SECRET_TABLE, type StateRecord, type States } from './states.ts'
import { createSubscriberRows, SUBSCRIBER_TABLE, type SubscriberRows } from './subscriberRows.ts'

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
    /**
     * Makes the states of records that a follower of an earlier version has copied, from newer gateways: one step, in a
     * transaction. Call it before new records are added.
     *
     * @returns Whether there is more to do. False in a file that is not such a copy.
     */
    fillStates(): boolean
  }

/**
 * `states_to_fill`: in a copy that an earlier version has begun, the position up to which `fillStates` has read. Elsewhere
 * it has no row.
 */
const FILL_TABLE = `
  CREATE TABLE IF NOT EXISTS states_to_fill (
    after INTEGER NOT NULL
  ) STRICT;
  INSERT INTO states_to_fill (after) SELECT 0 FROM sqlite_schema WHERE name = 'copied';
`

/** The tables of the second version of events.db. */
export const STATE_TABLES = FILL_TABLE + STATE_SECRET_TABLE + ORDER_TABLE + SUBSCRIBER_TABLE

const known: ReadonlySet<unknown> = new Set(RECORD_OPERATIONS)

/** Whether records of an operation have a state. Every stored event is asked, and nearly all have none. */
export const hasState = (operation: unknown): boolean => known.has(operation)

const WITH_STATE = `operation IN (${RECORD_OPERATIONS.map((name) => `'${name}'`).join(', ')})`
const COLUMNS = 'customer, operation, received_at AS receivedAt, CAST(payload AS BLOB) AS payload'
/** Events that `fillStates` reads at once. */
const FILL_EVENTS = 5_000

type Stored = Omit<StateRecord, 'fields' | 'payload'> & { readonly payload: Buffer }

export function createStateRows(database: Database): StateRows {
  const { add: addOrder, remove: removeOrder, ...orders } = createOrderRows(database)
  const {
    add: addSubscriber,
    remove: removeSubscriber,
    ...subscribers
  } = createSubscriberRows(database)
  const find = database.prepare<[number], Stored>(
    `SELECT ${COLUMNS} FROM events WHERE seq = ? AND ${WITH_STATE}`,
  )

  const filledTo = database.prepare<[], number>('SELECT after FROM states_to_fill').pluck()
  const setFilled = database.prepare<[number]>('UPDATE states_to_fill SET after = ?')
  const endFill = database.prepare('DELETE FROM states_to_fill')
  const nth = database
    .prepare<[number, number], number>(
      'SELECT seq FROM events WHERE seq > ? ORDER BY seq LIMIT 1 OFFSET ?',
    )
    .pluck()
  const between = database.prepare<[number, number], Stored & { readonly seq: number }>(
    `SELECT seq, ${COLUMNS} FROM events WHERE seq > ? AND seq <= ? AND ${WITH_STATE} ORDER BY seq`,
  )

  function addState(
    ...[customer, operation, receivedAt, payload, seq]: Parameters<StateRows['addState']>
  ) {
    const record = {
      customer,
      operation,
      receivedAt,
      payload,
      fields: () => fieldsOf(textOf(payload)),
    }
    addOrder(record, seq)
    addSubscriber(record, seq)
  }

  const fillStates = database.transaction((): boolean => {
    const after = filledTo.get()
    if (after === undefined) return false
    const upTo = nth.get(after, FILL_EVENTS - 1)
    for (const { customer, operation, receivedAt, payload, seq } of between.all(
      after,
      upTo ?? Number.MAX_SAFE_INTEGER,
    ))
      addState(customer, operation, receivedAt, payload, seq)
    if (upTo === undefined) endFill.run()
    else setFilled.run(upTo)
    return upTo !== undefined
  })

  return {
    addState,
    fillStates: () => filledTo.get() !== undefined && fillStates.immediate(),
    removeState(seq) {
      const stored = find.get(seq)
      if (!stored) return
      const record = { ...stored, fields: () => fieldsOf(textOf(stored.payload)) }
      removeOrder(record, seq)
      removeSubscriber(record, seq)
    },
    ...orders,
    ...subscribers,
  }
}

const textOf = (payload: Uint8Array): string =>
  Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString()

import type { Database } from 'better-sqlite3'
import { digestOf, type StoredOrder } from '../orders/orders.ts'
import { createKeyHash, type States } from './states.ts'

/**
 * The current state of each order. `number` is a hash of its number. Its content is in the record at `seq`. `seq` is 0
 * if only a status has come, and `status_seq` is 0 if no status has come.
 */
export const ORDER_TABLE = `
  CREATE TABLE IF NOT EXISTS orders (
    customer TEXT NOT NULL,
    number BLOB NOT NULL,
    seq INTEGER NOT NULL,
    saved_at INTEGER NOT NULL,
    versions INTEGER NOT NULL,
    digest BLOB NOT NULL,
    status TEXT,
    status_seq INTEGER NOT NULL,
    PRIMARY KEY (customer, number)
  ) STRICT, WITHOUT ROWID;
`

/** Synchronous, like the store. */
export type OrderRows = States & {
  findOrder(customer: string, number: string): StoredOrder | undefined
  /** Positions of the newest save and the newest status of an order, 0 if none has come. Undefined if it is not known. */
  findNewest(customer: string, number: string): NewestOfOrder | undefined
}

export type NewestOfOrder = { readonly saveOrder: number; readonly updateOrderStatus: number }

export function createOrderRows(database: Database): OrderRows {
  const hash = createKeyHash(database)
  const save = database.prepare<[string, Uint8Array, number, number, Uint8Array]>(
    `INSERT INTO orders (customer, number, seq, saved_at, versions, digest, status, status_seq)
     VALUES (?, ?, ?, ?, 1, ?, NULL, 0)
     ON CONFLICT (customer, number) DO UPDATE SET
       seq = excluded.seq,
       saved_at = iif(digest = excluded.digest, saved_at, excluded.saved_at),
       versions = versions + (digest <> excluded.digest),
       digest = excluded.digest`,
  )
  const setStatus = database.prepare<[string, Uint8Array, string, number]>(
    `INSERT INTO orders (customer, number, seq, saved_at, versions, digest, status, status_seq)
     VALUES (?, ?, 0, 0, 0, x'', ?, ?)
     ON CONFLICT (customer, number) DO UPDATE SET status = excluded.status, status_seq = excluded.status_seq`,
  )
  const forgetSave = database.prepare<[string, Uint8Array, number]>(
    `UPDATE orders SET seq = 0, saved_at = 0, versions = 0, digest = x''
     WHERE customer = ? AND number = ? AND seq = ?`,
  )
  const forgetStatus = database.prepare<[string, Uint8Array, number]>(
    'UPDATE orders SET status = NULL, status_seq = 0 WHERE customer = ? AND number = ? AND status_seq = ?',
  )
  const forgetEmpty = database.prepare<[string, Uint8Array]>(
    'DELETE FROM orders WHERE customer = ? AND number = ? AND seq = 0 AND status_seq = 0',
  )
  // Another gateway of an earlier version removes events without their rows.
  const find = database.prepare<[string, Uint8Array], StoredOrder>(
    `SELECT digest, versions, status, seq, saved_at AS savedAt FROM orders
     WHERE customer = ? AND number = ?
       AND (seq = 0 OR EXISTS (SELECT 1 FROM events WHERE events.seq = orders.seq AND operation <> ''))`,
  )
  const newest = database.prepare<[string, Uint8Array], NewestOfOrder>(
    'SELECT seq AS saveOrder, status_seq AS updateOrderStatus FROM orders WHERE customer = ? AND number = ?',
  )

  return {
    add({ customer, operation, receivedAt, payload, fields }, seq) {
      if (operation === 'saveOrder') {
        const { number } = fields()
        if (typeof number === 'string')
          save.run(customer, hash(number), seq, receivedAt, digestOf(payload))
      } else if (operation === 'updateOrderStatus') {
        const { order_number: number, order_status: status } = fields()
        if (typeof number === 'string' && typeof status === 'string')
          setStatus.run(customer, hash(number), status, seq)
      }
    },
    remove({ customer, operation, fields }, seq) {
      const isSave = operation === 'saveOrder'
      if (!isSave && operation !== 'updateOrderStatus') return
      const { number, order_number } = fields()
      const text = isSave ? number : order_number
      if (typeof text !== 'string') return
      const key = hash(text)
      const { changes } = (isSave ? forgetSave : forgetStatus).run(customer, key, seq)
      if (changes > 0) forgetEmpty.run(customer, key)
    },
    findOrder: (customer, number) => find.get(customer, hash(number)),
    findNewest: (customer, number) => newest.get(customer, hash(number)),
  }
}

import { createHmac } from 'node:crypto'
import type { Database } from 'better-sqlite3'

/** A record of the log from which the state of an order or a subscriber follows. */
export type StateRecord = {
  readonly customer: string
  readonly operation: string
  /** ms since 1970. */
  readonly receivedAt: number
  /** UTF-8. */
  readonly payload: Uint8Array
  /** The fields of the payload. Empty if it is not a JSON object. */
  fields(): Readonly<Record<string, unknown>>
}

/** A table of states. A record of another operation changes nothing. */
export type States = {
  /** Call it with every record in the order of positions, in the transaction that stores it. */
  add(record: StateRecord, seq: number): void
  /** Removes the state if it is that of this record. Call it in the transaction that removes the record. */
  remove(record: StateRecord, seq: number): void
}

/** One row, made with the file: what `createKeyHash` uses. */
export const STATE_SECRET_TABLE = `
  CREATE TABLE IF NOT EXISTS state_secret (
    secret BLOB NOT NULL
  ) STRICT;
  INSERT INTO state_secret (secret) SELECT randomblob(32) WHERE NOT EXISTS (SELECT 1 FROM state_secret);
`

/** Bytes of a hash. With 16, the hashes of a billion keys are all different. */
const HASH_BYTES = 16

/**
 * The keys of states, an order's number and a subscriber's address, are stored as hashes with a secret of the file: SQLite
 * leaves copies of rows in free parts of pages, and they must not name a person after an erasure (docs/decisions.md,
 * "Retention").
 *
 * @param database Has STATE_SECRET_TABLE.
 */
export function createKeyHash(database: Database): (key: string) => Uint8Array {
  const select = database.prepare<[], Buffer>('SELECT secret FROM state_secret').pluck()
  const secret = select.get() as Buffer
  return (key) => createHmac('sha256', secret).update(key).digest().subarray(0, HASH_BYTES)
}

/**
 * The fields of a payload. Empty if it is not a JSON object: a message of a cluster may have a payload that no gateway
 * has written, and an error would stop the copy of its partition.
 */
export function fieldsOf(payload: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(payload)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** The number of the order that a record of `saveOrder` or `updateOrderStatus` is about. Undefined if it has none. */
export function orderNumberOf(payload: string): string | undefined {
  const { number, order_number = number } = fieldsOf(payload)
  return typeof order_number === 'string' ? order_number : undefined
}

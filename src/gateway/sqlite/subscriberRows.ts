import type { Database } from 'better-sqlite3'
import {
  digestOf,
  MAX_PAGE,
  type Page,
  type StoredSubscriber,
  type UnsubscribedRange,
} from '../orders/orders.ts'
import { addressOf } from '../people/addressOf.ts'
import { createKeyHash, type States } from './states.ts'

/**
 * The current state of each subscriber. `address` is a hash of the address, which is in the record at `seq`.
 * `unsubscribed_at` is NULL while the address is subscribed.
 */
export const SUBSCRIBER_TABLE = `
  CREATE TABLE IF NOT EXISTS subscribers (
    customer TEXT NOT NULL,
    address BLOB NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    versions INTEGER NOT NULL,
    operation TEXT NOT NULL,
    digest BLOB NOT NULL,
    unsubscribed_at INTEGER,
    PRIMARY KEY (customer, address)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS unsubscribed ON subscribers (customer, unsubscribed_at, seq)
    WHERE unsubscribed_at IS NOT NULL;
`

/** Whether a new record has the content of the stored one. */
const IS_EQUAL = '(operation = excluded.operation AND digest = excluded.digest)'

/** Synchronous, like the store. */
export type SubscriberRows = States & {
  findSubscriber(customer: string, email: string): StoredSubscriber | undefined
  listUnsubscribed(customer: string, range: UnsubscribedRange): Page
}

type Row = Omit<StoredSubscriber, 'subscribed'> & { readonly subscribed: 0 | 1 }
type New = {
  readonly customer: string
  readonly address: Uint8Array
  readonly seq: number
  readonly at: number
  readonly operation: string
  readonly digest: Uint8Array
  readonly unsubscribedAt: number | null
}
type Listed = { readonly at: number; readonly seq: number; readonly payload: string }

export function createSubscriberRows(database: Database): SubscriberRows {
  const hash = createKeyHash(database)
  const hashOf = (email: string) => hash(addressOf(email))
  /** @param unsubscribedAt The expression of its value, if there is a row. */
  const upsert = (unsubscribedAt: string) =>
    database.prepare<[New]>(
      `INSERT INTO subscribers (customer, address, seq, at, versions, operation, digest, unsubscribed_at)
       VALUES (@customer, @address, @seq, @at, 1, @operation, @digest, @unsubscribedAt)
       ON CONFLICT (customer, address) DO UPDATE SET
         seq = excluded.seq,
         at = iif(${IS_EQUAL}, at, excluded.at),
         versions = versions + NOT ${IS_EQUAL},
         operation = excluded.operation,
         digest = excluded.digest,
         unsubscribed_at = ${unsubscribedAt}`,
    )
  const subscribe = upsert('NULL')
  const unsubscribe = upsert(`iif(${IS_EQUAL}, unsubscribed_at, excluded.at)`)
  const keep = upsert('unsubscribed_at')
  const remove = database.prepare<[string, Uint8Array, number]>(
    'DELETE FROM subscribers WHERE customer = ? AND address = ? AND seq = ?',
  )
  // Another gateway of an earlier version removes events without their rows.
  const find = database.prepare<[string, Uint8Array], Row>(
    `SELECT digest, operation, unsubscribed_at IS NULL AS subscribed, versions, seq, at FROM subscribers
     WHERE customer = ? AND address = ?
       AND EXISTS (SELECT 1 FROM events WHERE events.seq = subscribers.seq AND events.operation <> '')`,
  )
  const list = database.prepare<[string, number, number, number, number], Listed>(
    `SELECT unsubscribed_at AS at, subscribers.seq, payload
     FROM subscribers INDEXED BY unsubscribed CROSS JOIN events ON events.seq = subscribers.seq
     WHERE subscribers.customer = ? AND (unsubscribed_at, subscribers.seq) > (?, ?) AND unsubscribed_at < ?
       AND events.operation <> ''
     ORDER BY unsubscribed_at, subscribers.seq LIMIT ?`,
  )

  return {
    add({ customer, operation, receivedAt, payload, fields }, seq) {
      if (operation !== 'addSubscriber' && operation !== 'removeSubscriber') return
      const { email, channels } = fields()
      if (typeof email !== 'string') return
      const isRemoval = operation === 'removeSubscriber'
      const isOfEmail = concernsEmail(channels)
      const put = isOfEmail ? (isRemoval ? unsubscribe : subscribe) : keep
      put.run({
        ...{ customer, seq, operation },
        address: hashOf(email),
        at: receivedAt,
        digest: digestOf(payload),
        unsubscribedAt: isOfEmail && isRemoval ? receivedAt : null,
      })
    },
    remove({ customer, operation, fields }, seq) {
      if (operation !== 'addSubscriber' && operation !== 'removeSubscriber') return
      const { email } = fields()
      if (typeof email === 'string') remove.run(customer, hashOf(email), seq)
    },
    findSubscriber(customer, email) {
      const row = find.get(customer, hashOf(email))
      return row && { ...row, subscribed: row.subscribed === 1 }
    },
    listUnsubscribed(customer, { from, to, after = { at: from, seq: -1 }, max = MAX_PAGE }) {
      const limit = Math.min(max, MAX_PAGE)
      const rows = list.all(customer, after.at, after.seq, to, limit)
      const last = rows.at(-1)
      return {
        addresses: rows.map(({ payload }) => JSON.parse(payload).email),
        ...(last && rows.length === limit && { next: { at: last.at, seq: last.seq } }),
      }
    },
  }
}

/** Whether a record is about e-mail: it names no channel, or this one among others. */
const concernsEmail = (channels: unknown): boolean =>
  !Array.isArray(channels) ||
  channels.length === 0 ||
  channels.some((name) => typeof name === 'string' && /^\s*e-?mail\s*$/i.test(name))

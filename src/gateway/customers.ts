import type { TrackingOperation } from '../contract/index.ts'
import { hashSecret, isSecret, makeCustomerId, makeRestKey, makeTrackingKey } from './keys.ts'
import type { PublicConfig } from './publicConfig.ts'
import { openDatabase } from './sqlite/database.ts'

/** A shop that uses the gateway. Its restKey is not here: only its hash is kept, in the store. */
export type Customer = {
  readonly customerId: string
  /** What people call it. May be empty. */
  readonly name: string
  /** Public key of its pages. */
  readonly trackingKey: string
  /** Origins whose pages may send events: `https://shop.example`, or `loopback`. */
  readonly origins: readonly string[]
  /** What the script on its pages is set to. */
  readonly config: PublicConfig
  /** The same as JSON, to see at a glance whether it changed. */
  readonly configText: string
  /** Its own event names, from `config.events`, by name. */
  readonly operations: ReadonlyMap<string, TrackingOperation>
  /** SHA-256 of the restKey. */
  readonly restKeyHash: Buffer
  /** When it was added, ms since 1970. */
  readonly createdAt: number
}

/** What may be said of a customer; an absent field stays as it is. */
export type CustomerChange = {
  readonly name?: string
  readonly origins?: readonly string[]
  readonly config?: PublicConfig
}

/** The customers of a gateway, in one SQLite file that the command line writes to as well. */
export type Customers = {
  /**
   * Adds a customer. Its id and its keys are made where they are not given; who moves here gives those
   * that its clients already have. A restKey that is given is one that is not blank, without white space
   * at its ends (clients cut that off), of at most 256 characters (our client takes no longer one).
   *
   * @returns The customer, and its restKey: the only time that it can be read.
   * @throws Error when the id or the tracking key is taken, or the restKey is none.
   */
  add(
    given?: CustomerChange & {
      readonly customerId?: string
      readonly trackingKey?: string
      readonly restKey?: string
    },
  ): { readonly customer: Customer; readonly restKey: string }
  list(): readonly Customer[]
  find(customerId: string): Customer | undefined
  findByTrackingKey(trackingKey: string): Customer | undefined
  /** False where there is no such customer. Its events stay in the log. */
  remove(customerId: string): boolean
  change(customerId: string, change: CustomerChange): Customer | undefined
  /** Makes a new key; the old one is worth nothing at once. Answers the new one. */
  rotate(customerId: string, key: 'rest' | 'tracking'): string | undefined
  close(): void
}

/** Whether a secret is the customer's restKey. */
export const hasRestKey = (customer: Customer, restKey: string): boolean =>
  isSecret(restKey, customer.restKeyHash)

/** The longest key that somebody may bring along, characters. */
export const MAX_KEY_LENGTH = 256

/** Whether a text can be a key that somebody brings along. */
export const isKey = (text: string): boolean =>
  text !== '' && text === text.trim() && text.length <= MAX_KEY_LENGTH

/** Changes made by another process (the command line) are seen after at most this, ms. */
const RECHECK_MS = 500
const MAX_CACHED = 10_000

const TABLE = `
  CREATE TABLE IF NOT EXISTS customers (
    customer_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    tracking_key TEXT NOT NULL UNIQUE,
    rest_key_hash BLOB NOT NULL,
    origins TEXT NOT NULL,
    config TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;
`

type Row = {
  readonly customer_id: string
  readonly name: string
  readonly tracking_key: string
  readonly rest_key_hash: Buffer
  readonly origins: string
  readonly config: string
  readonly created_at: number
}

/**
 * @param file Path of the SQLite file, made where it is missing.
 * @param now The clock, ms since 1970.
 */
export function createCustomers(file: string, now: () => number = Date.now): Customers {
  const database = openDatabase(file, TABLE)
  const select = database.prepare<[string], Row>('SELECT * FROM customers WHERE customer_id = ?')
  const selectByKey = database.prepare<[string], Row>(
    'SELECT * FROM customers WHERE tracking_key = ?',
  )
  const selectAll = database.prepare<[], Row>('SELECT * FROM customers ORDER BY created_at, rowid')
  const insert = database.prepare(
    `INSERT INTO customers (customer_id, name, tracking_key, rest_key_hash, origins, config, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const erase = database.prepare('DELETE FROM customers WHERE customer_id = ?')
  const dataVersion = database.prepare<[], number>('PRAGMA data_version').pluck()

  // Every event asks for its customer, so the last answers are kept until the file changes.
  const byKey = new Map<string, Customer>()
  let seenVersion = dataVersion.get()
  let checkedAt = now()

  function forgetStale(): void {
    if (Math.abs(now() - checkedAt) < RECHECK_MS) return
    checkedAt = now()
    const version = dataVersion.get()
    if (version !== seenVersion) byKey.clear()
    seenVersion = version
  }

  const find = (customerId: string) => toCustomer(select.get(customerId))

  function update(column: string, value: unknown, customerId: string): void {
    database
      .prepare(`UPDATE customers SET ${column} = ? WHERE customer_id = ?`)
      .run(value, customerId)
    byKey.clear()
  }

  return {
    add({
      name = '',
      origins = [],
      config = {},
      customerId = makeCustomerId(),
      trackingKey = makeTrackingKey(),
      restKey = makeRestKey(),
    } = {}) {
      if (!isKey(restKey))
        throw new Error(
          `Expected a restKey of 1 to ${MAX_KEY_LENGTH} characters, without white space at its ends`,
        )
      const taken = find(customerId)
        ? `The customer ${customerId} exists`
        : selectByKey.get(trackingKey) && 'The tracking key is taken'
      if (taken) throw new Error(taken)
      insert.run(
        customerId,
        name,
        trackingKey,
        hashSecret(restKey),
        JSON.stringify(origins),
        JSON.stringify(config),
        now(),
      )
      return { customer: find(customerId) as Customer, restKey }
    },
    list: () => selectAll.all().map((row) => toCustomer(row) as Customer),
    find,
    findByTrackingKey(trackingKey) {
      forgetStale()
      const kept = byKey.get(trackingKey)
      if (kept) return kept
      const customer = toCustomer(selectByKey.get(trackingKey))
      if (!customer) return undefined
      if (byKey.size >= MAX_CACHED) byKey.clear()
      byKey.set(trackingKey, customer)
      return customer
    },
    remove(customerId) {
      byKey.clear()
      return erase.run(customerId).changes > 0
    },
    change(customerId, { name, origins, config }) {
      if (name !== undefined) update('name', name, customerId)
      if (origins !== undefined) update('origins', JSON.stringify(origins), customerId)
      if (config !== undefined) update('config', JSON.stringify(config), customerId)
      return find(customerId)
    },
    rotate(customerId, key) {
      if (!find(customerId)) return undefined
      if (key === 'tracking') {
        const trackingKey = makeTrackingKey()
        update('tracking_key', trackingKey, customerId)
        return trackingKey
      }
      const restKey = makeRestKey()
      update('rest_key_hash', hashSecret(restKey), customerId)
      return restKey
    },
    close: () => database.close(),
  }
}

function toCustomer(row: Row | undefined): Customer | undefined {
  if (!row) return undefined
  const config = JSON.parse(row.config) as PublicConfig
  return {
    customerId: row.customer_id,
    name: row.name,
    trackingKey: row.tracking_key,
    origins: JSON.parse(row.origins) as string[],
    config,
    configText: row.config,
    operations: new Map(
      Object.entries(config.events ?? {}).map(([operation, name]) => [
        name as string,
        operation as TrackingOperation,
      ]),
    ),
    restKeyHash: row.rest_key_hash,
    createdAt: row.created_at,
  }
}

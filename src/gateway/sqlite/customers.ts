import { basename } from 'node:path'
import { LRUCache } from 'lru-cache'
import {
  type Customer,
  type CustomerChange,
  type Customers,
  isRestKey,
  REST_KEY_RULE,
} from '../customers/customers.ts'
import { makeCustomerId, makeRestKey, makeTrackingKey } from '../customers/keys.ts'
import { type KeyKind, OverlapLasts } from '../customers/overlap.ts'
import { MAX_RETENTION_DAYS, type Retention } from '../customers/retention.ts'
import { hashSecret } from '../lib/secret.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { Sessions } from '../operators/sessions.ts'
import type { PinnedScripts } from '../script/pinnedScripts.ts'
import { type CustomerRow, type NewRow, toCustomer } from './customerRow.ts'
import {
  createCustomerSettingRows,
  ORDER_SETTINGS_MIGRATION,
  SETTING_COLUMNS,
  SETTING_JOINS,
  SETTING_TABLES,
} from './customerSettingRows.ts'
import { closeDatabase, explain, isDamaged, openDatabase } from './database.ts'
import { isSqliteError } from './driver.ts'
import { createOverlapRows, OVERLAP_COLUMNS, OVERLAP_JOINS, OVERLAP_TABLE } from './overlapRows.ts'
import { createPinnedRows, PINNED_TABLE } from './pinnedRows.ts'
import type { Schema } from './schema.ts'
import { createSessionRows, SESSION_TABLES } from './sessionRows.ts'

/** Changes made by another process (the command line) are seen after at most this, ms. */
const RECHECK_MS = 500
const MAX_CACHED = 10_000
/** Retry-After, seconds. */
const RETRY_SECONDS = 5
const NO_CUSTOMERS =
  'This gateway has no customers. Check DATA_DIR, or add the first one: npx shoptrail customer add --origin https://shop.example'

const TABLES = `
  CREATE TABLE IF NOT EXISTS customers (
    customer_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    tracking_key TEXT NOT NULL UNIQUE,
    rest_key_hash BLOB NOT NULL,
    origins TEXT NOT NULL,
    config TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS retired (
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    customer_id TEXT NOT NULL,
    PRIMARY KEY (kind, value)
  ) STRICT, WITHOUT ROWID;
${SETTING_TABLES}${PINNED_TABLE}${OVERLAP_TABLE}${SESSION_TABLES}`
/** The schema of customers.db. */
export const CUSTOMERS_SCHEMA: Schema = {
  tables: TABLES,
  migrations: [ORDER_SETTINGS_MIGRATION],
  probe:
    'SELECT customer_id, name, tracking_key, rest_key_hash, origins, config, created_at FROM customers',
  isSmall: true,
}

/** The customer of a tracking key. `until` is when an old key stops working, ms since 1970. */
type Found = { readonly customer: Customer; readonly until: number | undefined }

/** Values that are never used again for another customer. */
type Kind = 'customer_id' | 'tracking_key' | 'rest_key_hash'

/** Everything in customers.db. */
export type SqliteCustomers = Customers & {
  readonly pinned: PinnedScripts
  readonly sessions: Sessions
  /** Looks up every customer in the file again. For changes by other connections of this process. */
  readonly recheck: () => void
}

/**
 * @param file Path of the SQLite file. Created if it is missing.
 * @param now The clock, ms since 1970.
 * @param makeSessionId See createSessionRows.
 * @throws Error that names the file and the remedy, if it can not be opened.
 */
export function createSqliteCustomers(
  file: string,
  now: () => number = Date.now,
  makeSessionId?: () => number,
): SqliteCustomers {
  const database = openDatabase(file, CUSTOMERS_SCHEMA)
  const rows = `SELECT customers.*, ${SETTING_COLUMNS}, ${OVERLAP_COLUMNS} FROM customers ${SETTING_JOINS} ${OVERLAP_JOINS}`
  const select = database.prepare<[string], CustomerRow>(`${rows} WHERE customers.customer_id = ?`)
  const selectByKey = database.prepare<[string], CustomerRow>(`${rows} WHERE tracking_key = ?`)
  const selectAll = database.prepare<[], CustomerRow>(
    `${rows} ORDER BY created_at, customers.rowid`,
  )
  const selectAny = database.prepare<[], number>('SELECT EXISTS (SELECT 1 FROM customers)').pluck()
  const insert = database.prepare(
    `INSERT INTO customers (customer_id, name, tracking_key, rest_key_hash, origins, config, created_at)
     VALUES (@customer_id, @name, @tracking_key, @rest_key_hash, @origins, @config, @created_at)`,
  )
  const erase = database.prepare('DELETE FROM customers WHERE customer_id = ?')
  const selectRetentions = database.prepare<[number], Retention>(
    'SELECT customer_id AS customerId, days FROM retention WHERE days BETWEEN 1 AND ?',
  )
  const retire = database.prepare<[Kind, string, string]>(
    'INSERT OR IGNORE INTO retired (kind, value, customer_id) VALUES (?, ?, ?)',
  )
  const selectRetired = database
    .prepare<[Kind, string], string>('SELECT customer_id FROM retired WHERE kind = ? AND value = ?')
    .pluck()
  const dataVersion = database.prepare<[], number>('PRAGMA data_version').pluck()

  // Every event needs its customer, so customers are cached until the file changes.
  const byKey = new LRUCache<string, Found>({ max: MAX_CACHED })
  let seenVersion = dataVersion.get()
  let checkedAt = now()
  /** The message of the first error that showed damage. It is kept, since damage does not go away. */
  let damage: string | undefined

  /** Runs a read or write of the file. */
  function using<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      if (!isSqliteError(error)) throw error
      const message = explain(basename(file), error)
      if (isDamaged(error)) damage = message
      throw new Unavailable(message, RETRY_SECONDS, error)
    }
  }

  const pinned = createPinnedRows(database, using, now)
  const overlaps = createOverlapRows(database)
  const settings = createCustomerSettingRows(database)
  const sessions = createSessionRows(database, using, now, makeSessionId)

  function forgetStale(): void {
    if (Math.abs(now() - checkedAt) < RECHECK_MS) return
    checkedAt = now()
    const version = dataVersion.get()
    if (version !== seenVersion) byKey.clear()
    seenVersion = version
  }

  const find = (customerId: string): Customer | undefined =>
    using(() => {
      const row = select.get(customerId)
      return row && toCustomer(row, now)
    })

  /** Finds the customer of a tracking key in the file, and caches it. */
  function look(trackingKey: string): Found | undefined {
    const row = selectByKey.get(trackingKey)
    if (row) return remember(trackingKey, { customer: toCustomer(row, now), until: undefined })
    const old = overlaps.findOwner(trackingKey)
    const owner = old && select.get(old.customer_id)
    if (!owner) return undefined
    const customer = toCustomer({ ...owner, tracking_key: trackingKey }, now)
    return remember(trackingKey, { customer, until: old.until })
  }

  function remember(trackingKey: string, found: Found): Found {
    byKey.set(trackingKey, found)
    return found
  }

  function update(column: string, value: unknown, customerId: string): void {
    database
      .prepare(`UPDATE customers SET ${column} = ? WHERE customer_id = ?`)
      .run(value, customerId)
    byKey.clear()
  }

  /** Why a new customer can not have this id or this tracking key. */
  function findOwner(customerId: string, trackingKey: string): string | undefined {
    if (select.get(customerId)) return `The customer ${customerId} already exists`
    if (selectByKey.get(trackingKey))
      return `The tracking key ${trackingKey} belongs to another customer`
    if (selectRetired.get('customer_id', customerId))
      return `${customerId} was the id of a customer that was removed. Its events are kept, so the id can not be used again`
    const owner = selectRetired.get('tracking_key', trackingKey)
    if (owner)
      return `${trackingKey} was a tracking key of ${owner}. Old pages may still send with it, so it can not be used again`
    return undefined
  }

  const insertFree = database.transaction((row: NewRow, change: CustomerChange): Customer => {
    const taken = findOwner(row.customer_id, row.tracking_key)
    if (taken) throw new Error(taken)
    if (selectRetired.get('rest_key_hash', row.rest_key_hash.toString('hex')))
      throw new Error(
        'This REST key was rotated or removed before, so it can not be used again. Choose another one',
      )
    insert.run(row)
    settings.put(row.customer_id, change)
    return toCustomer(select.get(row.customer_id) as CustomerRow, now)
  })

  const remove = database.transaction((customerId: string): boolean => {
    const row = select.get(customerId)
    if (!row) return false
    settings.erase(customerId)
    retire.run('customer_id', customerId, customerId)
    retire.run('tracking_key', row.tracking_key, customerId)
    retire.run('rest_key_hash', row.rest_key_hash.toString('hex'), customerId)
    endOld(customerId, 'tracking')
    endOld(customerId, 'rest')
    pinned.erase(row.tracking_key)
    sessions.erase(customerId)
    return erase.run(customerId).changes > 0
  })

  /** Ends the overlap of a key. The pinned scripts of an old tracking key go with it. */
  function endOld(customerId: string, kind: KeyKind): boolean {
    const old = overlaps.find(customerId, kind)
    if (!old) return false
    if (kind === 'tracking') pinned.erase(old.value)
    overlaps.erase(customerId, kind)
    byKey.clear()
    return old.until > now()
  }

  const replaceKey = database.transaction(
    (customerId: string, kind: KeyKind, overlapMs: number) => {
      const row = select.get(customerId)
      if (!row) return undefined
      const lasting = overlaps.find(customerId, kind)
      if (overlapMs > 0 && lasting && lasting.until > now()) throw new OverlapLasts(lasting.until)
      endOld(customerId, kind)
      const isRest = kind === 'rest'
      const next = isRest ? makeRestKey() : makeTrackingKey()
      const old = isRest ? row.rest_key_hash.toString('hex') : row.tracking_key
      retire.run(isRest ? 'rest_key_hash' : 'tracking_key', old, customerId)
      if (overlapMs > 0) overlaps.put(customerId, kind, { value: old, until: now() + overlapMs })
      else if (!isRest) pinned.erase(old)
      if (isRest) update('rest_key_hash', hashSecret(next), customerId)
      else update('tracking_key', next, customerId)
      return next
    },
  )
  const endOverlap = database.transaction(endOld)

  const change = database.transaction((customerId: string, changes: CustomerChange) => {
    const { name, origins, config } = changes
    if (name !== undefined) update('name', name, customerId)
    if (origins !== undefined) update('origins', JSON.stringify(origins), customerId)
    if (config !== undefined) update('config', JSON.stringify(config), customerId)
    settings.put(customerId, changes)
    byKey.clear()
  })

  return {
    pinned,
    sessions,
    recheck: () => byKey.clear(),
    add({
      name = '',
      origins = [],
      config = {},
      customerId = makeCustomerId(),
      trackingKey = makeTrackingKey(),
      restKey = makeRestKey(),
      ...change
    } = {}) {
      if (!isRestKey(restKey)) throw new Error(`Expected a restKey of ${REST_KEY_RULE}`)
      const row = {
        customer_id: customerId,
        name,
        tracking_key: trackingKey,
        rest_key_hash: hashSecret(restKey),
        origins: JSON.stringify(origins),
        config: JSON.stringify(config),
        created_at: now(),
      }
      return { customer: using(() => insertFree.immediate(row, change)), restKey }
    },
    list: () => using(() => selectAll.all().map((row) => toCustomer(row, now))),
    find,
    findByTrackingKey(trackingKey) {
      using(forgetStale)
      const found = byKey.get(trackingKey) ?? using(() => look(trackingKey))
      return found && (found.until === undefined || now() < found.until)
        ? found.customer
        : undefined
    },
    remove(customerId) {
      byKey.clear()
      return using(() => remove.immediate(customerId))
    },
    retentions: () => using(() => selectRetentions.all(MAX_RETENTION_DAYS)),
    isRetired: (customerId) =>
      using(() => selectRetired.get('customer_id', customerId) !== undefined),
    change(customerId, changes) {
      using(() => change.immediate(customerId, changes))
      return find(customerId)
    },
    rotate: (customerId, key, overlapMs = 0) =>
      using(() => replaceKey.immediate(customerId, key, overlapMs)),
    endOverlap: (customerId, key) => using(() => endOverlap.immediate(customerId, key)),
    fault() {
      if (damage) return damage
      try {
        return using(() => selectAny.get()) === 1 ? undefined : NO_CUSTOMERS
      } catch (error) {
        return (error as Error).message
      }
    },
    close: () => closeDatabase(database),
  }
}

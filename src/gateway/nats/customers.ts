import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Database } from 'better-sqlite3'
import type { Customers } from '../customers/customers.ts'
import type { Data } from '../engine/data.ts'
import { upgradeData } from '../sqlite/backup/upgrade.ts'
import { CUSTOMERS_SCHEMA, createSqliteCustomers } from '../sqlite/customers.ts'
import { closeDatabase, openDatabase } from '../sqlite/database.ts'
import { connect } from '../sqlite/driver.ts'
import { findIdentity } from '../sqlite/identity.ts'
import { createMirrorRows, isMirrored, type MirrorRows } from '../sqlite/mirrorRows.ts'
import type { MirroredTable } from '../sqlite/tableRows.ts'
import type { Broker } from './broker.ts'
import { openMirror } from './mirror.ts'
import { CUSTOMERS_BUCKET } from './names.ts'

/** The tables of customers.db. Not those of its identity and its versions. */
const TABLES: readonly MirroredTable[] = [
  { table: 'customers', key: ['customer_id'] },
  { table: 'quotas', key: ['customer_id'] },
  { table: 'ignored', key: ['customer_id'] },
  { table: 'kept_addresses', key: ['customer_id'] },
  { table: 'retention', key: ['customer_id'] },
  { table: 'order_settings', key: ['customer_id'] },
  { table: 'retired', key: ['kind', 'value'] },
  { table: 'overlaps', key: ['customer_id', 'kind'] },
  { table: 'pinned_scripts', key: ['tracking_key', 'hash'] },
  { table: 'sessions', key: ['id'] },
  { table: 'session_customers', key: ['session', 'customer_id'] },
]

const COPY = [{ name: 'customers.db', schema: CUSTOMERS_SCHEMA }]

/** The largest id of a session. A JavaScript number keeps it, and two random ids are practically never the same. */
const MAX_SESSION_ID = 2 ** 48 - 1

/** The customers of a cluster. */
export type NatsCustomers = Pick<Data, 'pinned' | 'sessions' | 'saved'> & {
  readonly customers: Customers
  /** Path of the local copy, for threads that look up customers. */
  readonly file: string
  /** See Mirror. */
  conflicts(): number
  close(): Promise<void>
}

export type NatsCustomersOptions = {
  /** A promise while the cluster is away. */
  readonly broker: Broker | Promise<Broker>
  /** Folder of customers.db. It exists. */
  readonly folder: string
  /** The clock, ms since 1970. */
  readonly now?: () => number
  /** Called with errors in the background. */
  readonly onError: (error: unknown) => void
}

/**
 * Opens the customers, their keys, sessions and pinned scripts. A local copy in customers.db is kept equal with the
 * bucket, and is used alone while the cluster is away. Waits for the cluster if the copy was never complete.
 *
 * @throws Error if customers.db is that of a gateway that stores in SQLite. Rejects as the broker does.
 */
export async function openNatsCustomers(options: NatsCustomersOptions): Promise<NatsCustomers> {
  const { broker, folder, now = Date.now, onError } = options
  const file = join(folder, 'customers.db')
  if (existsSync(file) && isCopy(file))
    // Without a backup: the bucket has everything.
    await upgradeData({ dataDir: folder, databases: COPY, backup: false, now })
  else if (existsSync(file)) refuseForeign(file)
  const customers = createSqliteCustomers(file, now, () => randomInt(1, MAX_SESSION_ID))
  const database = openDatabase(file, CUSTOMERS_SCHEMA)
  // A power cut may take the last rows, but the bucket has them.
  database.pragma('synchronous = NORMAL')
  const rows = withRetired(database, createMirrorRows(database, TABLES))
  const mirror = openMirror({
    ...{ rows, broker, onError, now, bucket: CUSTOMERS_BUCKET, prefix: '', isExclusive: true },
    onChange: customers.recheck,
  })
  async function close(): Promise<void> {
    await mirror.close()
    closeDatabase(database)
    customers.close()
  }
  try {
    // Rejects if there is no cluster and no copy.
    if (rows.state().reachedAt === 0) await Promise.all([broker, mirror.ready])
  } catch (error) {
    await close()
    throw error
  }
  const { pinned, sessions } = customers
  const { flush: saved, conflicts } = mirror
  return { customers, pinned, sessions, file, saved, conflicts, close }
}

/** Whether it is a copy of the bucket, maybe one of an earlier version. False if it can not be read. */
function isCopy(file: string): boolean {
  try {
    const database = connect(file, { fileMustExist: true })
    try {
      return isMirrored(database)
    } finally {
      database.close()
    }
  } catch {
    return false
  }
}

/** Does not change the file. */
function refuseForeign(file: string): void {
  const database = openDatabase(file, CUSTOMERS_SCHEMA)
  try {
    if (isMirrored(database)) return
    const isPaired = (findIdentity(database)?.companion ?? null) !== null
    const hasCustomers =
      database.prepare('SELECT 1 FROM customers UNION ALL SELECT 1 FROM retired LIMIT 1').get() !==
      undefined
    if (isPaired || hasCustomers)
      throw new Error(
        `${resolve(file)} has the customers of a gateway that stores in SQLite. To copy them to the cluster: npx shoptrail move. Or set another DATA_DIR`,
      )
  } finally {
    database.close()
  }
}

/** A new customer whose id or key was retired elsewhere at the same time is undone, as `add` would have refused it. */
function withRetired(database: Database, rows: MirrorRows): MirrorRows {
  const find = database.prepare(
    `SELECT 1 FROM customers JOIN mirror_changes
       ON table_name = 'customers' AND row_key = json_array(customers.customer_id)
     JOIN retired ON value = CASE kind
       WHEN 'tracking_key' THEN tracking_key
       WHEN 'rest_key_hash' THEN lower(hex(rest_key_hash))
       ELSE customers.customer_id END`,
  )
  return {
    ...rows,
    apply(remote, position) {
      const applied = rows.apply(remote, position)
      if (!applied.tables.includes('retired') || !find.get()) return applied
      const { tables } = rows.undo()
      return { ...applied, tables: [...applied.tables, ...tables], isUndone: true }
    },
  }
}

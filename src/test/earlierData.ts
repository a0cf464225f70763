import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { hashSecret } from '../gateway/lib/secret.ts'
import { upgradeData } from '../gateway/sqlite/backup/upgrade.ts'
import type { Schema } from '../gateway/sqlite/schema.ts'

/** The forms that databases had before they had schema numbers. */
export const EARLIER = ['0.1.0', '0.2.0-without-numbers'] as const
/** What makeEarlierData stores. */
export const EARLIER_SHOP = {
  customerId: 'shop',
  trackingKey: 'SHOPKEY1',
  restKey: 'REST-KEY-OF-THE-SHOP',
  eventId: '0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e10',
}

const fixture = (name: string): string =>
  readFileSync(
    fileURLToPath(new URL(`../gateway/sqlite/fixtures/${name}.sql`, import.meta.url)),
    'utf8',
  )

/** Makes the databases as a gateway of that time did: one customer, one event, used together. */
export function makeEarlierData(dataDir: string, form: (typeof EARLIER)[number]): void {
  const { customerId, trackingKey, restKey, eventId } = EARLIER_SHOP
  const customers = create(join(dataDir, 'customers.db'), fixture(`customers-${form}`))
  customers.exec("INSERT INTO identity VALUES ('id-of-customers', 'id-of-events')")
  customers
    .prepare('INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?, ?)')
    .run(customerId, 'Shop', trackingKey, hashSecret(restKey), '["https://shop.example"]', '{}', 1)
  customers.close()
  const events = create(join(dataDir, 'events.db'), fixture(`events-${form}`))
  events.exec("INSERT INTO identity VALUES ('id-of-events', 'id-of-customers')")
  insertAsEarlier(events, eventId)
  events.close()
}

function create(file: string, sql: string): InstanceType<typeof Database> {
  const database = new Database(file)
  database.pragma('auto_vacuum = INCREMENTAL')
  database.pragma('journal_mode = WAL')
  database.exec(sql)
  return database
}

/** Stores an event with the statement of a gateway of 0.1.0. */
export function insertAsEarlier(events: InstanceType<typeof Database>, id: string): void {
  events
    .prepare(
      `INSERT INTO events (customer, id, received_at, at, operation, event, did, bot, payload)
       VALUES ('shop', ?, 1, 1, 'search', 'search', 'd-1', 0, '{}') ON CONFLICT (customer, id) DO NOTHING`,
    )
    .run(Buffer.from(id.replaceAll('-', ''), 'hex'))
}

/** Removes the schema numbers, so that a database is one from before them. */
export function forgetVersions(file: string): void {
  const database = new Database(file)
  database.exec('DROP TABLE schema_versions; PRAGMA user_version = 0')
  database.close()
}

/** Upgrades one database, without a backup. */
export const upgradeFile = (file: string, schema: Schema): Promise<boolean> =>
  upgradeData({
    dataDir: dirname(file),
    databases: [{ name: basename(file), schema }],
    backup: false,
    now: Date.now,
  })

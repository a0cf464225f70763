import type { Database } from 'better-sqlite3'
import type { CustomerChange } from '../customers/customers.ts'
import type { Migration } from './schema.ts'

/** Settings of customers that are tables of their own in customers.db, each with a row for those that have one. */
export const SETTING_TABLES = `
  CREATE TABLE IF NOT EXISTS quotas (
    customer_id TEXT PRIMARY KEY,
    daily_events INTEGER,
    daily_bytes INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS ignored (
    customer_id TEXT PRIMARY KEY,
    addresses TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS kept_addresses (
    customer_id TEXT PRIMARY KEY,
    form TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS retention (
    customer_id TEXT PRIMARY KEY,
    days INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`

/**
 * NULL is the default. A table of its own, so that a gateway of the version before, which replaces whole rows of a
 * cluster's bucket, does not take these settings away.
 */
export const ORDER_SETTINGS_MIGRATION: Migration = {
  sql: `
  CREATE TABLE IF NOT EXISTS order_settings (
    customer_id TEXT PRIMARY KEY,
    currency TEXT,
    time_zone TEXT,
    refund_statuses TEXT
  ) STRICT, WITHOUT ROWID;
`,
  adds: true,
}

/** For a SELECT from `customers`, with the names of CustomerRow. */
export const SETTING_COLUMNS =
  'daily_events, daily_bytes, ignored.addresses AS ignored, form AS addresses, days AS retention_days, currency, time_zone, refund_statuses'
export const SETTING_JOINS = `LEFT JOIN quotas USING (customer_id) LEFT JOIN ignored USING (customer_id)
  LEFT JOIN kept_addresses USING (customer_id) LEFT JOIN retention USING (customer_id)
  LEFT JOIN order_settings USING (customer_id)`

/** The functions do not open transactions. The caller does. */
export function createCustomerSettingRows(database: Database) {
  /** Sets one column of an existing customer, and makes its row if there is none. */
  const put = (table: string, column: string) => {
    const statement = database.prepare<[string | number | null, string]>(
      `INSERT INTO ${table} (customer_id, ${column}) SELECT customer_id, ? FROM customers WHERE customer_id = ?
       ON CONFLICT (customer_id) DO UPDATE SET ${column} = excluded.${column}`,
    )
    return (customerId: string, value: string | number | null | undefined): void => {
      if (value !== undefined) statement.run(value, customerId)
    }
  }
  const putEvents = put('quotas', 'daily_events')
  const putBytes = put('quotas', 'daily_bytes')
  const putIgnored = put('ignored', 'addresses')
  const putForm = put('kept_addresses', 'form')
  const putDays = put('retention', 'days')
  const putCurrency = put('order_settings', 'currency')
  const putZone = put('order_settings', 'time_zone')
  const putStatuses = put('order_settings', 'refund_statuses')
  const eraseRetention = database.prepare<[string]>('DELETE FROM retention WHERE customer_id = ?')
  // Not the retention: the events stay, and are removed when their time is over.
  const erasures = ['quotas', 'ignored', 'kept_addresses', 'order_settings'].map((table) =>
    database.prepare<[string]>(`DELETE FROM ${table} WHERE customer_id = ?`),
  )
  return {
    /** Nothing happens if there is no such customer. */
    put(customerId: string, change: CustomerChange): void {
      const { dailyEvents, dailyBytes, ignored, addresses, retentionDays } = change
      putEvents(customerId, dailyEvents)
      putBytes(customerId, dailyBytes)
      putIgnored(customerId, ignored && JSON.stringify(ignored))
      putForm(customerId, addresses)
      if (retentionDays === null) eraseRetention.run(customerId)
      else putDays(customerId, retentionDays)
      const { currency, timeZone, refundStatuses } = change
      putCurrency(customerId, currency)
      putZone(customerId, timeZone)
      putStatuses(customerId, refundStatuses && JSON.stringify(refundStatuses))
    },
    erase(customerId: string): void {
      for (const statement of erasures) statement.run(customerId)
    },
  }
}

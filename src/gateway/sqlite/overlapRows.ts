import type { Database } from 'better-sqlite3'
import type { KeyKind } from '../customers/overlap.ts'

/**
 * Old keys that still work, in customers.db: at most one of a kind for each customer. `value` is the tracking key, or
 * the hash of the REST key in hex.
 */
export const OVERLAP_TABLE = `
  CREATE TABLE IF NOT EXISTS overlaps (
    customer_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (customer_id, kind)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX IF NOT EXISTS overlaps_by_value ON overlaps (kind, value);
`
/** Joins the old keys to rows of `customers`. Those whose overlap has ended too. */
export const OVERLAP_JOINS = `
  LEFT JOIN overlaps AS old_rest ON old_rest.customer_id = customers.customer_id AND old_rest.kind = 'rest'
  LEFT JOIN overlaps AS old_tracking ON old_tracking.customer_id = customers.customer_id AND old_tracking.kind = 'tracking'`
export const OVERLAP_COLUMNS =
  'old_rest.value AS old_rest_hash, old_rest.until AS old_rest_until, old_tracking.value AS old_tracking_key, old_tracking.until AS old_tracking_until'

/** An old key as it is stored. */
export type StoredOverlap = { readonly value: string; readonly until: number }

/** The functions do not open transactions. The caller does. */
export function createOverlapRows(database: Database) {
  const select = database.prepare<[string, KeyKind], StoredOverlap>(
    'SELECT value, until FROM overlaps WHERE customer_id = ? AND kind = ?',
  )
  const insert = database.prepare<[string, KeyKind, string, number]>(
    'INSERT OR REPLACE INTO overlaps (customer_id, kind, value, until) VALUES (?, ?, ?, ?)',
  )
  const erase = database.prepare<[string, KeyKind]>(
    'DELETE FROM overlaps WHERE customer_id = ? AND kind = ?',
  )
  const selectOwner = database.prepare<[string], { customer_id: string; until: number }>(
    "SELECT customer_id, until FROM overlaps WHERE kind = 'tracking' AND value = ?",
  )
  return {
    /** Also if its overlap has ended. */
    find: (customerId: string, kind: KeyKind) => select.get(customerId, kind),
    put: (customerId: string, kind: KeyKind, { value, until }: StoredOverlap): void =>
      void insert.run(customerId, kind, value, until),
    erase: (customerId: string, kind: KeyKind): void => void erase.run(customerId, kind),
    /** The customer of an old tracking key, and until when it works. */
    findOwner: (trackingKey: string) => selectOwner.get(trackingKey),
  }
}

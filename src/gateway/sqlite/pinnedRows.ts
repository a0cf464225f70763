import type { Database } from 'better-sqlite3'
import { MAX_PINNED, type PinnedScript, type PinnedScripts } from '../script/pinnedScripts.ts'

/** The table of the pinned scripts, in customers.db. */
export const PINNED_TABLE = `
  CREATE TABLE IF NOT EXISTS pinned_scripts (
    tracking_key TEXT NOT NULL,
    hash TEXT NOT NULL,
    version TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    script BLOB NOT NULL,
    PRIMARY KEY (tracking_key, hash)
  ) STRICT;
`

/**
 * @param using Runs a read or write, and turns errors of SQLite into Unavailable.
 * @param now The clock, ms since 1970.
 * @returns In addition `erase`, which removes the scripts of a key that is not valid any more.
 */
export function createPinnedRows(
  database: Database,
  using: <Result>(work: () => Result) => Result,
  now: () => number,
): PinnedScripts & { readonly erase: (trackingKey: string) => void } {
  const select = database
    .prepare<[string, string], Buffer>(
      'SELECT script FROM pinned_scripts WHERE tracking_key = ? AND hash = ?',
    )
    .pluck()
  const selectAll = database.prepare<[string], PinnedScript>(
    'SELECT hash, version, made_at AS madeAt FROM pinned_scripts WHERE tracking_key = ? ORDER BY made_at, rowid',
  )
  const insert = database.prepare(
    'INSERT INTO pinned_scripts (tracking_key, hash, version, made_at, script) VALUES (?, ?, ?, ?, ?)',
  )
  const remove = database.prepare('DELETE FROM pinned_scripts WHERE tracking_key = ? AND hash = ?')
  const erase = database.prepare('DELETE FROM pinned_scripts WHERE tracking_key = ?')

  const add = database.transaction(
    (trackingKey: string, { hash, version }: Omit<PinnedScript, 'madeAt'>, bytes: Buffer) => {
      const kept = selectAll.all(trackingKey)
      if (kept.some((one) => one.hash === hash)) return true
      if (kept.length >= MAX_PINNED) return false
      insert.run(trackingKey, hash, version, now(), bytes)
      return true
    },
  )

  return {
    add: (trackingKey, script, bytes) => using(() => add.immediate(trackingKey, script, bytes)),
    find: (trackingKey, hash) => using(() => select.get(trackingKey, hash)),
    list: (trackingKey) => using(() => selectAll.all(trackingKey)),
    remove: (trackingKey, hash) => using(() => remove.run(trackingKey, hash).changes > 0),
    erase: (trackingKey) => void erase.run(trackingKey),
  }
}

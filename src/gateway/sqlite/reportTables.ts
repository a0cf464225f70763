import { randomBytes } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import { overwriteDeleted, refuseForeign } from './database.ts'
import { connect, isSqliteError } from './driver.ts'
import { makeFile, makePrivate } from './files.ts'

/** Change it with every change of the tables or of their content. Then all events are read again from the log. */
const VERSION = 6

/**
 * Devices in a block. The figures of a block are added up together, which takes a few milliseconds if all of its
 * devices came from the campaign.
 */
export const BLOCK_DEVICES = 1_024

/**
 * `position`: the log is read up to `seq`. `last` is the furthest position that was read for any customer, and
 * `last_id` is the id of the event there: if the event at `last` has a different id, the log is a different one. `changes`
 * increases with each transaction, `build` is random. `customers` has the position of each customer that was read
 * further than `seq`.
 *
 * `devices` has a hash of each device id with a random `secret`, so that the id itself is not in the file.
 *
 * `touches` has the events of each device, in the order in which they count (docs/decisions.md, Attribution). A touch
 * with a `utm` is a visit. Each touch is written once, whatever the order of arrival. Devices, names and utm values
 * have numbers. A device gets its number with its first event, so devices of the same time are neighbours in the file.
 * utm values are stored as a hash, since they may be long.
 *
 * `parts` has the figures of a campaign for each block of devices, as JSON, over the touches since `since`. They are null
 * if a touch has arrived since.
 *
 * `carried` has what a device has done for a campaign before `until`, see reportClosing.ts. `forgotten` of a customer is
 * the time before which its touches are deleted.
 */
const TABLES = `
  CREATE TABLE position (
    build BLOB NOT NULL,
    secret BLOB NOT NULL,
    changes INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    last INTEGER NOT NULL,
    last_id BLOB
  ) STRICT;
  CREATE TABLE customers (
    customer INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL DEFAULT 0,
    day INTEGER NOT NULL DEFAULT 0,
    names INTEGER NOT NULL DEFAULT 0,
    forgotten INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE devices (
    customer INTEGER NOT NULL,
    hash BLOB NOT NULL,
    device INTEGER NOT NULL,
    PRIMARY KEY (customer, hash)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE utms (
    utm INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE
  ) STRICT;
  CREATE TABLE names (
    name INTEGER PRIMARY KEY,
    customer INTEGER NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (customer, text)
  ) STRICT;
  CREATE TABLE touches (
    device INTEGER NOT NULL,
    at INTEGER NOT NULL,
    id BLOB NOT NULL,
    name INTEGER NOT NULL,
    step INTEGER NOT NULL,
    utm INTEGER,
    PRIMARY KEY (device, at, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX visits_by_device ON touches (device, at, id, utm) WHERE utm IS NOT NULL;
  CREATE INDEX visits_by_utm ON touches (utm, device) WHERE utm IS NOT NULL;
  CREATE TABLE parts (
    utm INTEGER NOT NULL,
    block INTEGER NOT NULL,
    since INTEGER NOT NULL,
    figures TEXT,
    PRIMARY KEY (utm, block)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE carried (
    device INTEGER NOT NULL,
    utm INTEGER NOT NULL,
    until INTEGER NOT NULL,
    reached INTEGER NOT NULL,
    visit_at INTEGER,
    PRIMARY KEY (device, utm, until)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX carried_by_utm ON carried (utm, until, device);
`

/** Errors of the machine, the disk or another process: the file itself may be sound. */
const OUTSIDE = /^SQLITE_(BUSY|LOCKED|CANTOPEN|READONLY|PERM|AUTH|FULL|IOERR|NOMEM|INTERRUPT)/

/** Whether an error of SQLite means that the file is damaged, so that it is created again from the log. */
export const isDamage = (error: unknown): boolean =>
  isSqliteError(error) && !OUTSIDE.test(error.code)

/**
 * Opens the file with the tables of this version. Those of another version are dropped. Everything in it can be read
 * again from the log, so a power cut may take the last commits (`synchronous = NORMAL`).
 *
 * @throws SqliteError, see isDamage. Error if the file is a folder, or belongs to another application.
 */
export function openReports(file: string): Database {
  makeFile(file)
  const database = connect(file, { timeout: 5_000 })
  try {
    refuseForeign(database, 'SELECT seq FROM position')
    overwriteDeleted(database)
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = NORMAL')
    // Pages change at random places. A large checkpoint writes a page once that has changed many times.
    database.pragma('wal_autocheckpoint = 4000')
    database.pragma('journal_size_limit = 67108864')
    database.pragma('cache_size = -8000')
    if (!isThisVersion(database)) {
      database.transaction(() => isThisVersion(database) || clear(database)).immediate()
      // Earlier versions did not overwrite what they deleted.
      database.exec('VACUUM')
    }
    makePrivate(file)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

export const isThisVersion = (database: Database): boolean =>
  database.pragma('user_version', { simple: true }) === VERSION

/** Drops everything. Call it in a transaction, since another gateway may have the file open. */
export function clear(database: Database): void {
  const tables = database
    .prepare<[], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'`,
    )
    .pluck()
    .all()
  for (const table of tables) database.exec(`DROP TABLE "${table.replaceAll('"', '""')}"`)
  database.exec(TABLES)
  database
    .prepare('INSERT INTO position VALUES (?, ?, 0, 0, 0, NULL)')
    .run(randomBytes(8), randomBytes(32))
  database.pragma(`user_version = ${VERSION}`)
}

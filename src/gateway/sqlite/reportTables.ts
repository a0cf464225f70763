import { randomBytes } from 'node:crypto'
import Database from 'better-sqlite3'
import { refuseForeign } from './database.ts'
import { makeFile, makePrivate } from './files.ts'

/** Changes with every change of the tables or of what is counted in them: then all is counted again. */
const VERSION = 4

/**
 * How far the log is counted, and what has been counted.
 *
 * `customers` has the position up to which each one's events are counted, and what the day has brought so
 * far (see reportCustomers.ts); `position` has the furthest event of all with its id: a log that has another
 * one there is another log. `changes` goes up with each slice; up to `campaigns` those of the log are known.
 *
 * `devices`, `utms` and `names` give short numbers to what may be long; the first two keep only a hash,
 * so a text of a stranger takes no room. `since` is the first day from which on nothing of these utm values is
 * missing. `trail` is what each device did, in the order of docs/decisions.md, "Attribution":
 * what comes late finds its place there. `shares` says how many of a campaign's events a device has, so
 * that a device is counted once; `totals` is the sum of it, and what a report reads. In both, day -1 is
 * all days together and step 0 every step.
 */
const TABLES = `
  CREATE TABLE position (
    build BLOB NOT NULL,
    changes INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id BLOB,
    campaigns INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE customers (
    customer INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL DEFAULT 0,
    day INTEGER NOT NULL DEFAULT 0,
    devices INTEGER NOT NULL DEFAULT 0,
    utms INTEGER NOT NULL DEFAULT 0,
    names INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE incomplete (
    customer INTEGER NOT NULL,
    day INTEGER NOT NULL,
    novelty TEXT NOT NULL,
    PRIMARY KEY (customer, day, novelty)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE devices (
    device INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    moved INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE utms (
    utm INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    since INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE names (
    name INTEGER PRIMARY KEY,
    customer INTEGER NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (customer, text)
  ) STRICT;
  CREATE TABLE trail (
    device INTEGER NOT NULL,
    at INTEGER NOT NULL,
    id BLOB NOT NULL,
    name INTEGER NOT NULL,
    step INTEGER NOT NULL,
    utm INTEGER,
    PRIMARY KEY (device, at, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX visits ON trail (device, at, id, utm) WHERE utm IS NOT NULL;
  CREATE TABLE shares (
    device INTEGER NOT NULL,
    utm INTEGER NOT NULL,
    day INTEGER NOT NULL,
    step INTEGER NOT NULL,
    events INTEGER NOT NULL,
    PRIMARY KEY (device, utm, day, step)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE totals (
    utm INTEGER NOT NULL,
    day INTEGER NOT NULL,
    step INTEGER NOT NULL,
    events INTEGER NOT NULL,
    devices INTEGER NOT NULL,
    PRIMARY KEY (utm, day, step)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE named (
    utm INTEGER NOT NULL,
    name INTEGER NOT NULL,
    events INTEGER NOT NULL,
    PRIMARY KEY (utm, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX most_named ON named (utm, events DESC, name);
`

/** Errors of the machine, the disk or another process: the file itself may be sound. */
const OUTSIDE = /^SQLITE_(BUSY|LOCKED|CANTOPEN|READONLY|PERM|AUTH|FULL|IOERR|NOMEM|INTERRUPT)/

/** Whether an error of SQLite says that the file is no good, so that it is made again from the log. */
export const isDamage = (error: unknown): boolean =>
  error instanceof Database.SqliteError && !OUTSIDE.test(error.code)

/**
 * Opens the file, with the tables of this version in it; those of another version are dropped. All in it
 * can be counted again, so a power cut may take the last commits (`synchronous = NORMAL`), not its sense.
 *
 * @throws SqliteError, see isDamage; Error where it is a folder, or another application's.
 */
export function openReports(file: string): Database.Database {
  makeFile(file)
  const database = new Database(file, { timeout: 5_000 })
  try {
    refuseForeign(database, 'SELECT seq FROM position')
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = NORMAL')
    // Pages change at random places: while a long log is counted, few large checkpoints write a page
    // once instead of often. Else `tidy` is first.
    database.pragma('wal_autocheckpoint = 4000')
    database.pragma('journal_size_limit = 67108864')
    database.pragma('cache_size = -8000')
    if (!isThisVersion(database))
      database.transaction(() => isThisVersion(database) || clear(database)).immediate()
    makePrivate(file)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

export const isThisVersion = (database: Database.Database): boolean =>
  database.pragma('user_version', { simple: true }) === VERSION

/** Forgets everything, inside a transaction of the caller's: another gateway may have the file open. */
export function clear(database: Database.Database): void {
  const tables = database
    .prepare<[], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'`,
    )
    .pluck()
    .all()
  for (const table of tables) database.exec(`DROP TABLE "${table.replaceAll('"', '""')}"`)
  database.exec(TABLES)
  database.prepare('INSERT INTO position VALUES (?, 0, 0, NULL, 0)').run(randomBytes(8))
  database.pragma(`user_version = ${VERSION}`)
}

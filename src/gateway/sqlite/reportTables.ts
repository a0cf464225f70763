import { randomBytes } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import { overwriteDeleted, refuseForeign } from './database.ts'
import { connect, isSqliteError } from './driver.ts'
import { makeFile, makePrivate } from './files.ts'

/** Change it with every change of the tables or of their content. Then all events are read again from the log. */
const VERSION = 8

/**
 * Devices in a block. The figures of a block are added up together, which takes a few milliseconds if all of its
 * devices came from the campaign.
 */
export const BLOCK_DEVICES = 1_024

/**
 * `position`: the log is read up to `seq`. `last` is the furthest position that was read for any customer, and
 * `last_id` is the id of the event there: if the event at `last` has a different id, the log is a different one. `changes`
 * increases with each transaction, `build` is random.
 *
 * `seen` has the position of each event that was read and a short hash of its device, so that the earlier events of a
 * device are found when it visits a campaign. See reportSeen.ts. `swept` has the positions up to which it was cleared.
 *
 * `customers` has the customers with e-mail campaigns: only their events are counted. A customer that is `behind` is
 * read up to `seq`, and is not read together with the others; otherwise `seq` counts if it is further than the position
 * of all. `next_device` is the number of its next device. `forgotten` is the time before which its touches are deleted.
 *
 * `devices` has the devices that have visited, with a hash of each device id with a random `secret`, so that the id
 * itself is not in the file. `seen` is the short hash. A device gets its number with its first visit, so devices of the
 * same time are in the same block. A block belongs to one customer. A bot's devices and utm values are its own.
 *
 * `visits` has the visits of these devices, and `touches` their events (the visits too) as they count
 * (docs/decisions.md, Attribution): those up to seven days after a visit. Each row of `touches` has some events of a
 * block, see reportBlocks.ts. utm values are stored as a hash, since they may be long.
 *
 * `parts` has the figures of a campaign for each block of devices, as JSON, over the touches since `since`, with the days
 * of a time zone. They are null if a touch or an order has arrived since.
 *
 * `carried` has what a device has done for a campaign before `until`, and `last_visits` the last one of the visits of a
 * device that were deleted, see reportClosing.ts.
 *
 * `links` has the devices that gave an address, with the first and the last time, and `orders` the orders, see
 * reportOrders.ts. Addresses and the numbers of orders are hashes with the `secret`, too. `at` is the time of the first
 * save, null if only a status has arrived, and `seq` the position of the newest save. `visit_at`, `visit_id`, `utm`,
 * `device` and `bot` are those of the visit that an order is credited to. `statuses` has the texts of statuses.
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
  CREATE TABLE seen (
    customer INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    max_at INTEGER NOT NULL,
    entries BLOB NOT NULL,
    PRIMARY KEY (customer, first)
  ) STRICT;
  CREATE INDEX seen_by_time ON seen (customer, max_at);
  CREATE TABLE swept (
    customer TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE customers (
    customer INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL DEFAULT 0,
    behind INTEGER NOT NULL,
    next_device INTEGER NOT NULL DEFAULT 0,
    day INTEGER NOT NULL DEFAULT 0,
    names INTEGER NOT NULL DEFAULT 0,
    forgotten INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE blocks (
    block INTEGER PRIMARY KEY AUTOINCREMENT,
    customer INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX blocks_by_customer ON blocks (customer);
  CREATE TABLE devices (
    device INTEGER PRIMARY KEY,
    customer INTEGER NOT NULL,
    hash BLOB NOT NULL,
    seen INTEGER NOT NULL,
    UNIQUE (customer, hash)
  ) STRICT;
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
  CREATE TABLE visits (
    device INTEGER NOT NULL,
    at INTEGER NOT NULL,
    id BLOB NOT NULL,
    utm INTEGER NOT NULL,
    PRIMARY KEY (device, at, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE touches (
    n INTEGER PRIMARY KEY,
    block INTEGER NOT NULL,
    events BLOB NOT NULL
  ) STRICT;
  CREATE INDEX touches_by_block ON touches (block);
  CREATE TABLE parts (
    utm INTEGER NOT NULL,
    block INTEGER NOT NULL,
    since INTEGER NOT NULL,
    zone TEXT NOT NULL,
    figures TEXT,
    PRIMARY KEY (utm, block)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE carried (
    device INTEGER NOT NULL,
    utm INTEGER NOT NULL,
    until INTEGER NOT NULL,
    reached INTEGER NOT NULL,
    visit_at INTEGER,
    day INTEGER,
    PRIMARY KEY (device, utm, until)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX carried_by_utm ON carried (utm, until, device);
  CREATE TABLE last_visits (
    device INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    id BLOB NOT NULL,
    utm INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE links (
    n INTEGER PRIMARY KEY,
    customer INTEGER NOT NULL,
    address BLOB NOT NULL,
    device BLOB NOT NULL,
    bot INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    UNIQUE (customer, address, device)
  ) STRICT;
  CREATE INDEX links_by_device ON links (customer, device);
  CREATE TABLE statuses (
    status INTEGER PRIMARY KEY,
    customer INTEGER NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (customer, text)
  ) STRICT;
  CREATE TABLE orders (
    n INTEGER PRIMARY KEY,
    customer INTEGER NOT NULL,
    number BLOB NOT NULL,
    at INTEGER,
    arrived INTEGER NOT NULL,
    seq INTEGER,
    address BLOB,
    total INTEGER NOT NULL DEFAULT 0,
    currency TEXT NOT NULL DEFAULT '',
    status INTEGER,
    visit_at INTEGER,
    visit_id BLOB,
    utm INTEGER,
    device INTEGER,
    bot INTEGER,
    UNIQUE (customer, number)
  ) STRICT;
  CREATE INDEX orders_by_address ON orders (customer, address, at) WHERE address IS NOT NULL;
  CREATE INDEX orders_by_visit ON orders (device, utm, at) WHERE device IS NOT NULL;
  CREATE INDEX orders_by_seq ON orders (seq) WHERE seq IS NOT NULL;
`

/** Marks the figures of a campaign and the block of a device as outdated. */
export type MarkPart = (utm: number, device: number) => void

export function createMarkPart(database: Database): MarkPart {
  const mark = database.prepare<[number, number]>(
    `INSERT INTO parts VALUES (?, ?, 0, '', NULL)
     ON CONFLICT DO UPDATE SET figures = NULL WHERE figures IS NOT NULL`,
  )
  return (utm, device) => void mark.run(utm, Math.floor(device / BLOCK_DEVICES))
}

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

import { type LogRecord, type Range, type Tail, weigh } from '../collect/eventLog.ts'
import { isOfServers, type Usage } from '../customers/usage.ts'
import type { CountBatch } from '../problems/problems.ts'
import {
  CAMPAIGN_TABLES,
  type CampaignRow,
  type CampaignRows,
  type CopiedCampaign,
  createCampaignRows,
} from './campaignRows.ts'
import { type Cells, COLUMNS, eachRow } from './cells.ts'
import { CLOSED_TABLES, type ClosedFigures, createClosedFigures } from './closedFigures.ts'
import { type Copying, createCopying } from './copying.ts'
import { COVERAGE_TABLES, type CoverageRows, createCoverageRows } from './coverageRows.ts'
import { closeDatabase, openDatabase } from './database.ts'
import { ERASURE_TABLE } from './erasures.ts'
import { createProblemRows, PROBLEMS_TABLE, type ProblemRows } from './problemRows.ts'
import { createRemoval, REMOVED_TABLE, type Removal } from './removal.ts'
import type { Schema } from './schema.ts'
import { createStateRows, hasState, STATE_TABLES, type StateRows } from './stateRows.ts'
import { createSweep, SWEEP_TABLES, type Sweep } from './sweep.ts'
import { createUsageRows, SERVER_USAGE_TABLE, USAGE_TABLE } from './usageRows.ts'
import { bytesOf, uuidOf } from './uuid.ts'

/** The result of an append. */
export type Appended = {
  /** Position of each event, in order. 0 if its id was stored before. */
  readonly positions: readonly number[]
  /** The new sums of that day, of the customers with new events. */
  readonly usage: readonly Usage[]
}

/**
 * The events and campaigns of one SQLite file. Every function is synchronous and may wait for the disk, so a worker
 * calls it.
 */
export type Store = Omit<CampaignRows, 'insertCampaign' | 'copyCampaign'> &
  ClosedFigures &
  Removal &
  Sweep &
  Copying &
  Pick<ProblemRows, 'readProblems'> &
  Pick<CoverageRows, 'readCoverage'> &
  Pick<StateRows, 'findOrder' | 'findSubscriber' | 'listUnsubscribed' | 'fillStates'> & {
    /**
     * One transaction, durable when it returns.
     *
     * @param cells Result of `toCells`.
     */
    append(cells: Cells): Appended
    /** Whether the customer has an event of each id, in order. */
    has(customer: string, ids: readonly string[]): boolean[]
    read(range: Range): LogRecord[]
    findTail(customer: string, max: number): Tail
    /** Durable when it returns. Returns how much the customer has stored today. Empty if it already had the campaign. */
    createCampaign(row: CampaignRow): Usage[]
    /**
     * Adds campaigns of a cluster, in order. One transaction, durable when it returns. Those that the copy already has are
     * not changed.
     *
     * @returns How much their customers have stored today.
     */
    copyCampaigns(campaigns: readonly CopiedCampaign[]): Usage[]
    /** One transaction, durable when it returns. */
    writeCounts(batch: CountBatch): void
    /** How much every customer has stored today and yesterday. */
    usage(): Usage[]
    /** Rewrites the first page: fails if a commit would fail, and changes nothing. */
    probe(): void
    /** A number that changes when another connection, of this process or another, has written. */
    version(): number
    close(): void
  }

/**
 * AUTOINCREMENT: a position is never used again, even after a deletion, so readers may store it. The second index is
 * for reads of one customer's events after a position (it ends in the rowid).
 */
const TABLES = `
  CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    customer TEXT NOT NULL,
    id BLOB NOT NULL,
    received_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    operation TEXT NOT NULL,
    event TEXT NOT NULL,
    did TEXT,
    bot INTEGER NOT NULL,
    payload TEXT NOT NULL,
    version TEXT,
    cookieless INTEGER,
    UNIQUE (customer, id)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS events_by_customer ON events (customer);
`
/** The schema of events.db. */
export const EVENTS_SCHEMA: Schema = {
  tables:
    TABLES +
    CAMPAIGN_TABLES +
    USAGE_TABLE +
    REMOVED_TABLE +
    ERASURE_TABLE +
    SWEEP_TABLES +
    CLOSED_TABLES +
    PROBLEMS_TABLE +
    COVERAGE_TABLES,
  added: [
    { table: 'events', column: 'version', type: 'TEXT' },
    { table: 'events', column: 'cookieless', type: 'INTEGER' },
    { table: 'coverage', column: 'days', type: 'INTEGER NOT NULL DEFAULT 1' },
  ],
  migrations: [
    { sql: STATE_TABLES, adds: true },
    { sql: SERVER_USAGE_TABLE, adds: true },
  ],
  probe:
    'SELECT seq, customer, id, received_at, at, operation, event, did, bot, payload FROM events',
}

/**
 * Size of the -wal from which a commit writes it to the database, bytes. A page that many commits change is then
 * written once (SQLite's default is 4 MB). It is also what a start after a crash has to read.
 */
const WAL_BYTES = 2 ** 24
/**
 * Pages in memory, KiB; SQLite's default here is 16,000. Events arrive at the end of the tables, and the pages of random
 * ids are in the memory of the file system. A commit changes up to 3 MB.
 */
const CACHE_KIB = 8_000

const NO_CONTENT = new Uint8Array()

/** A removed event has no operation. */
const KEPT = "operation <> ''"

type Row = Omit<LogRecord, 'id' | 'bot'> & { readonly id: Buffer; readonly bot: number }

/** @param file Path of the database. Created if it is missing; its folder is not. */
export function openStore(file: string): Store {
  const database = openDatabase(file, EVENTS_SCHEMA)
  const pageBytes = database.pragma('page_size', { simple: true }) as number
  database.pragma(`cache_size = -${CACHE_KIB}`)
  database.pragma(`wal_autocheckpoint = ${WAL_BYTES / pageBytes}`)
  const insert = database.prepare(
    `INSERT INTO events (${COLUMNS})
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT)) ON CONFLICT (customer, id) DO NOTHING`,
  )
  const findEvent = database
    .prepare<[string, Buffer], number>('SELECT 1 FROM events WHERE customer = ? AND id = ?')
    .pluck()
  const columns =
    'seq, customer, id, received_at AS receivedAt, at, operation, event, did, bot, payload, version'
  const all = database.prepare<[number, number], Row>(
    `SELECT ${columns} FROM events WHERE seq > ? AND ${KEPT} ORDER BY seq LIMIT ?`,
  )
  const ofCustomer = database.prepare<[string, number, number], Row>(
    `SELECT ${columns} FROM events INDEXED BY events_by_customer
     WHERE customer = ? AND seq > ? AND ${KEPT} ORDER BY seq LIMIT ?`,
  )
  const fromNewest = database
    .prepare<[string, number], number>(
      `SELECT seq FROM events INDEXED BY events_by_customer
       WHERE customer = ? AND ${KEPT} ORDER BY seq DESC LIMIT 1 OFFSET ?`,
    )
    .pluck()
  const dataVersion = database.prepare<[], number>('PRAGMA data_version').pluck()
  const usageRows = createUsageRows(database)
  const states = createStateRows(database)
  const removal = createRemoval(database, states)
  const append = database.transaction((cells: Cells): Appended => {
    const positions: number[] = []
    usageRows.reset()
    eachRow(cells, (...row) => {
      // Its values one by one, since SQLite's binding reads an array in twice the time.
      const { changes, lastInsertRowid } = insert.run(...row)
      const seq = changes > 0 ? Number(lastInsertRowid) : 0
      positions.push(seq)
      if (seq === 0) return
      usageRows.count(String(row[0]), row[7], row[10].length, isOfServers(row[1]))
      if (hasState(row[1])) states.addState(String(row[0]), String(row[1]), row[7], row[10], seq)
    })
    return { positions, usage: usageRows.write() }
  })

  const { insertCampaign, copyCampaign, ...campaignRows } = createCampaignRows(database)
  const createCampaign = database.transaction((row: CampaignRow): Usage[] => {
    usageRows.reset()
    if (insertCampaign(row)) {
      const bytes = Buffer.byteLength(row.summary) + row.content.length
      usageRows.count(row.customer, row.createdAt, bytes, true, 0)
    }
    return usageRows.write()
  })
  const copyCampaigns = database.transaction((campaigns: readonly CopiedCampaign[]): Usage[] => {
    usageRows.reset()
    for (const { seq, contentBytes, ...row } of campaigns) {
      if (!copyCampaign({ ...row, content: NO_CONTENT }, seq)) continue
      const bytes = Buffer.byteLength(row.summary) + contentBytes
      usageRows.count(row.customer, row.createdAt, bytes, true, 0)
    }
    return usageRows.write()
  })

  const problemRows = createProblemRows(database)
  const coverageRows = createCoverageRows(database)
  const writeCounts = database.transaction(({ problems, coverage, now }: CountBatch): void => {
    problemRows.addProblems(problems)
    problemRows.forgetProblems(now)
    coverageRows.addCoverage(coverage, now)
    coverageRows.forgetCoverage(now)
  })

  return {
    writeCounts: (batch) => writeCounts.immediate(batch),
    readProblems: problemRows.readProblems,
    readCoverage: coverageRows.readCoverage,
    createCampaign: (row) => createCampaign.immediate(row),
    copyCampaigns: (campaigns) => copyCampaigns.immediate(campaigns),
    append: (cells) => append.immediate(cells),
    has: (customer, ids) => ids.map((id) => findEvent.get(customer, bytesOf(id)) !== undefined),
    read: ({ after = 0, max, maxBytes, customer }) =>
      takeRecords(
        customer === undefined ? all.iterate(after, max) : ofCustomer.iterate(customer, after, max),
        maxBytes,
      ),
    findTail: (customer, max) => ({
      after: (fromNewest.get(customer, max - 1) ?? 1) - 1,
      newest: fromNewest.get(customer, 0) ?? 0,
    }),
    findOrder: states.findOrder,
    findSubscriber: states.findSubscriber,
    listUnsubscribed: states.listUnsubscribed,
    fillStates: states.fillStates,
    ...campaignRows,
    ...removal,
    ...createClosedFigures(database),
    ...createSweep(database, removal),
    ...createCopying(database, usageRows, states, writeCounts),
    usage: () => usageRows.all(),
    probe: () => {
      const version = database.pragma('user_version', { simple: true })
      database.pragma(`user_version = ${version}`)
    },
    version: () => dataVersion.get() as number,
    close: () => closeDatabase(database),
  }
}

/** Records up to the one that reaches `maxBytes`. The rows after it are not read. */
function takeRecords(rows: Iterable<Row>, maxBytes = Number.POSITIVE_INFINITY): LogRecord[] {
  const records: LogRecord[] = []
  let bytes = 0
  for (const row of rows) {
    records.push(toRecord(row))
    bytes += weigh(row)
    if (bytes >= maxBytes) break
  }
  return records
}

const toRecord = (row: Row): LogRecord => ({ ...row, id: uuidOf(row.id), bot: row.bot === 1 })

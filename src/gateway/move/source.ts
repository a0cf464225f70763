import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import type { LogEvent } from '../collect/eventLog.ts'
import { openAlone } from '../sqlite/backup/locks.ts'
import { CUSTOMERS_SCHEMA } from '../sqlite/customers.ts'
import { openDatabase } from '../sqlite/database.ts'
import { FORWARD_SCHEMA } from '../sqlite/forwardStore.ts'
import { readIdentity } from '../sqlite/identity.ts'
import type { Schema } from '../sqlite/schema.ts'
import { EVENTS_SCHEMA } from '../sqlite/store.ts'
import { uuidOf } from '../sqlite/uuid.ts'

/** A row of a table, by column. */
export type Row = Readonly<Record<string, string | number | null | Buffer>>

/** A row of the log. Without an event if that was removed: its id must not be stored again. */
export type LogRow = {
  readonly seq: number
  readonly customer: string
  readonly id: string
  readonly event: LogEvent | undefined
}

/** A campaign as it is stored. */
export type StoredCampaign = {
  readonly customer: string
  readonly id: string
  /** JSON without the content. */
  readonly head: string
  /** The content as JSON, UTF-8. */
  readonly content: Buffer
}

/** Events of a customer by number. */
export type Counts = ReadonlyMap<string, number>

/**
 * The databases of a data folder, which no other process can open meanwhile: a gateway would store events behind the
 * back of the move.
 */
export type MoveSource = {
  /** Identifies the log. */
  readonly id: string
  /** The rows of a table of customers.db, or of events.db and forward.db. */
  customerRows(table: string): Iterable<Row>
  derivedRows(file: 'events' | 'forward', table: string): Iterable<Row>
  /** Rows after a position, in order: at most `max`, and up to the one that reaches this many bytes of payloads. */
  logRows(after: number, max: number, maxBytes: number): readonly LogRow[]
  /** The last event of a customer up to a position that was not removed. */
  lastUpTo(customer: string, seq: number): { readonly seq: number; readonly id: string } | undefined
  campaigns(): Iterable<StoredCampaign>
  /** How many events, ids of removed events and campaigns each customer has. */
  eventCounts(): Counts
  removedCounts(): Counts
  campaignCounts(): Counts
  close(): void
}

type EventRow = Omit<LogEvent, 'id' | 'bot' | 'cookieless'> & {
  readonly seq: number
  readonly id: Buffer
  readonly bot: number
  readonly cookieless: number | null
}

/**
 * @param folder DATA_DIR.
 * @throws InUse while another process has one of the files open. Error if there are none.
 */
export function openMoveSource(folder: string): MoveSource {
  const opened: Database[] = []
  const close = () => {
    for (const database of opened) database.close()
  }
  const open = (name: string, schema: Schema): Database => {
    const file = join(folder, name)
    // Of another version, or of another application.
    openDatabase(file, schema).close()
    const database = openAlone(file)
    database.pragma('query_only = ON')
    opened.push(database)
    return database
  }
  try {
    for (const name of ['customers.db', 'events.db'])
      if (!existsSync(join(folder, name)))
        throw new Error(`There is no ${name} in ${folder}. Set DATA_DIR to the folder to move`)
    const events = open('events.db', EVENTS_SCHEMA)
    const customers = open('customers.db', CUSTOMERS_SCHEMA)
    const hasForward = existsSync(join(folder, 'forward.db'))
    const forward = hasForward ? open('forward.db', FORWARD_SCHEMA) : undefined
    return { ...createSource(events, customers, forward), close }
  } catch (error) {
    close()
    throw error
  }
}

function createSource(
  events: Database,
  customers: Database,
  forward: Database | undefined,
): Omit<MoveSource, 'close'> {
  const rows = events.prepare<[number, number], EventRow>(
    `SELECT seq, customer, id, received_at AS receivedAt, at, operation, event, did, bot, version, cookieless, payload
     FROM events WHERE seq > ? ORDER BY seq LIMIT ?`,
  )
  const last = events.prepare<[string, number], { seq: number; id: Buffer }>(
    `SELECT seq, id FROM events INDEXED BY events_by_customer
     WHERE customer = ? AND seq <= ? AND operation <> '' ORDER BY seq DESC LIMIT 1`,
  )
  const countBy = (from: string): Counts =>
    new Map(
      events
        .prepare<[], [string, number]>(`SELECT customer, count(*) FROM ${from} GROUP BY customer`)
        .raw()
        .all() as [string, number][],
    )
  return {
    id: readIdentity(events).id,
    customerRows: (table) => customers.prepare<[], Row>(`SELECT * FROM ${table}`).all(),
    derivedRows: (file, table) =>
      (file === 'events' ? events : forward)?.prepare<[], Row>(`SELECT * FROM ${table}`).all() ??
      [],
    logRows(after, max, maxBytes) {
      const found: LogRow[] = []
      let bytes = 0
      for (const row of rows.iterate(after, max)) {
        found.push(toLogRow(row))
        bytes += row.payload.length
        if (bytes >= maxBytes) break
      }
      return found
    },
    lastUpTo(customer, seq) {
      const row = last.get(customer, seq)
      return row && { seq: row.seq, id: uuidOf(row.id) }
    },
    campaigns: () =>
      events
        .prepare<[], StoredCampaign>(
          'SELECT customer, id, head, content FROM campaigns ORDER BY seq',
        )
        .iterate(),
    eventCounts: () => countBy("events WHERE operation <> ''"),
    removedCounts: () => countBy("events WHERE operation = ''"),
    campaignCounts: () => countBy('campaigns'),
  }
}

function toLogRow({ seq, id: bytes, bot, cookieless, ...row }: EventRow): LogRow {
  const [{ customer }, id] = [row, uuidOf(bytes)]
  if (row.operation === '') return { seq, customer, id, event: undefined }
  const isCookieless = cookieless === null ? {} : { cookieless: cookieless === 1 }
  return { seq, customer, id, event: { ...row, id, bot: bot === 1, ...isCookieless } }
}

import type { Utm } from '../campaigns/utm.ts'
import { explain, isDamaged } from './database.ts'
import { connect } from './driver.ts'
import type { Part } from './reportSums.ts'

/** What is read of each event. A tuple, since an object with named fields takes longer to create. */
export type Row = readonly [
  seq: number,
  customer: string,
  did: string | null,
  at: number,
  /** MAY_VISIT, IS_BOT and the kind. One number, since each column takes time. */
  marks: number,
]

/** Its address may have utm values. */
export const MAY_VISIT = 1
/** It is of a bot. */
const IS_BOT = 2
/** The kinds of events that orders depend on. The gives of an address are events of a device, the others are not. */
export const KIND = { order: 4, status: 8, gives: 12 }
/** The bits of the kind. 0: any other event. */
const KINDS = 12

/** The kind of an event, see KIND. 0 if it is none of them. */
export const kindOf = (row: Row): number => row[4] & KINDS
/** Whether it is an order or a status of one. Such an event has no device. */
export const isOfOrder = (row: Row): boolean =>
  kindOf(row) === KIND.order || kindOf(row) === KIND.status

/** What is read only of events that count. */
export type Detail = {
  readonly seq: number
  readonly customer: string
  readonly did: string | null
  readonly bot: 0 | 1
  readonly id: Buffer
  readonly at: number
  readonly receivedAt: number
  readonly operation: string
  readonly event: string
  /** Empty if it was not asked for. */
  readonly payload: string
}

/** The event log, as reports read it. */
export type ReportLog = ReturnType<typeof openLog>

/** Details that are read at once. */
const MAX_ROWS = 1_000
/** The same with payloads. Each may have 128 kB. */
const MAX_PAYLOADS = 100

/**
 * Whether the payload may contain the name of a utm parameter. The letters of a name are plain, or escaped in the URL
 * (`%75`, `%74`, `%6d`, `%5f`) or in the JSON (a backslash; line breaks within the name count too, since the parser of
 * the URL removes them). SQLite skips to the first plain character of a pattern, so this takes a tenth of the time of
 * handing the payload over to JavaScript and parsing it.
 */
const HAS_UTM = "(payload GLOB '*utm_*' OR payload GLOB '*%[567]*' OR payload GLOB '*\\[untr]*')"
const KIND_OF = `CASE operation
  WHEN 'setEmail' THEN ${KIND.gives} WHEN 'sendCustom' THEN ${KIND.gives}
  WHEN 'saveOrder' THEN ${KIND.order} WHEN 'updateOrderStatus' THEN ${KIND.status} ELSE 0 END`
const COLUMNS = `seq, customer, did, at, ${HAS_UTM} * ${MAY_VISIT} + (bot <> 0) * ${IS_BOT} + ${KIND_OF}`
const DETAILS = (payload: string) =>
  `SELECT seq, customer, did, bot, id, at, received_at AS receivedAt, operation, event, ${payload} AS payload
   FROM events WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq`

/**
 * Opens the log for reading, while another thread writes it.
 *
 * @throws Error that names the file, here and in every function. It is not a SqliteError, since a log that can not be
 * read does not mean that the reports are damaged.
 */
export function openLog(file: string) {
  const unreadable = (error: unknown) =>
    new Error(
      isDamaged(error)
        ? explain(file, error)
        : `${file} can not be read: ${(error as Error).message}`,
      { cause: error },
    )

  function reading<Result>(read: () => Result): Result {
    try {
      return read()
    } catch (error) {
      throw unreadable(error)
    }
  }

  const {
    database,
    last,
    lastOf,
    idAt,
    all,
    ofCustomer,
    details,
    payloads,
    kept,
    untils,
    untilOf,
    closed,
    swept,
    campaigns,
    lastCampaign,
    withCampaign,
  } = reading(() => {
    const database = connect(file, { readonly: true, fileMustExist: true, timeout: 5_000 })
    return {
      database,
      last: database.prepare<[], number | null>('SELECT max(seq) FROM events').pluck(),
      lastOf: database
        .prepare<[string], number | null>(
          'SELECT max(seq) FROM events INDEXED BY events_by_customer WHERE customer = ?',
        )
        .pluck(),
      idAt: database.prepare<[number], Buffer>('SELECT id FROM events WHERE seq = ?').pluck(),
      all: database
        .prepare<[number, number], Row>(
          `SELECT ${COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`,
        )
        .raw(),
      ofCustomer: database
        .prepare<[string, number, number], Row>(
          `SELECT ${COLUMNS} FROM events INDEXED BY events_by_customer
           WHERE customer = ? AND seq > ? ORDER BY seq LIMIT ?`,
        )
        .raw(),
      details: database.prepare<[string], Detail>(DETAILS("''")),
      payloads: database.prepare<[string], Detail>(DETAILS('payload')),
      kept: database
        .prepare<[number, number], number>(
          'SELECT seq FROM events WHERE seq BETWEEN ? AND ? AND did IS NOT NULL',
        )
        .pluck(),
      untils: database
        .prepare<[], readonly [customer: string, until: number]>(
          'SELECT customer, until FROM closed_reports',
        )
        .raw(),
      untilOf: database
        .prepare<[string], number>('SELECT until FROM closed_reports WHERE customer = ?')
        .pluck(),
      // One statement, so that both are of the same time.
      closed: database.prepare<[Buffer, string], { until: number; figures: string | null }>(
        `SELECT until, (
           SELECT figures FROM closed_figures WHERE closed_figures.customer = closed_reports.customer AND utm = ?
         ) AS figures
         FROM closed_reports WHERE customer = ?`,
      ),
      swept: database
        .prepare<[], readonly [customer: string, seq: number]>('SELECT customer, seq FROM swept')
        .raw(),
      campaigns: database
        .prepare<[string], string>(
          `SELECT head FROM campaigns WHERE customer = ? AND type = 'email' ORDER BY seq`,
        )
        .pluck(),
      lastCampaign: database.prepare<[], number | null>('SELECT max(seq) FROM campaigns').pluck(),
      withCampaign: database
        .prepare<[number], string>(
          `SELECT DISTINCT customer FROM campaigns WHERE seq > ? AND type = 'email'`,
        )
        .pluck(),
    }
  })
  return {
    /** The last position of all events or of a customer's events. 0 if there are none. */
    end: (customer?: string) =>
      reading(() => (customer === undefined ? last.get() : lastOf.get(customer))) ?? 0,
    idAt: (seq: number) => reading(() => idAt.get(seq)),
    /** At most `max` events after a position, of all customers or of one. */
    events: (after: number, max: number, customer?: string): readonly Row[] =>
      reading(() =>
        customer === undefined ? all.all(after, max) : ofCustomer.all(customer, after, max),
      ),
    /** What is kept at these positions, in order of position. An event may have been removed. */
    *details(seqs: readonly number[], withPayload: boolean): Generator<Detail, void> {
      const [statement, max] = withPayload ? [payloads, MAX_PAYLOADS] : [details, MAX_ROWS]
      for (let i = 0; i < seqs.length; i += max)
        yield* reading(() => statement.all(JSON.stringify(seqs.slice(i, i + max))))
    },
    /** The positions of events with a device that were not removed. */
    kept: (first: number, last: number): readonly number[] => reading(() => kept.all(first, last)),
    /** Where a customer's closed figures end, ms since 1970. 0 if it has none. */
    closedUntil: (customer: string): number => reading(() => untilOf.get(customer)) ?? 0,
    /** The same of all customers with closed figures. */
    allClosed: () => reading(() => untils.all()),
    /** The customers whose events were removed up to a position. */
    swept: () => reading(() => swept.all()),
    /** The closed figures of a campaign. `utm` is the hash of its utm values. */
    closed(customer: string, utm: Buffer): { since: number; part: Part<string> | undefined } {
      const row = reading(() => closed.get(utm, customer))
      const part = row?.figures ? (JSON.parse(row.figures) as Part<string>) : undefined
      return { since: row?.until ?? 0, part }
    },
    /** The utm values of a customer's e-mail campaigns. Only these have reports. */
    campaigns: (customer: string): readonly Utm[] =>
      reading(() => campaigns.all(customer)).map((head) => JSON.parse(head).tracking),
    /** The position of the newest campaign. 0 if there is none. */
    lastCampaign: (): number => reading(() => lastCampaign.get()) ?? 0,
    /** The customers of the e-mail campaigns after a position. */
    withCampaign: (after: number): readonly string[] => reading(() => withCampaign.all(after)),
    close: () => void database.close(),
  }
}

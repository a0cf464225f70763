import type { Utm } from '../campaigns/utm.ts'
import { explain, isDamaged } from './database.ts'
import { connect } from './driver.ts'
import type { Part } from './reportSums.ts'

/** The part of an event that reports need. A tuple, since an object with nine fields takes longer to create. */
export type Row = readonly [
  seq: number,
  customer: string,
  id: Buffer,
  at: number,
  receivedAt: number,
  operation: string,
  event: string,
  did: string | null,
  payload: string,
]

/** The event log, as reports read it. */
export type ReportLog = ReturnType<typeof openLog>

/** Events that are read at once. Each may have 128 kB. */
export const MAX_ROWS = 100

const COLUMNS = 'seq, customer, id, at, received_at, operation, event, did, payload'

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

  const { database, last, lastOf, idAt, all, ofCustomer, untils, untilOf, closed, campaigns } =
    reading(() => {
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
        campaigns: database
          .prepare<[string], string>(
            `SELECT head FROM campaigns WHERE customer = ? AND type = 'email' ORDER BY seq`,
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
    /** Where a customer's closed figures end, ms since 1970. 0 if it has none. */
    closedUntil: (customer: string): number => reading(() => untilOf.get(customer)) ?? 0,
    /** The same of all customers with closed figures. */
    allClosed: () => reading(() => untils.all()),
    /** The closed figures of a campaign. `utm` is the hash of its utm values. */
    closed(customer: string, utm: Buffer): { since: number; part: Part<string> | undefined } {
      const row = reading(() => closed.get(utm, customer))
      const part = row?.figures ? (JSON.parse(row.figures) as Part<string>) : undefined
      return { since: row?.until ?? 0, part }
    },
    /** The utm values of a customer's e-mail campaigns. Only these have reports. */
    campaigns: (customer: string): readonly Utm[] =>
      reading(() => campaigns.all(customer)).map((head) => JSON.parse(head).tracking),
    close: () => void database.close(),
  }
}

import Database from 'better-sqlite3'
import { explain, isDamaged } from './database.ts'

/** An event, as far as reports need it. */
export type Row = {
  readonly seq: number
  readonly id: Buffer
  readonly at: number
  readonly receivedAt: number
  readonly operation: string
  readonly event: string
  readonly did: string | null
  readonly payload: string
}

/** A campaign, as far as reports need it. */
export type CampaignRow = { readonly seq: number; readonly customer: string; readonly head: string }

/** The event log, as reports read it. */
export type ReportLog = ReturnType<typeof openLog>

/**
 * Opens the log for reading; another thread writes it meanwhile.
 *
 * @throws Error that names the file, here and in everything that reads: what fails here is no damage of the
 *   reports.
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

  /** One after the other: a slice of large rows never is in memory as a whole. */
  function* each<Bound extends unknown[], Result>(
    statement: Database.Statement<Bound, Result>,
    ...bound: Bound
  ): Generator<Result, void> {
    const found = reading(() => statement.iterate(...bound))
    try {
      for (;;) {
        const { value, done } = reading(() => found.next())
        if (done) return
        yield value
      }
    } finally {
      found.return?.()
    }
  }

  const { database, last, lastOf, idAt, next, between, rows, campaigns } = reading(() => {
    const database = new Database(file, { readonly: true, fileMustExist: true, timeout: 5_000 })
    return {
      database,
      last: database.prepare<[], number | null>('SELECT max(seq) FROM events').pluck(),
      lastOf: database
        .prepare<[string], number | null>(
          'SELECT max(seq) FROM events INDEXED BY events_by_customer WHERE customer = ?',
        )
        .pluck(),
      idAt: database.prepare<[number], Buffer>('SELECT id FROM events WHERE seq = ?').pluck(),
      next: database
        .prepare<[string], string | null>(
          'SELECT min(customer) FROM events INDEXED BY events_by_customer WHERE customer > ?',
        )
        .pluck(),
      // By position: the planner would rather read an index of all events.
      between: database
        .prepare<[number, number], string>(
          'SELECT DISTINCT customer FROM events NOT INDEXED WHERE seq > ? AND seq <= ?',
        )
        .pluck(),
      rows: database.prepare<[string, number, number, number], Row>(
        `SELECT seq, id, at, received_at AS receivedAt, operation, event, did, payload
         FROM events INDEXED BY events_by_customer
         WHERE customer = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
      ),
      campaigns: database.prepare<[number, number], CampaignRow>(
        `SELECT seq, customer, head FROM campaigns
         WHERE seq > ? AND type = 'email' ORDER BY seq LIMIT ?`,
      ),
    }
  })
  return {
    /** The last position, of everything or of a customer's events; 0 where there is none. */
    end: (customer?: string) =>
      reading(() => (customer === undefined ? last.get() : lastOf.get(customer))) ?? 0,
    idAt: (seq: number) => reading(() => idAt.get(seq)),
    /** The first customer with events whose id comes after another one's in the order of texts. */
    customerAfter: (customer: string) => reading(() => next.get(customer)) ?? undefined,
    /** Of whom the events behind `after` up to `upTo` are. */
    customersBetween: (after: number, upTo: number) => reading(() => between.all(after, upTo)),
    /** A customer's events behind `after`, up to `upTo`. */
    events: (customer: string, after: number, upTo: number, max: number) =>
      each(rows, customer, after, upTo, max),
    /** Campaigns of all customers that can have a report, in the order in which they were created. */
    campaigns: (after: number, max: number) => each(campaigns, after, max),
    close: () => void database.close(),
  }
}

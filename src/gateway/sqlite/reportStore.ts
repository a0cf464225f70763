import { rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { ReportFigures } from '../campaigns/report.ts'
import type { Utm } from '../campaigns/utm.ts'
import { type Counter, createCounter, type Progress, type ReportBounds } from './reportCounter.ts'
import { DAILY_BOUNDS } from './reportCustomers.ts'
import { openLog } from './reportLog.ts'
import { isDamage, openReports } from './reportTables.ts'

/** The files of a store of reports. */
export type ReportFiles = {
  /** The event log's; it is only read. */
  readonly eventsFile: string
  /** Made where it is missing, and again where it is damaged or of another version or log. */
  readonly reportsFile: string
}

/** Reports over one log. Everything here is synchronous; the thread is where that hurts nobody. */
export type ReportStore = {
  /** The position of a customer's last event in the log, 0 where it has none. */
  end(customer: string): number
  /** Position up to which a customer's events are counted, 0 where none is. */
  counted(customer: string): number
  /**
   * Counts at most `max` further events, in one transaction: a few of each customer that has news, in turn.
   *
   * @param wanted Customers that go first; it ends once all of theirs is counted. Default none.
   */
  rollUp(max: number, wanted?: readonly string[]): Progress
  /** The figures of what is counted; undefined where that is not all up to a position (any more). */
  read(customer: string, utm: Utm, upTo: number): ReportFigures | undefined
  /** Moves what was written to its place in the file, in a quiet moment: else a report may wait for it. */
  tidy(): void
  close(): void
}

/** More events than these that late visits take over are no person's; see createTrail. */
const MOST_MOVED = 2_000

/**
 * Opens the reports of a log. A reports file that can not be used is deleted: all in it is counted again,
 * now or when the damage shows.
 *
 * Several gateways may share both files: a slice is counted by one of them, and the others go on behind it.
 * Each customer's events are counted in the order of the log, and whatever the others have done.
 *
 * @param bounds Default 2,000 events that late visits move a device, and DAILY_BOUNDS.
 * @throws Error when the log can not be read, or the reports can not be written.
 */
export function openReportStore(
  files: ReportFiles,
  { mostMoved = MOST_MOVED, daily = DAILY_BOUNDS }: Partial<ReportBounds> = {},
): ReportStore {
  const log = openLog(files.eventsFile)
  /** Missing while the reports could not be begun anew. */
  let counter: Counter | undefined
  try {
    counter = open()
  } catch (error) {
    log.close()
    throw error
  }

  function open(): Counter {
    try {
      return connect()
    } catch (error) {
      if (!isDamage(error)) throw explain(error)
      remove(files.reportsFile)
      return connect()
    }
  }

  function connect(): Counter {
    const database = openReports(files.reportsFile)
    try {
      return createCounter(database, log, { mostMoved, daily })
    } catch (error) {
      database.close()
      throw error
    }
  }

  /** Runs what reads or writes the reports; where that shows damage, they are begun anew. */
  function mending<Result>(run: (counter: Counter) => Result): Result {
    try {
      counter ??= open()
      return run(counter)
    } catch (error) {
      if (!isDamage(error)) throw explain(error)
      counter?.close()
      counter = undefined
      remove(files.reportsFile)
      counter = open()
      return run(counter)
    }
  }

  function explain(error: unknown): unknown {
    if (!(error instanceof Database.SqliteError)) return error
    return new Error(`${files.reportsFile} can not be written: ${error.message}`, { cause: error })
  }

  return {
    end: (customer) => log.end(customer),
    counted: (customer) => mending((counter) => counter.counted(customer)),
    rollUp: (max, wanted = []) => mending((counter) => counter.rollUp(max, wanted)),
    read: (customer, utm, upTo) => mending((counter) => counter.read(customer, utm, upTo)),
    tidy: () => mending((counter) => counter.tidy()),
    close() {
      counter?.close()
      log.close()
    },
  }
}

function remove(file: string): void {
  for (const path of [file, `${file}-wal`, `${file}-shm`]) rmSync(path, { force: true })
}

import { rmSync } from 'node:fs'
import type { ReportFigures } from '../campaigns/report.ts'
import { DEFAULT_VIEW, type ReportView } from '../campaigns/reportView.ts'
import type { Utm } from '../campaigns/utm.ts'
import { isSqliteError } from './driver.ts'
import {
  createReportConnection,
  type ReportBounds,
  type ReportConnection,
} from './reportConnection.ts'
import { openLog } from './reportLog.ts'
import { isDamage, openReports } from './reportTables.ts'

/** The files of a store of reports. */
export type ReportFiles = {
  /** The file of the event log. It is only read. */
  readonly eventsFile: string
  /** Created if it is missing, and again if it is damaged or of another version or log. */
  readonly reportsFile: string
}

/** Reports over one log. Every function is synchronous, so they run in a thread of their own. */
export type ReportStore = Omit<ReportConnection, 'read' | 'reached'> & {
  /** The position of a customer's last event in the log; 0 if it has none. */
  end(customer: string): number
  /** Positions of the log that are not read yet, of all customers. */
  lag(): number
  /** Whether a customer has an e-mail campaign. */
  hasCampaign(customer: string): boolean
  /**
   * The figures of a campaign. Undefined if the customer's events are not read up to the position `upTo`, or if there
   * is more to add up than one call does. Then call it again.
   *
   * @param view Default: DEFAULT_VIEW.
   */
  read(customer: string, utm: Utm, upTo: number, view?: ReportView): ReportFigures | undefined
}

/**
 * Opens the reports of a log. A reports file that can not be used is deleted, now or when the damage shows, and
 * everything is read from the log again.
 *
 * Several gateways may share both files: each event is read by one of them, and the others continue after it.
 *
 * @throws Error if the log can not be read, or the reports can not be written.
 */
export function openReportStore(
  files: ReportFiles,
  bounds: Partial<ReportBounds> = {},
): ReportStore {
  const log = openLog(files.eventsFile)
  /** Undefined if a damaged file could not be replaced. */
  let connection: ReportConnection | undefined
  try {
    connection = open()
  } catch (error) {
    log.close()
    throw error
  }

  function open(): ReportConnection {
    try {
      return connect()
    } catch (error) {
      if (!isDamage(error)) throw explain(error)
      remove(files.reportsFile)
      return connect()
    }
  }

  function connect(): ReportConnection {
    const database = openReports(files.reportsFile)
    try {
      return createReportConnection(database, log, bounds)
    } catch (error) {
      database.close()
      throw error
    }
  }

  /** Runs a read or a write of the reports. If it finds damage, deletes the file and runs it again with a new one. */
  function mending<Result>(run: (connection: ReportConnection) => Result): Result {
    try {
      connection ??= open()
      return run(connection)
    } catch (error) {
      if (!isDamage(error)) throw explain(error)
      connection?.close()
      connection = undefined
      remove(files.reportsFile)
      connection = open()
      return run(connection)
    }
  }

  function explain(error: unknown): unknown {
    if (!isSqliteError(error)) return error
    return new Error(`${files.reportsFile} can not be written: ${error.message}`, { cause: error })
  }

  return {
    end: (customer) => log.end(customer),
    position: (customer) => mending((connection) => connection.position(customer)),
    lag: () => Math.max(log.end() - mending((connection) => connection.reached()), 0),
    follow: (max, customer) => mending((connection) => connection.follow(max, customer)),
    read: (customer, utm, upTo, view = DEFAULT_VIEW) =>
      mending((connection) => connection.read(customer, utm, upTo, view)),
    planClosing: (customer, timeZone) =>
      mending((connection) => connection.planClosing(customer, timeZone)),
    joinBlock: (block) => mending((connection) => connection.joinBlock(block)),
    closeBlock: (plan, block, until) =>
      mending((connection) => connection.closeBlock(plan, block, until)),
    hasCampaign: (customer) => log.campaigns(customer).length > 0,
    forgetClosed: () => mending((connection) => connection.forgetClosed()),
    forgetSwept: () => mending((connection) => connection.forgetSwept()),
    forgetEvents: (customer, events) =>
      mending((connection) => connection.forgetEvents(customer, events)),
    forgetDevices: (customer, dids) =>
      mending((connection) => connection.forgetDevices(customer, dids)),
    clearWal: () => mending((connection) => connection.clearWal()),
    close() {
      connection?.close()
      log.close()
    },
  }
}

function remove(file: string): void {
  for (const path of [file, `${file}-wal`, `${file}-shm`]) rmSync(path, { force: true })
}

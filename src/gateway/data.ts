import { join } from 'node:path'
import type { Campaigns } from './campaigns.ts'
import { type Customers, createCustomers } from './customers.ts'
import { makePair } from './databasePair.ts'
import { prepareDataFolder } from './dataFolder.ts'
import type { EventLog } from './eventLog.ts'
import { createGroupCommit, type OnCommit, type QueueLimits } from './groupCommit.ts'
import type { Reports } from './report.ts'
import { createSqliteCampaigns } from './sqlite/campaigns.ts'
import { createSqliteLog } from './sqlite/eventLog.ts'
import { filesOf } from './sqlite/files.ts'
import { watchFiles } from './sqlite/fileWatch.ts'
import { createSqliteReports } from './sqlite/reports.ts'
import { startSupervisedThread } from './sqlite/supervisedThread.ts'
import { goneError } from './sqlite/thread.ts'

/** Where the data is, and who is told of it. */
export type DataOptions = {
  /** Folder of the databases, made where it is missing. */
  readonly dataDir: string
  /** Bundle of sqlite/worker.ts, with report-worker.js beside it. */
  readonly workerFile: URL
  /** Bounds of the queue in front of the log. */
  readonly queue?: QueueLimits | undefined
  /** The clock, ms since 1970. */
  readonly now: () => number
  readonly onCommit: OnCommit
  /** Told of each end of the reports' thread, which is started again. */
  readonly onReportsEnd: (error: unknown) => void
  /** Told when `findFault` may answer something else. */
  readonly onChange: () => void
  /** Told once that the data can not be used any more: a file is gone, or the log's thread can not come back. */
  readonly onFatal: (error: Error) => void
}

/** All that a gateway keeps. */
export type Data = {
  readonly customers: Customers
  readonly log: EventLog & { readonly depth: () => number }
  readonly campaigns: Campaigns
  readonly reports: Reports
  /** Why the gateway is not ready; undefined where it is. */
  findFault(): string | undefined
  /** Stores what was accepted, and lets go of the files. */
  close(): Promise<void>
}

/**
 * Opens the databases of a folder, and makes them where there are none.
 *
 * @throws DataMismatch where they are not those of the last start. Error that names the file or the folder and what to do, where they can not be opened.
 */
export async function openData(options: DataOptions): Promise<Data> {
  const { dataDir, workerFile, onChange } = options
  const customersFile = join(dataDir, 'customers.db')
  const eventsFile = join(dataDir, 'events.db')
  let fatal: string | undefined

  function fail(error: Error): void {
    if (fatal !== undefined) return
    fatal = error.message
    options.onFatal(error)
  }

  prepareDataFolder(dataDir)
  makePair(dataDir)
  const stored = createCustomers(customersFile, options.now)
  const customers = { ...stored, fault: () => fatal ?? stored.fault() }
  try {
    const thread = await startSupervisedThread(eventsFile, workerFile, { onFatal: fail, onChange })
    const log = createGroupCommit(createSqliteLog(thread), options.queue, options.onCommit)
    const reports = createSqliteReports({
      eventsFile,
      reportsFile: join(dataDir, 'reports.db'),
      workerFile: new URL('./report-worker.js', workerFile),
      onEnd: options.onReportsEnd,
    })
    const watched = [customersFile, ...filesOf(customersFile)]
    const stopWatching = watchFiles(watched, (path) => fail(goneError(path)))
    return {
      ...{ customers, log, reports, campaigns: createSqliteCampaigns(thread) },
      findFault() {
        const { writable, reason = 'the event log can not be written' } = log.health()
        return customers.fault() ?? (writable ? undefined : reason)
      },
      async close() {
        stopWatching()
        await reports.close()
        await log.close()
        stored.close()
      },
    }
  } catch (error) {
    stored.close()
    throw error
  }
}

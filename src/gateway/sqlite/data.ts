import { join } from 'node:path'
import { createGroupCommit, type OnCommit, type QueueLimits } from '../collect/groupCommit.ts'
import type { Data } from '../engine/data.ts'
import type { StateNews } from '../forward/stateNews.ts'
import { upgradeData } from './backup/upgrade.ts'
import { createSqliteCampaigns } from './campaigns.ts'
import { createSqliteCustomers } from './customers.ts'
import { openPair } from './databasePair.ts'
import { prepareDataFolder } from './dataFolder.ts'
import { createSqliteDaySalt } from './daySalt.ts'
import { DEFAULT_RESERVE_BYTES, type DiskOptions, keepReserve, watchDisk } from './disk.ts'
import { createSqliteLog } from './eventLog.ts'
import { createSqliteExpiredEvents } from './expiredEvents.ts'
import { filesOf } from './files.ts'
import { watchFiles } from './fileWatch.ts'
import { createSqliteForwarding } from './forwarding.ts'
import { refuseMirrored } from './mirrorRows.ts'
import { createSqliteOrders } from './orders.ts'
import { createSqlitePeople } from './people.ts'
import { createSqliteReports } from './reports.ts'
import { startSupervisedThread } from './supervisedThread.ts'
import { goneError } from './thread.ts'

/** The place of the data, and the callbacks for changes. */
export type DataOptions = {
  /** Folder of the databases. Created if it is missing. */
  readonly dataDir: string
  /** Bundle of sqlite/worker.ts, with report-worker.js, person-worker.js and forward-worker.js in the same folder. */
  readonly workerFile: URL
  /** Bounds of the queue in front of the log. */
  readonly queue?: QueueLimits | undefined
  /** Whether databases of an earlier version are backed up before they are upgraded. Default true. */
  readonly upgradeBackup?: boolean | undefined
  /** Called with each step of an upgrade. */
  readonly onUpgrade?: ((step: string) => void) | undefined
  /** See DiskOptions. Default DEFAULT_RESERVE_BYTES. */
  readonly diskReserveBytes?: number | undefined
  /** Called when the disk gets low or full, and when it is not any more. */
  readonly onDisk?: DiskOptions['onChange'] | undefined
  /** The clock, ms since 1970. */
  readonly now: () => number
  readonly onCommit: OnCommit
  /** Called each time the reports' thread has ended. It is restarted. */
  readonly onReportsEnd: (error: unknown) => void
  /** Called when the salt of a day that is over can not be forgotten. */
  readonly onSaltError: (error: unknown) => void
  /** The same for the thread that searches for persons. */
  readonly onPeopleEnd: (error: unknown) => void
  /** Called when the thread that forwards has ended, and with its errors. It continues. */
  readonly onForwardingError: (error: unknown) => void
  /** Called when a destination does not take events, and when it does so again. */
  readonly onDestination?: ((news: StateNews) => void) | undefined
  /** Called when the result of `findFault` may have changed. */
  readonly onChange: () => void
  /** Called once, when only a new process may help: a file is gone, or the log's thread can not be restarted. */
  readonly onFatal: (error: Error) => void
}

/**
 * Opens the databases of a folder. Creates them in a new one, and upgrades those of an earlier version.
 *
 * @throws InUse while another process upgrades or restores them. DataMismatch if they are not those of the last start. Error that names the file or folder and the remedy, if
 * they can not be opened.
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
  refuseMirrored(customersFile)
  const { upgradeBackup: backup, onUpgrade: onStep, now } = options
  await upgradeData({ dataDir, backup, onStep, now })
  const closePair = openPair(dataDir)
  // The thread starts while this one opens the customers.
  const starting = startSupervisedThread(eventsFile, workerFile, { onFatal: fail, onChange })
  const [stored, started] = await openBoth(
    () => createSqliteCustomers(customersFile, now),
    starting,
  ).finally(closePair)
  const customers = { ...stored, fault: () => fatal ?? stored.fault() }
  const disk = await watchDisk({
    folder: dataDir,
    reserveBytes: options.diskReserveBytes ?? DEFAULT_RESERVE_BYTES,
    onChange(state, space) {
      onChange()
      options.onDisk?.(state, space)
    },
  })
  try {
    const thread = keepReserve(started, disk)
    const log = createGroupCommit(createSqliteLog(thread), options.queue, options.onCommit)
    const reportsFile = join(dataDir, 'reports.db')
    const reports = createSqliteReports({
      eventsFile,
      reportsFile,
      workerFile: new URL('./report-worker.js', workerFile),
      writeClosed: (closing) => thread.call('closeFigures', closing),
      onEnd: options.onReportsEnd,
    })
    const salt = createSqliteDaySalt(join(dataDir, 'salt.db'), options.now, options.onSaltError)
    const forwardFile = join(dataDir, 'forward.db')
    const people = createSqlitePeople({
      eventsFile,
      reportsFile,
      forwardFile,
      workerFile: new URL('./person-worker.js', workerFile),
      onEnd: options.onPeopleEnd,
    })
    const forwarding = createSqliteForwarding({
      forwardFile,
      eventsFile,
      customersFile,
      folder: join(dataDir, 'forward'),
      workerFile: new URL('./forward-worker.js', workerFile),
      onEnd: options.onForwardingError,
      onError: options.onForwardingError,
      ...(options.onDestination && { onNews: options.onDestination }),
    })
    const watched = [customersFile, ...filesOf(customersFile)]
    const stopWatching = watchFiles(watched, (path) => fail(goneError(path)))
    return {
      customers,
      pinned: stored.pinned,
      sessions: stored.sessions,
      log,
      reports,
      daySalt: salt.daySalt,
      people,
      forwarding,
      counts: {
        write: (batch) => thread.call('writeCounts', batch),
        readProblems: (customer, fromDay) => thread.call('readProblems', customer, fromDay),
        readCoverage: (customer, now) => thread.call('readCoverage', customer, now),
      },
      campaigns: createSqliteCampaigns(thread.call),
      orders: createSqliteOrders(thread.call),
      expiredEvents: createSqliteExpiredEvents(thread.call),
      // Every change is durable when its call returns.
      saved: async () => {},
      findFault() {
        const { writable, reason = 'the event log can not be written' } = log.health()
        return customers.fault() ?? (writable ? undefined : reason)
      },
      async close() {
        stopWatching()
        disk.stop()
        salt.close()
        await Promise.all([reports.close(), people.close(), forwarding.close()])
        await log.close()
        stored.close()
      },
    }
  } catch (error) {
    disk.stop()
    stored.close()
    throw error
  }
}

/** @throws The first error, after the other one is closed. */
async function openBoth<One extends Closable, Other extends Closable>(
  open: () => One,
  opening: Promise<Other>,
): Promise<[One, Other]> {
  const [one, other] = await Promise.allSettled([(async () => open())(), opening])
  if (one.status === 'fulfilled' && other.status === 'fulfilled') return [one.value, other.value]
  for (const result of [one, other]) if (result.status === 'fulfilled') await result.value.close()
  throw [one, other].find((result) => result.status === 'rejected')?.reason
}

type Closable = { close(): unknown }

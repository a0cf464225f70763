import { Worker } from 'node:worker_threads'
import type { Reports } from '../campaigns/report.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { Closing } from './closedFigures.ts'
import { type Remote, remote } from './remote.ts'
import type { ReportFiles } from './reportStore.ts'
import type { Behind, Served, Start } from './reportWorker.ts'
import { createRestart, type RestartOptions } from './restart.ts'

/** Options of createSqliteReports. */
export type ReportOptions = ReportFiles & {
  /** The bundle of reportWorker.ts, in the folder of the gateway's bundle. */
  readonly workerFile: URL
  /** Writes closed figures to the log, see ClosedFigures. */
  readonly writeClosed: (closing: Closing) => Promise<boolean>
  /** How long `read` waits for the log to be read, ms. Default 5,000. */
  readonly patienceMs?: number
  /** Called each time the thread has ended without `close`. */
  readonly onEnd?: (error: Error) => void
  /** Delays of the restarts. Default: 0.5 s, doubled each time, up to 60 s. */
  readonly backoff?: Pick<RestartOptions, 'baseMs' | 'maxMs'>
}
/** Retry-After of a report that is not ready, or fails, seconds. */
const RETRY_SECONDS = 5
/**
 * Memory limits of the thread. It needs less than 10 MB. Without limits it keeps three times as much garbage; with a young
 * generation of 4 MB it spends a third of its time on collecting it.
 */
const LIMITS = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 64 }

/** A thread that does not answer within `patienceMs` and this time hangs, ms. */
const GRACE_MS = 10_000
const BACKOFF = { baseMs: 500, maxMs: 60_000 }

/**
 * Reports over the SQLite log, in a thread that starts with the first call of `follow` or `read` and follows the log
 * from then on. A thread that ends is restarted with backoff, without a limit; until then `read` rejects with
 * Unavailable.
 *
 * Several gateways of one machine may share both files. Everything in the reports file can be read again from the log,
 * so it may be deleted while no gateway runs.
 *
 * `read` waits `patienceMs` for events of its customer that are not read yet, such as after an upgrade or a deletion.
 * Then it rejects with Unavailable, whose message has the progress, and the thread continues.
 */
export function createSqliteReports(options: ReportOptions): Reports {
  const {
    workerFile,
    eventsFile,
    reportsFile,
    writeClosed,
    patienceMs = 5_000,
    onEnd = () => {},
  } = options
  let thread: Remote<Served> | undefined
  /** Why the thread has ended. Undefined while it runs, and before it was started. */
  let endError: Error | undefined
  let isClosed = false
  const restart = createRestart({ ...BACKOFF, ...options.backoff, start })

  function start(): void {
    endError = undefined
    const worker = new Worker(workerFile, {
      workerData: { eventsFile, reportsFile, patienceMs } satisfies Start,
      name: 'reports',
      resourceLimits: LIMITS,
    })
    thread = remote<Served>(worker, {
      subject: 'The reports',
      deadlineMs: patienceMs + GRACE_MS,
      unlimited: ['sum'],
      onEnd: ended,
    })
    thread.ready.catch(ended)
  }

  function ended(error: Error): void {
    if (isClosed) return
    thread = undefined
    endError = error
    restart.ended(error)
    onEnd(error)
  }

  function running(): Remote<Served> {
    if (isClosed) throw new Unavailable('The reports are closed', RETRY_SECONDS)
    if (!thread && !endError) start()
    if (!thread) throw new Unavailable('The reports are being restarted', RETRY_SECONDS, endError)
    return thread
  }

  return {
    follow() {
      if (!isClosed && !thread && !endError) start()
    },
    async read(customer, tracking, view) {
      const read = await running().call('read', customer, tracking, view)
      if ('end' in read) throw notReady(read)
      return read
    },
    async lag() {
      return thread?.call('lag')
    },
    async closeFigures(customer, before, timeZone) {
      const closing = await running().call('sum', customer, before, timeZone)
      if (!closing || (await writeClosed(closing))) return
      throw new Unavailable('Another gateway has closed the figures', RETRY_SECONDS)
    },
    async close() {
      isClosed = true
      restart.stop()
      await thread?.close()
    },
  }
}

const notReady = ({ seq, end }: Behind): Unavailable =>
  new Unavailable(
    `The report is not ready yet: it is counted up to event ${seq} of ${end} of the log. Ask again`,
    RETRY_SECONDS,
  )

import { Worker } from 'node:worker_threads'
import type { ReportFigures, Reports } from '../campaigns/report.ts'
import type { Utm } from '../campaigns/utm.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { ReportFiles } from './reportStore.ts'
import { createRestart, type RestartOptions } from './restart.ts'

type Asked =
  | { readonly kind: 'read'; readonly customer: string; readonly tracking: Utm }
  | { readonly kind: 'close' }
/** What the thread is asked; the reply carries the same number. */
export type Question = Asked & { readonly number: number }
export type Reply =
  | { readonly number: number; readonly value: ReportFigures | undefined }
  /** The customer's events are not counted as far as the question needs; it goes on. */
  | { readonly number: number; readonly behind: Behind }
  | { readonly number: number; readonly error: string }

/** Positions in the log. */
type Behind = {
  /** Up to which the customer's events are counted. */
  readonly seq: number
  /** Up to which they must be. */
  readonly end: number
}

/** What createSqliteReports needs. */
export type ReportOptions = ReportFiles & {
  /** The bundle of reportWorker.ts, which the build writes beside the gateway's. */
  readonly workerFile: URL
  /** How long `read` waits for the log to be counted, ms. Default 5,000. */
  readonly patienceMs?: number
  /** Called each time the thread has ended without `close`. */
  readonly onEnd?: (error: unknown) => void
  /** Delays of the restarts. Default: 0.5 s, doubled each time, up to 60 s. */
  readonly backoff?: Pick<RestartOptions, 'baseMs' | 'maxMs'>
}
/** What the thread is started with. */
export type Start = ReportFiles & { readonly patienceMs: number }

type Thread = {
  ask(question: Asked): Promise<ReportFigures | undefined>
  end(): Promise<unknown>
}

/** When to ask again for a report that is not ready, or fails, seconds. */
const RETRY_SECONDS = 5
/** Of the thread. It keeps under 10 MB; without a bound it lets three times as much garbage lie about. */
const LIMITS = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 }

/** A thread that does not answer within its patience and this hangs, ms. */
const GRACE_MS = 10_000
const BACKOFF = { baseMs: 500, maxMs: 60_000 }

/**
 * Reports over the SQLite log, in a thread of their own that starts with the first call of `follow` or
 * `read` and follows the log from then on. Who never calls them pays nothing. A thread that ends is
 * restarted with backoff, without a limit; until then `read` rejects with Unavailable.
 *
 * Several gateways of one machine may share both files. The reports file holds only what can be counted
 * again from the log: it may be deleted while no gateway runs.
 *
 * `read` waits `patienceMs` for what is not counted yet of its customer, as after an upgrade or a deletion;
 * then it rejects with Unavailable, whose message says how far that is, and the counting goes on.
 */
export function createSqliteReports(options: ReportOptions): Reports {
  const { workerFile, eventsFile, reportsFile, patienceMs = 5_000, onEnd = () => {} } = options
  let thread: Thread | undefined
  /** Why the thread has ended; undefined while it runs or before it was started. */
  let away: unknown
  let isClosed = false
  const restart = createRestart({ ...BACKOFF, ...options.backoff, start })

  function start(): void {
    away = undefined
    thread = startThread(workerFile, { eventsFile, reportsFile, patienceMs }, (error) => {
      if (isClosed) return
      thread = undefined
      away = error
      restart.ended(error instanceof Error ? error : new Error(String(error)))
      onEnd(error)
    })
  }

  return {
    follow() {
      if (!isClosed && !thread && !away) start()
    },
    async read(customer, tracking) {
      if (isClosed) throw new Unavailable('The reports are closed', RETRY_SECONDS)
      if (away) throw failed(away)
      if (!thread) start()
      return (await thread?.ask({ kind: 'read', customer, tracking })) as ReportFigures
    },
    async close() {
      isClosed = true
      restart.stop()
      await thread?.end()
    },
  }
}

function startThread(workerFile: URL, start: Start, onEnd: (error: unknown) => void): Thread {
  const worker = new Worker(workerFile, {
    workerData: start,
    name: 'reports',
    resourceLimits: LIMITS,
  })
  const waiting = new Map<
    number,
    {
      resolve: (figures: ReportFigures | undefined) => void
      reject: (error: Error) => void
      timer: NodeJS.Timeout
    }
  >()
  let asked = 0
  let isRunning = true

  worker.on('message', (reply: Reply) => {
    const promise = take(reply.number)
    if ('value' in reply) promise?.resolve(reply.value)
    else if ('behind' in reply) promise?.reject(notReady(reply.behind))
    else promise?.reject(failed(reply.error))
  })
  worker.on('error', lose)
  worker.on('exit', (code) => lose(new Error(`The thread has ended with code ${code}`)))

  /** The thread is gone, and with it the answers to what it was asked. */
  function lose(cause: unknown): void {
    if (!isRunning) return
    isRunning = false
    for (const number of [...waiting.keys()]) take(number)?.reject(failed(cause))
    onEnd(cause)
  }

  function take(number: number) {
    const promise = waiting.get(number)
    waiting.delete(number)
    clearTimeout(promise?.timer)
    return promise
  }

  /** Rejects a question that is not answered in time, such as on a disk that hangs. */
  function giveUp(number: number): void {
    take(number)?.reject(failed(new Error('The thread answers too slowly')))
  }

  function ask(question: Asked): Promise<ReportFigures | undefined> {
    asked++
    const number = asked
    return new Promise((resolve, reject) => {
      const timer = setTimeout(giveUp, start.patienceMs + GRACE_MS, number)
      waiting.set(number, { resolve, reject, timer })
      worker.postMessage({ ...question, number } satisfies Question)
    })
  }

  return {
    ask,
    async end() {
      // That it is gone already is no failure.
      if (isRunning) await ask({ kind: 'close' }).catch(() => {})
      await worker.terminate()
    },
  }
}

const notReady = ({ seq, end }: Behind): Unavailable =>
  new Unavailable(
    `The report is not ready yet: it is counted up to event ${seq} of ${end} of the log. Ask again`,
    RETRY_SECONDS,
  )

const failed = (cause: unknown): Unavailable =>
  new Unavailable('The report can not be read', RETRY_SECONDS, cause)

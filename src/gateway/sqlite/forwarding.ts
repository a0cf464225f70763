import { randomUUID } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { Forwarding } from '../forward/forwarding.ts'
import type { StateNews } from '../forward/stateNews.ts'
import type { ForwardFigures } from '../http/forwardMetrics.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { connect } from './driver.ts'
import type { ForwardFiles, ForwardReport, ForwardStart, Served } from './forwardWorker.ts'
import { type Remote, remote } from './remote.ts'
import { createRestart, type RestartOptions } from './restart.ts'

/** The forwarding of a gateway. */
export type ForwardingThread = Forwarding & {
  /** For metrics. */
  figures(): Promise<readonly ForwardFigures[]>
  close(): Promise<void>
}

/** Options of createSqliteForwarding. */
export type ForwardingOptions = ForwardFiles & {
  /** The bundle of forwardWorker.ts, in the folder of the gateway's bundle. */
  readonly workerFile: URL
  /** Called each time the thread has ended without `close`. */
  readonly onEnd?: (error: Error) => void
  /** Called with errors of the databases. The forwarding continues. */
  readonly onError?: (error: Error) => void
  /** Called when a destination does not take events, and when it does so again. */
  readonly onNews?: (news: StateNews) => void
  /** Delays of the restarts. Default: 0.5 s, doubled each time, up to 60 s. */
  readonly backoff?: Pick<RestartOptions, 'baseMs' | 'maxMs'>
}

/** Time between two checks whether there are destinations, until the thread is started, ms. */
const CHECK_MS = 1_000
/** Deadline of a call, ms. */
const DEADLINE_MS = 15_000
/** Retry-After, seconds. */
const RETRY_SECONDS = 5
/** Memory limits of the thread. */
const LIMITS = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 384 }
const BACKOFF = { baseMs: 500, maxMs: 60_000 }

/**
 * The forwarding, in a thread that starts when there is a destination, or with the first call that needs it. A thread
 * that ends is restarted with backoff, without a limit; until then calls are rejected with Unavailable.
 */
export function createSqliteForwarding(options: ForwardingOptions): ForwardingThread {
  const { workerFile, onEnd = () => {}, onError = () => {}, onNews, backoff, ...files } = options
  const owner = randomUUID()
  let thread: Remote<Served> | undefined
  /** Why the thread has ended. Undefined while it runs, and before it was started. */
  let endError: Error | undefined
  let isClosed = false
  /** Why the last look for destinations has failed, and what was reported of it. */
  let fault: string | undefined
  let told: string | undefined
  const restart = createRestart({ ...BACKOFF, ...backoff, start })
  const look = createLook(files.forwardFile)
  const timer = setInterval(check, CHECK_MS)
  timer.unref()
  check()

  function check(): void {
    try {
      if (look()) begin()
      fault = undefined
      told = undefined
    } catch (error) {
      const { message } = error as Error
      // A lock of a moment is none: the next look is soon.
      if (message === fault && message !== told) {
        onError(error as Error)
        told = message
      }
      fault = message
    }
  }

  function begin(): void {
    clearInterval(timer)
    if (!thread && !endError && !isClosed) start()
  }

  function start(): void {
    endError = undefined
    const worker = new Worker(workerFile, {
      workerData: { ...files, owner } satisfies ForwardStart,
      name: 'forward',
      resourceLimits: LIMITS,
    })
    worker.on('message', (message: ForwardReport) => {
      if ('report' in message) onError(new Error(message.report))
      if ('news' in message) onNews?.(message.news)
    })
    thread = remote<Served>(worker, {
      subject: 'The forwarding',
      deadlineMs: DEADLINE_MS,
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

  const call: Remote<Served>['call'] = (name, ...args) => {
    if (isClosed) return refuse('The forwarding is closed')
    begin()
    return thread ? thread.call(name, ...args) : refuse('The forwarding is being restarted')
  }

  const refuse = (message: string): Promise<never> =>
    Promise.reject(new Unavailable(message, RETRY_SECONDS, endError))

  // Without the file there is none, and no thread is needed to say so.
  const list: Forwarding['list'] = async (customer) =>
    thread || existsSync(files.forwardFile) ? call('list', customer) : []

  return {
    add: (given) => call('add', given),
    list,
    async figures() {
      const all = await list()
      return all.map(({ destination: { id }, state, ...figures }) => ({
        ...{ id, state: state.name },
        ...figures,
      }))
    },
    change: (customer, id, change) => call('change', customer, id, change),
    remove: (customer, id) => call('remove', customer, id),
    letters: (customer, id, asked) => call('letters', customer, id, asked),
    mend: (customer, id, patch, filter) => call('mend', customer, id, patch, filter),
    replay: (customer, id, filter) => call('replay', customer, id, filter),
    discard: (customer, id, filter) => call('discard', customer, id, filter),
    async close() {
      isClosed = true
      clearInterval(timer)
      restart.stop()
      await thread?.close()
    },
  }
}

/** Returns a function that says whether a file has destinations. It opens the file only if that was written. */
function createLook(file: string): () => boolean {
  let seen = ''
  const mark = (): string =>
    [file, `${file}-wal`]
      .map((path) => statSync(path, { throwIfNoEntry: false }))
      .map((stats) => `${stats?.mtimeMs} ${stats?.size}`)
      .join()
  return () => {
    const now = mark()
    if (now === seen || !existsSync(file)) return false
    // The next look is soon, so the gateway does not wait for a lock.
    const database = connect(file, { readonly: true, timeout: 0 })
    try {
      const hasTable = database
        .prepare("SELECT 1 FROM sqlite_schema WHERE name = 'destinations'")
        .get()
      const has = !!hasTable && !!database.prepare('SELECT 1 FROM destinations LIMIT 1').get()
      // Not after an error, or a gateway that could not read it at its start would not forward.
      seen = now
      return has
    } finally {
      database.close()
    }
  }
}

import { basename } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { CampaignQuery } from '../campaigns/campaigns.ts'
import type { Range } from '../collect/eventLog.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { CampaignRow } from './campaignRows.ts'
import type { Cell } from './cells.ts'
import { filesOf } from './files.ts'
import { watchFiles } from './fileWatch.ts'

/** What the thread can be asked. */
export type Asked =
  | { readonly kind: 'append'; readonly cells: readonly Cell[] }
  | { readonly kind: 'hasEvents'; readonly customer: string; readonly ids: readonly string[] }
  | { readonly kind: 'read'; readonly range: Range }
  | { readonly kind: 'findTail'; readonly customer: string; readonly max: number }
  | { readonly kind: 'createCampaign'; readonly customer: string; readonly row: CampaignRow }
  | { readonly kind: 'findCampaigns'; readonly customer: string; readonly ids: readonly string[] }
  | { readonly kind: 'findHead'; readonly customer: string; readonly id: string }
  | {
      readonly kind: 'listCampaigns' | 'listSizes'
      readonly customer: string
      readonly query: CampaignQuery
    }
  | { readonly kind: 'probe' | 'version' | 'usage' | 'hasEmail' | 'close' }
/** The reply carries the same number. */
export type Question = Asked & { readonly number: number }
/** Number 0 is the first word of the worker: the store is open. */
export type Reply =
  | { readonly number: number; readonly value: unknown }
  /** `isDamage`: the file is damaged, and `error` names it and the remedy. */
  | { readonly number: number; readonly error: string; readonly isDamage: boolean }

/** The thread that has the SQLite file of the events and the campaigns. It answers in order. */
export type SqliteThread = {
  /**
   * Rejects with Unavailable if it fails, if the thread ends meanwhile (then the outcome is unknown), and after
   * `close`.
   */
  ask(question: Asked): Promise<unknown>
  /** Why every question is rejected; undefined while they are not. */
  fault(): string | undefined
  /** Resolves when what was asked before is done and the file is closed. */
  close(): Promise<void>
}

/** Options of a thread. */
export type ThreadOptions = {
  /** Called once, if the thread has ended without `close`. */
  readonly onEnd?: (error: Error) => void
  /** Called once, if the file, its -wal or its -shm was removed or replaced. All questions are rejected from then on. */
  readonly onGone?: (error: Error) => void
  /**
   * Deadline of every question except `append`, ms. Default 15,000. The queue in front of the log has a deadline for
   * appends.
   */
  readonly deadlineMs?: number
}

/** Retry-After, seconds. */
const RETRY_SECONDS = 5
const DEADLINE_MS = 15_000
/**
 * Far above what a commit or a list needs (about 50 MB). A leak ends the thread, which is restarted, and not the
 * process.
 */
const LIMITS = { maxOldGenerationSizeMb: 256 }

/** The error of a file that is not the one that was opened. */
export const goneError = (path: string): Error =>
  new Error(`${basename(path)} was removed or replaced while the gateway had it open`)

/**
 * Starts the thread.
 *
 * @param file Path of the database, made where it is missing.
 * @param workerFile The bundle of worker.ts, which the build writes beside the gateway's.
 * @throws Error when the file can not be opened as a durable store.
 */
export async function startSqliteThread(
  file: string,
  workerFile: URL,
  options: ThreadOptions = {},
): Promise<SqliteThread> {
  const { onEnd = () => {}, onGone = () => {}, deadlineMs = DEADLINE_MS } = options
  const worker = new Worker(workerFile, {
    workerData: file,
    name: 'sqlite',
    resourceLimits: LIMITS,
  })
  const waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void; timer?: NodeJS.Timeout }
  >()
  let asked = 0
  let isRunning = true
  let isClosing = false
  let fault: string | undefined
  let stopWatching = () => {}
  let closed: Promise<void> | undefined

  worker.on('message', (reply: Reply) => {
    const promise = take(reply.number)
    if (!('error' in reply)) return promise?.resolve(reply.value)
    if (reply.isDamage) fault ??= reply.error
    const message = reply.isDamage ? reply.error : 'The event log can not be written'
    promise?.reject(new Unavailable(message, RETRY_SECONDS, reply.error))
  })
  worker.on('error', (error) => end(error instanceof Error ? error : new Error(String(error))))
  worker.on('exit', (code) => end(new Error(`Its thread has ended with code ${code}`)))
  const opened = new Promise<unknown>((resolve, reject) => waiting.set(0, { resolve, reject }))
  await opened
  try {
    // The given path too: a symbolic link in it may be changed, while the files at its former target stay.
    stopWatching = watchFiles([file, ...filesOf(file)], (path) => {
      const error = goneError(path)
      fault ??= error.message
      onGone(error)
    })
  } catch (error) {
    isClosing = true
    await worker.terminate()
    throw error
  }

  function take(number: number) {
    const promise = waiting.get(number)
    waiting.delete(number)
    clearTimeout(promise?.timer)
    return promise
  }

  /** The thread is gone, and with it the answers to what it was asked. */
  function end(error: Error): void {
    if (!isRunning) return
    isRunning = false
    stopWatching()
    fault ??= error.message
    const isOpen = !waiting.has(0)
    take(0)?.reject(error)
    const lost = new Unavailable('The event log has ended, the outcome is unknown', RETRY_SECONDS)
    for (const number of [...waiting.keys()]) take(number)?.reject(lost)
    if (isOpen && !isClosing) onEnd(error)
  }

  function send(question: Asked): Promise<unknown> {
    asked++
    const number = asked
    return new Promise((resolve, reject) => {
      const timer = question.kind === 'append' ? undefined : setTimeout(giveUp, deadlineMs, number)
      waiting.set(number, { resolve, reject, ...(timer && { timer }) })
      worker.postMessage({ ...question, number } satisfies Question)
    })
  }

  /** Rejects a question whose deadline is over, such as on a disk that hangs. */
  function giveUp(number: number): void {
    take(number)?.reject(new Unavailable('The event log answers too slowly', RETRY_SECONDS))
  }

  return {
    ask(question) {
      if (isClosing || fault !== undefined)
        return Promise.reject(new Unavailable(fault ?? 'The event log is closed', RETRY_SECONDS))
      return send(question)
    },
    fault: () => fault ?? (isClosing ? 'The event log is closed' : undefined),
    close() {
      closed ??= close()
      return closed
    },
  }

  async function close(): Promise<void> {
    isClosing = true
    stopWatching()
    // A failed close loses nothing: the next open reads the -wal.
    if (isRunning) await send({ kind: 'close' }).catch(() => {})
    await worker.terminate()
  }
}

import { Worker } from 'node:worker_threads'
import { type EventLog, type LogRecord, type Range, Unavailable } from '../eventLog.ts'
import { type Cell, toCells } from './cells.ts'

type Asked =
  | { readonly kind: 'append'; readonly cells: readonly Cell[] }
  | { readonly kind: 'read'; readonly range: Range }
  | { readonly kind: 'last'; readonly customer: string; readonly max: number }
  | { readonly kind: 'probe' | 'version' | 'close' }
/** What the worker is asked; the reply carries the same number. */
export type Question = Asked & { readonly number: number }
/** Number 0 is the first word of the worker: the store is open. */
export type Reply =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly error: string }

/** How often it is looked whether another process has written, while somebody listens, ms. */
const LOOK_MS = 500

/**
 * The log over one SQLite file in a worker thread: each append is one transaction. Several
 * gateways of one machine may share the file (a new one starts before the old one ends): each stores, and
 * each hears of the other's events within half a second.
 *
 * @param file Path of the database, made where it is missing.
 * @param workerFile The bundle of worker.ts, which the build writes beside the gateway's.
 * @throws Error when the file can not be opened as a durable store.
 */
export async function createSqliteLog(file: string, workerFile: URL): Promise<EventLog> {
  const worker = new Worker(workerFile, { workerData: file, name: 'sqlite' })
  const waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >()
  const listeners = new Set<() => void>()
  let asked = 0
  let lost: Error | undefined

  const opened = expectReply(0)
  worker.on('message', (reply: Reply) => {
    const promise = waiting.get(reply.number)
    waiting.delete(reply.number)
    if ('error' in reply)
      promise?.reject(new Unavailable('The event log can not be written', 5, reply.error))
    else promise?.resolve(reply.value)
  })
  worker.on('error', (error) => lose(error instanceof Error ? error : new Error(String(error))))
  worker.on('exit', () => lose(new Unavailable('The event log is closed', 5)))
  await opened

  function tellListeners(): void {
    for (const listener of listeners) listener()
  }

  let looking: NodeJS.Timeout | undefined
  let version: unknown
  /** The first look of a listener only learns where things stand; who listens reads once by itself. */
  function look(): void {
    ask({ kind: 'version' }).then(
      (seen) => {
        if (version !== undefined && seen !== version) tellListeners()
        version = seen
      },
      // The thread is gone: whoever asks it for something is told so.
      () => clearInterval(looking),
    )
  }

  function expectReply(number: number): Promise<unknown> {
    return new Promise((resolve, reject) => waiting.set(number, { resolve, reject }))
  }

  function ask(question: Asked): Promise<unknown> {
    if (lost) return Promise.reject(new Unavailable('The event log is closed', 5, lost))
    asked++
    const reply = expectReply(asked)
    worker.postMessage({ ...question, number: asked } satisfies Question)
    return reply
  }

  /** The thread is gone, and with it the answers to what it was asked. */
  function lose(error: Error): void {
    lost ??= error
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }

  return {
    async append(events) {
      const positions = (await ask({ kind: 'append', cells: toCells(events) })) as readonly number[]
      if (positions.some((seq) => seq > 0)) tellListeners()
      return positions.map((seq) => (seq > 0 ? 'stored' : 'duplicate'))
    },
    read: (range) => ask({ kind: 'read', range }) as Promise<readonly LogRecord[]>,
    last: (customer, max) => ask({ kind: 'last', customer, max }) as Promise<readonly LogRecord[]>,
    subscribe(listener) {
      listeners.add(listener)
      if (listeners.size === 1) {
        look()
        looking = setInterval(look, LOOK_MS)
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) clearInterval(looking)
      }
    },
    probe: () => ask({ kind: 'probe' }) as Promise<void>,
    health: () => (lost ? { writable: false, reason: lost.message } : { writable: true }),
    async close() {
      clearInterval(looking)
      if (lost) return
      await ask({ kind: 'close' })
      await worker.terminate()
    },
  }
}

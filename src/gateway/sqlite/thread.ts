import { Worker } from 'node:worker_threads'
import type { CampaignQuery } from '../campaigns.ts'
import { type Range, Unavailable } from '../eventLog.ts'
import type { CampaignRow } from './campaignRows.ts'
import type { Cell } from './cells.ts'

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
  | { readonly kind: 'probe' | 'version' | 'hasEmail' | 'close' }
/** The reply carries the same number. */
export type Question = Asked & { readonly number: number }
/** Number 0 is the first word of the worker: the store is open. */
export type Reply =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly error: string }

/** The thread that has the SQLite file of the events and the campaigns. It answers in order. */
export type SqliteThread = {
  /** Rejects with Unavailable where it can not be done, and from the close on. */
  ask(question: Asked): Promise<unknown>
  /** Why it answers no more; undefined while it does. */
  lost(): Error | undefined
  /** Resolves when what was asked before is done and the file is closed. */
  close(): Promise<void>
}

/**
 * Starts the thread.
 *
 * @param file Path of the database, made where it is missing.
 * @param workerFile The bundle of worker.ts, which the build writes beside the gateway's.
 * @throws Error when the file can not be opened as a durable store.
 */
export async function startSqliteThread(file: string, workerFile: URL): Promise<SqliteThread> {
  const worker = new Worker(workerFile, { workerData: file, name: 'sqlite' })
  const waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >()
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
    ask,
    lost: () => lost,
    async close() {
      if (lost) return
      await ask({ kind: 'close' })
      await worker.terminate()
    },
  }
}

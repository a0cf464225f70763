import { Worker } from 'node:worker_threads'
import { Unavailable } from '../lib/unavailable.ts'
import type { DerivedFile, DerivedTables } from './derivedTables.ts'
import type { DerivedName, Served } from './derivedWorker.ts'
import { type Remote, remote } from './remote.ts'

/** Mirrored rows of a file, in the thread. */
export type RemoteTables = {
  readonly [Name in DerivedName]: (
    ...args: Parameters<DerivedTables[Name]>
  ) => Promise<Awaited<ReturnType<DerivedTables[Name]>>>
} & { close(): Promise<void> }

/** The thread of the mirrored rows of all copies. */
export type DerivedThread = {
  /** Opens a file. A thread that has ended is started again, and opens it again. */
  open(file: DerivedFile, path: string): RemoteTables
  close(): Promise<void>
}

/** Deadline of a call, ms. */
const DEADLINE_MS = 15_000
/** Retry-After, seconds. */
const RETRY_SECONDS = 5
const LIMITS = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 128 }

/** @param workerFile The bundle of derivedWorker.ts. The thread starts with the first call. */
export function createDerivedThread(workerFile: URL, onEnd: (error: Error) => void): DerivedThread {
  let thread: Remote<Served> | undefined
  let isClosed = false

  function running(): Remote<Served> {
    if (isClosed) throw new Unavailable('The copy is closed', RETRY_SECONDS)
    thread ??= start()
    return thread
  }

  function start(): Remote<Served> {
    const worker = new Worker(workerFile, { name: 'derived', resourceLimits: LIMITS })
    const started = remote<Served>(worker, {
      subject: 'The copy of the log',
      deadlineMs: DEADLINE_MS,
      onEnd: ended,
    })
    started.ready.catch(ended)
    return started
  }

  function ended(error: Error): void {
    thread = undefined
    if (!isClosed) onEnd(error)
  }

  return {
    open(file, path) {
      let opened: { readonly by: Remote<Served>; readonly number: Promise<number> } | undefined

      async function run(name: DerivedName, args: readonly unknown[]): Promise<unknown> {
        const by = running()
        if (opened?.by !== by) opened = { by, number: by.call('open', file, path) }
        const { number } = opened
        try {
          return await by.call('run', await number, name, args)
        } catch (error) {
          // The next call opens it again.
          if ((await number.catch(() => undefined)) === undefined) opened = undefined
          throw error
        }
      }
      const call =
        <Name extends DerivedName>(name: Name): RemoteTables[Name] =>
        (...args: readonly unknown[]) =>
          run(name, args) as never

      return {
        state: call('state'),
        begin: call('begin'),
        apply: call('apply'),
        finish: call('finish'),
        changes: call('changes'),
        settle: call('settle'),
        undo: call('undo'),
        lettersOf: call('lettersOf'),
        async close() {
          const number = await opened?.number.catch(() => undefined)
          if (number !== undefined && opened?.by === thread)
            await thread?.call('shut', number).catch(() => {})
          opened = undefined
        },
      }
    },
    async close() {
      isClosed = true
      await thread?.close()
    },
  }
}

import { Worker } from 'node:worker_threads'
import { Unavailable } from '../lib/unavailable.ts'
import type { People, Proof } from '../people/people.ts'
import type { Person } from '../people/person.ts'
import type { ErasedEvent } from './copyRemovals.ts'
import type { PersonFiles } from './derivedFiles.ts'
import type { Served } from './personWorker.ts'
import { type Remote, remote } from './remote.ts'

/** Options of createSqlitePeople. */
export type PeopleOptions = PersonFiles & {
  /** The bundle of personWorker.ts, in the folder of the gateway's bundle. */
  readonly workerFile: URL
  /** Called each time the thread has ended without `close`. The next call starts it again. */
  readonly onEnd?: (error: Error) => void
}

/** Persons in a copy of a log. */
export type CopiedPeople = People & {
  /**
   * Erases in the copy what `remove` has removed from the log before. Undefined if nothing is kept.
   *
   * @param remove Called with some hundred events at once. If it rejects, the proof has no end.
   */
  eraseCopied(
    customer: string,
    person: Person,
    remove: (events: readonly ErasedEvent[]) => Promise<void>,
  ): Promise<Proof | undefined>
  /** Removes what was erased from the log, see copyRemovals.ts. */
  eraseNoted(): Promise<void>
}

/** Deadline of the calls that are short, ms. */
const DEADLINE_MS = 15_000
/** Retry-After, seconds. */
const RETRY_SECONDS = 5
/** Far above what a search needs: what it finds is outside of this limit. */
const LIMITS = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 128 }

/** Persons in the SQLite files, in a thread that starts with the first call. */
export function createSqlitePeople(options: PeopleOptions): CopiedPeople {
  const { workerFile, onEnd = () => {}, ...files } = options
  let thread: Remote<Served> | undefined
  let isClosed = false

  function start(): Remote<Served> {
    const worker = new Worker(workerFile, {
      workerData: files satisfies PersonFiles,
      name: 'people',
      resourceLimits: LIMITS,
    })
    const started = remote<Served>(worker, {
      subject: 'The event log',
      deadlineMs: DEADLINE_MS,
      unlimited: ['find', 'open', 'erase', 'openErasure', 'nextErased', 'eraseNoted'],
      onEnd: ended,
    })
    started.ready.catch(ended)
    return started
  }

  function ended(error: Error): void {
    thread = undefined
    if (!isClosed) onEnd(error)
  }

  const call: Remote<Served>['call'] = (name, ...args) => {
    if (isClosed) return Promise.reject(new Unavailable('The event log is closed', RETRY_SECONDS))
    thread ??= start()
    return thread.call(name, ...args)
  }

  async function next(opened: number): Promise<Uint8Array | undefined> {
    for (;;) {
      const piece = await call('read', opened)
      if (piece?.length !== 0) return piece
    }
  }

  return {
    find: (customer, person) => call('find', customer, person),
    async export(customer, person) {
      const opened = await call('open', customer, person)
      if (opened === undefined) return undefined
      return {
        next: () => next(opened),
        // A thread that has ended has closed it.
        end: () => void thread?.call('release', opened).catch(() => {}),
      }
    },
    erase: (customer, person) => call('erase', customer, person),
    async eraseCopied(customer, person, remove) {
      const opened = await call('openErasure', customer, person)
      if (opened === undefined) return undefined
      try {
        for (;;) {
          const next = await call('nextErased', opened)
          if ('proof' in next) return next
          await remove(next)
        }
      } finally {
        // A thread that has ended has closed it.
        thread?.call('endErasure', opened).catch(() => {})
      }
    },
    eraseNoted: () => call('eraseNoted'),
    proofs: (customer) => call('proofs', customer),
    async close() {
      isClosed = true
      await thread?.close()
    },
  }
}

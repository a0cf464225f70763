import { setTimeout as sleep } from 'node:timers/promises'
import { createSqliteExpiredEvents } from '../../sqlite/expiredEvents.ts'
import { createSqlitePeople } from '../../sqlite/people.ts'
import type { PartitionCopy } from './partitionCopy.ts'

/** Time between two looks for something to remove, ms. */
const LOOK_MS = 1_000
/** A pause after a step, as a multiple of its duration: new events wait for each step. */
const PAUSE_FACTOR = 3

export type RemovalsOptions = {
  readonly copy: PartitionCopy
  /** The bundle of sqlite/worker.ts. */
  readonly workerFile: URL
  /** Called with errors. It is tried again. */
  readonly onError: (error: unknown) => void
}

/**
 * Removes from a copy what was removed from its stream: erased and expired events. Every follower does so, whether it
 * holds the partition or not. What is to be removed is in the copy (see copyRemovals.ts), so nothing is forgotten if the
 * process ends.
 *
 * @returns Ends it. Resolves when nothing is written any more.
 */
export function startRemovals(options: RemovalsOptions): () => Promise<void> {
  const { copy, workerFile, onError } = options
  const { thread, eventsFile, reportsFile, forwardFile } = copy
  const stopping = new AbortController()
  const { signal } = stopping
  const people = createSqlitePeople({
    ...{ eventsFile, reportsFile, forwardFile },
    workerFile: new URL('./person-worker.js', workerFile),
    onEnd: onError,
  })
  const expired = createSqliteExpiredEvents(thread.call)
  /** Before the first look a process may have ended between a removal and its end. */
  let isTidy = false

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        await look()
      } catch (error) {
        if (!signal.aborted) onError(error)
      }
      await pause(LOOK_MS)
    }
  }

  async function look(): Promise<void> {
    const found = await thread.call('toRemove')
    if (found.hasErased) await people.eraseNoted()
    for (const { customer, upTo } of found.expired) await expire(customer, upTo)
    while (!isTidy && !signal.aborted) isTidy = !(await step(() => expired.tidy()))
  }

  async function expire(customer: string, upTo: number): Promise<void> {
    let isDone = false
    while (!isDone && !signal.aborted) {
      const done = await step(() => expired.remove(customer, upTo))
      isDone = done.isDone
      if (done.removed > 0) isTidy = false
    }
  }

  async function step<Result>(act: () => Promise<Result>): Promise<Result> {
    const begun = performance.now()
    const result = await act()
    await pause(PAUSE_FACTOR * (performance.now() - begun))
    return result
  }

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal }).catch(() => {})
  }

  const running = run()
  return async () => {
    stopping.abort()
    await people.close()
    await running
  }
}

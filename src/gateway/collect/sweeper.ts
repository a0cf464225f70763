import { setTimeout as sleep } from 'node:timers/promises'
import { endOfRetention, type Retention } from '../customers/retention.ts'
import type { ExpiredEvents } from './expiredEvents.ts'

/** Time from a start to the first pass, ms. */
const FIRST_MS = 60_000
/** Time between two passes, ms. */
const PAUSE_MS = 3_600_000

/** Removes events whose retention is over, in the background. */
export type Sweeper = {
  /** Resolves when the running step has ended. No step is started afterwards. */
  stop(): Promise<void>
}

/** What a sweeper uses, and how it is paced. */
export type SweeperOptions = {
  readonly events: ExpiredEvents
  readonly retentions: () => readonly Retention[]
  /**
   * Called before a customer's events that arrived before a time are removed. Rejects if they are still needed; then
   * they are removed in a later pass.
   */
  readonly beforeRemoval: (customer: string, before: number) => Promise<void>
  readonly now: () => number
  /** Called after each step that has removed events. */
  readonly onRemoved: (events: number) => void
  /** Called after each pass that has removed events, with their number. */
  readonly onPass?: ((events: number) => void) | undefined
  /** Called with an error of a pass. The next pass continues. */
  readonly onError: (error: unknown) => void
  /** Default FIRST_MS. */
  readonly firstMs?: number | undefined
  /** Default PAUSE_MS. */
  readonly pauseMs?: number | undefined
}

/**
 * Starts a sweeper. After each step it waits three times as long as the step took, so it uses a quarter of the log's
 * time at most. Several gateways over one log may sweep at the same time.
 */
export function startSweeper(options: SweeperOptions): Sweeper {
  const { events, retentions, beforeRemoval, now, onRemoved, onError, onPass = () => {} } = options
  const { firstMs = FIRST_MS, pauseMs = PAUSE_MS } = options
  const stopping = new AbortController()
  const { signal } = stopping
  /** Before the first pass a process may have ended between a removal and the end of its pass. */
  let isTidy = false
  let removed = 0
  const swept = run()

  async function run(): Promise<void> {
    await pause(firstMs)
    while (!signal.aborted) {
      try {
        await pass()
      } catch (error) {
        if (!signal.aborted) onError(error)
      }
      await pause(pauseMs)
    }
  }

  async function pass(): Promise<void> {
    removed = 0
    const time = await events.time(now())
    for (const { customerId, days } of retentions())
      await sweep(customerId, endOfRetention(days, time), time)
    while (!isTidy && !signal.aborted) isTidy = !(await step(() => events.tidy()))
    if (removed > 0) onPass(removed)
  }

  async function sweep(customer: string, before: number, time: number): Promise<void> {
    let after: number | undefined
    do {
      const { upTo, next } = await step(() => events.find(customer, before, time, after))
      if (upTo !== undefined) {
        await beforeRemoval(customer, before)
        await removeAll(customer, upTo)
      }
      after = next
    } while (after !== undefined && !signal.aborted)
  }

  async function removeAll(customer: string, upTo: number): Promise<void> {
    let isDone = false
    while (!isDone && !signal.aborted) {
      const done = await step(() => events.remove(customer, upTo))
      isDone = done.isDone
      if (done.removed === 0) continue
      isTidy = false
      removed += done.removed
      onRemoved(done.removed)
    }
  }

  async function step<Result>(run: () => Promise<Result>): Promise<Result> {
    const begun = performance.now()
    const result = await run()
    await pause(3 * (performance.now() - begun))
    return result
  }

  async function pause(ms: number): Promise<void> {
    // Ended by `stop`.
    await sleep(ms, undefined, { signal, ref: false }).catch(() => {})
  }

  return {
    stop() {
      stopping.abort()
      return swept
    },
  }
}

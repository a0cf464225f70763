import { backoff } from './backoff.ts'
import type { Delivery } from './kind.ts'
import type { Item } from './source.ts'

/**
 * An event that has failed so often, each time after others were delivered, is not one that a destination can take. It
 * takes hours to get there. Then it becomes a dead letter, or later events of its device would wait for ever.
 */
const MAX_FAILURES = 30

type Failed = Extract<Delivery, { readonly status: 'failed' }>

/** An event that has failed. */
export type Failure = {
  readonly device: string
  readonly firstAt: number
  readonly attempts: number
  readonly nextAt: number
  readonly reason: string
  /** Failures after others were delivered. */
  readonly alone: number
  /** How many events were delivered at the last attempt. */
  readonly delivered: number
}

/** The events of a destination that have failed, and when each is tried again. */
export type Failures = {
  /**
   * Begins a round.
   *
   * @param items All that are not settled, in order.
   * @returns Those that may be sent: not those of a device whose first one has to wait.
   */
  ready(items: readonly Item[], now: number): readonly Item[]
  /** Whether an event of the device has failed in this round. */
  blocks(device: string): boolean
  /** @returns Why it must not be tried again. Undefined if it may be. */
  add(item: Item, delivery: Failed, now: number): string | undefined
  /** @returns Its failures. Undefined if it had none. */
  settle(item: Item, status: 'delivered' | 'refused'): Failure | undefined
  has(item: Item): boolean
  /** Whether events of several devices fail, so it is not because of an event. */
  isDown(): boolean
  /** The event that is tried again first. Undefined if none has failed. */
  next(): Failure | undefined
  /** The last failure of this round, and the longest wait that was asked for in it. */
  last(): { readonly reason: string; readonly retryAfterMs: number }
  /** Lets all be tried again at a time, ms since 1970, or earlier. */
  allow(at: number): void
}

/** @param random From 0 to 1. */
export function createFailures(random: () => number): Failures {
  const failures = new Map<string, Failure>()
  let blocked = new Set<string>()
  let delivered = 0
  let last = { reason: '', retryAfterMs: 0 }

  return {
    ready(items, now) {
      const keys = new Set(items.map(keyOf))
      // Events that were removed from the log.
      for (const key of failures.keys()) if (!keys.has(key)) failures.delete(key)
      blocked = new Set()
      last = { reason: '', retryAfterMs: 0 }
      const waiting = new Set<string>()
      return items.filter((item) => {
        if ((failures.get(keyOf(item))?.nextAt ?? 0) > now) waiting.add(item.device)
        return !waiting.has(item.device)
      })
    },
    blocks: (device) => blocked.has(device),
    add(item, { reason, retryAfterMs = 0 }, now) {
      const key = keyOf(item)
      const before = failures.get(key)
      const attempts = (before?.attempts ?? 0) + 1
      const isAlone = before !== undefined && delivered > before.delivered
      const alone = (before?.alone ?? 0) + (isAlone ? 1 : 0)
      failures.set(key, {
        device: item.device,
        firstAt: before?.firstAt ?? now,
        attempts,
        nextAt: now + backoff(attempts, random(), retryAfterMs),
        reason,
        alone,
        delivered,
      })
      blocked.add(item.device)
      last = { reason, retryAfterMs: Math.max(last.retryAfterMs, retryAfterMs) }
      return alone >= MAX_FAILURES
        ? `It has failed ${alone} times while others were delivered: ${reason}`
        : undefined
    },
    settle(item, status) {
      const key = keyOf(item)
      const failure = failures.get(key)
      failures.delete(key)
      if (status === 'delivered') delivered++
      return failure
    },
    has: (item) => failures.has(keyOf(item)),
    isDown: () => new Set([...failures.values()].map(({ device }) => device)).size > 1,
    next: () =>
      [...failures.values()].reduce<Failure | undefined>(
        (first, failure) => (first && first.nextAt <= failure.nextAt ? first : failure),
        undefined,
      ),
    last: () => last,
    allow(at) {
      for (const [key, failure] of failures)
        failures.set(key, { ...failure, nextAt: Math.min(failure.nextAt, at) })
    },
  }
}

const keyOf = ({ seq, isLetter }: Item): string => `${isLetter ? 'letter ' : ''}${seq}`

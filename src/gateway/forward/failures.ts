import { backoff } from './backoff.ts'
import type { Delivery } from './kind.ts'
import type { Item } from './source.ts'

/**
 * An event that has failed so often, each time after others were delivered, is not one that a destination can take. It
 * takes hours to get there. Then it becomes a dead letter, or later events of its device would wait for ever.
 */
const MAX_FAILURES = 30
/** The same for one that holds all others up meanwhile: it takes a quarter of an hour to get there. */
const MAX_BLOCKING_FAILURES = 10
/** So often it must have failed after others were delivered, before it is known that it is not the destination. */
const MIN_ALONE = 2

type Failed = Extract<Delivery, { readonly status: 'failed' }>

/** An event that has failed. */
export type Failure = {
  readonly device: string
  readonly firstAt: number
  readonly attempts: number
  readonly lastAt: number
  readonly nextAt: number
  readonly reason: string
  /** Failures after others were delivered. */
  readonly alone: number
  /** Failures while no other event could be tried. */
  readonly blocking: number
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
  /**
   * @param isBlocking Whether no event that has not failed can be tried before this one is settled.
   * @returns Why it must not be tried again. Undefined if it may be.
   */
  add(item: Item, delivery: Failed, now: number, isBlocking: boolean): string | undefined
  /** @returns Its failures. Undefined if it had none. */
  settle(item: Item, status: 'delivered' | 'refused'): Failure | undefined
  has(item: Item): boolean
  /** Whether it has failed and may not be tried yet. */
  isWaiting(item: Item, now: number): boolean
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

  const isDown = () => new Set([...failures.values()].map(({ device }) => device)).size > 1

  function isWaiting(item: Item, now: number): boolean {
    const failure = failures.get(keyOf(item))
    // After a clock was set back, the time of the next attempt may be far away.
    return failure !== undefined && failure.lastAt <= now && now < failure.nextAt
  }

  return {
    ready(items, now) {
      const keys = new Set(items.map(keyOf))
      // Events that were removed from the log.
      for (const key of failures.keys()) if (!keys.has(key)) failures.delete(key)
      blocked = new Set()
      last = { reason: '', retryAfterMs: 0 }
      const waiting = new Set<string>()
      return items.filter((item) => {
        if (isWaiting(item, now)) waiting.add(item.device)
        return !waiting.has(item.device)
      })
    },
    blocks: (device) => blocked.has(device),
    add(item, { reason, retryAfterMs = 0 }, now, isBlocking) {
      const key = keyOf(item)
      const before = failures.get(key)
      const attempts = (before?.attempts ?? 0) + 1
      const isAlone = before !== undefined && delivered > before.delivered
      const alone = (before?.alone ?? 0) + (isAlone ? 1 : 0)
      // If others fail too, and none was delivered since, it is rather the destination.
      const isHolding = before !== undefined && !isAlone && isBlocking && (alone > 0 || !isDown())
      const blocking = (before?.blocking ?? 0) + (isHolding ? 1 : 0)
      failures.set(key, {
        device: item.device,
        firstAt: before?.firstAt ?? now,
        attempts,
        lastAt: now,
        nextAt: now + backoff(attempts, random(), retryAfterMs),
        reason,
        alone,
        blocking,
        delivered,
      })
      blocked.add(item.device)
      last = { reason, retryAfterMs: Math.max(last.retryAfterMs, retryAfterMs) }
      const count = alone + blocking
      const max = isBlocking && alone >= MIN_ALONE ? MAX_BLOCKING_FAILURES : MAX_FAILURES
      if (count < max) return undefined
      return blocking === 0
        ? `It has failed ${count} times while others were delivered: ${reason}`
        : `It has failed ${count} times while others were delivered or waited for it: ${reason}`
    },
    settle(item, status) {
      const key = keyOf(item)
      const failure = failures.get(key)
      failures.delete(key)
      if (status === 'delivered') delivered++
      return failure
    },
    has: (item) => failures.has(keyOf(item)),
    isWaiting,
    isDown,
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

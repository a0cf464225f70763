import { LRUCache } from 'lru-cache'

/** A steady rate, and how much may come at once after a pause. */
export type Rate = {
  readonly perSecond: number
  readonly burst: number
}

/** The two limits of a key. A request with several events counts as that many. */
export type RateLimits = { readonly events: Rate; readonly bytes: Rate }

/** Why a request is refused. */
export type Limited = {
  readonly unit: 'events' | 'bytes'
  /** When the same request would pass, whole seconds, at least 1. */
  readonly retryAfterSeconds: number
}

export type Cost = { readonly events: number; readonly bytes: number }

/** Token buckets by key. */
export type RateLimit = {
  /**
   * Takes from both buckets of a key. If one of them does not have enough, takes nothing and returns the reason.
   *
   * @param paid What was taken before for the same request. Only the rest is taken now.
   */
  take(key: string, events: number, bytes: number, paid?: Cost): Limited | undefined
  /** Returns what `take` would, and takes nothing. */
  check(key: string, events: number, bytes: number): Limited | undefined
}

/** When each bucket of a key will be full again, ms by the clock: the theoretical arrival times of GCRA. */
type Buckets = { events: number; bytes: number }

const NOTHING: Cost = { events: 0, bytes: 0 }

/** Rounding in sums of fractions must not refuse the last event of a burst, ms. */
const TOLERANCE_MS = 1e-6

/**
 * Two token buckets a key, as GCRA (https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm): each is the time at
 * which it will be full again, so no timer refills it. A request that is larger than a whole bucket passes when the
 * bucket is full, and the next ones wait until it is paid off: so every request can pass, and the rate is kept.
 *
 * @param maxKeys Keys in memory. Above it the least recently used key is forgotten, so its buckets are full again.
 * Default 10,000, about 3 MB.
 * @param now A monotonic clock, ms.
 */
export function createRateLimit(
  { events: eventRate, bytes: byteRate }: RateLimits,
  maxKeys = 10_000,
  now: () => number = () => performance.now(),
): RateLimit {
  const keys = new LRUCache<string, Buckets>({ max: maxKeys })
  const eventMs = 1_000 / eventRate.perSecond
  const byteMs = 1_000 / byteRate.perSecond

  /** How long until a bucket has enough, ms. At most 0 if it has. */
  function waitFor(fullAt: number, at: number, ms: number, burst: number, cost: number): number {
    return Math.max(fullAt, at) - at - (burst - Math.min(cost, burst)) * ms - TOLERANCE_MS
  }

  function limitedAt(
    at: number,
    buckets: Buckets | undefined,
    events: number,
    bytes: number,
    paid: Cost,
  ): Limited | undefined {
    if (!buckets) return undefined
    const eventsFull = buckets.events - paid.events * eventMs
    const bytesFull = buckets.bytes - paid.bytes * byteMs
    const eventWait = waitFor(eventsFull, at, eventMs, eventRate.burst, events)
    const byteWait = waitFor(bytesFull, at, byteMs, byteRate.burst, bytes)
    const wait = Math.max(eventWait, byteWait)
    if (wait <= 0) return undefined
    const unit = eventWait >= byteWait ? ('events' as const) : ('bytes' as const)
    return { unit, retryAfterSeconds: Math.max(1, Math.ceil(wait / 1_000)) }
  }

  return {
    take(key, events, bytes, paid = NOTHING) {
      const at = now()
      const known = keys.get(key)
      const limited = limitedAt(at, known, events, bytes, paid)
      if (limited) return limited
      const buckets = known ?? { events: 0, bytes: 0 }
      buckets.events = Math.max(buckets.events, at) + (events - paid.events) * eventMs
      buckets.bytes = Math.max(buckets.bytes, at) + (bytes - paid.bytes) * byteMs
      if (!known) keys.set(key, buckets)
      return undefined
    },
    check: (key, events, bytes) => limitedAt(now(), keys.peek(key), events, bytes, NOTHING),
  }
}

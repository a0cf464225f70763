import type { Outcome } from './attempt.ts'

/** The first wait is a random one up to this, ms; each further one up to twice as much. */
export const BACKOFF_BASE_MS = 500
/** No wait of our own choice is longer, ms. */
export const BACKOFF_CAP_MS = 10_000
/** A gateway that asks for more patience gets no more than this, and the backoff, ms. */
export const MAX_RETRY_AFTER_MS = 60_000

/** Statuses that a later try may not meet again (docs/decisions.md, "Retries"). */
const WORTH_A_RETRY = new Set([408, 425, 429, 500, 502, 503, 504])

/**
 * Whether a call may be repeated. `always`: it reads, or carries an id that makes it idempotent.
 * `ifNotTaken`: twice done is done twice, so only where the try can not have been taken.
 */
export type Repeat = 'always' | 'ifNotTaken'

/** Whether a failed try is worth another. */
export function isWorthRetry(outcome: Outcome, repeat: Repeat): boolean {
  if (outcome.kind === 'redirect') return false
  if (outcome.kind === 'none')
    return outcome.why !== 'aborted' && (repeat === 'always' || !outcome.wasSent)
  const { status } = outcome.answer
  return repeat === 'always' ? WORTH_A_RETRY.has(status) : status === 429
}

/**
 * How long to wait before the next try, ms: exponential backoff with full jitter, after what the gateway
 * asks for. All the callers that were told the same second would else come back in the same millisecond.
 *
 * @param failed Tries that have failed, from 1.
 * @param retryAfter The header, or null.
 * @param random From 0 to 1.
 * @param now ms since 1970.
 */
export function waitBefore(
  failed: number,
  retryAfter: string | null,
  random: () => number,
  now: () => number,
): number {
  const asked = Math.max(0, readRetryAfter(retryAfter, now))
  const backoff = random() * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** (failed - 1))
  return Math.min(asked, MAX_RETRY_AFTER_MS) + backoff
}

/** Seconds or a date (RFC 9110, 10.2.3), as ms from now; 0 where it is nonsense. */
function readRetryAfter(header: string | null, now: () => number): number {
  const value = header?.trim() ?? ''
  if (/^\d+$/.test(value)) return Number(value) * 1000
  // All three forms of a date begin with a day's name. Date.parse alone takes "-5" for a year.
  if (!/^(mon|tue|wed|thu|fri|sat|sun)/i.test(value)) return 0
  // The oldest form names no zone and means GMT.
  return Date.parse(/gmt$/i.test(value) ? value : `${value} GMT`) - now() || 0
}

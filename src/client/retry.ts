import { readRetryAfter } from '../contract/retryAfter.ts'
import type { Outcome } from './request.ts'

/** The first wait is random, from 0 to this, ms. The upper limit doubles with each retry. */
const BACKOFF_BASE_MS = 500
/** The longest backoff, ms. */
const BACKOFF_CAP_MS = 10_000
/** The most that a `Retry-After` adds to the backoff, ms. */
export const MAX_RETRY_AFTER_MS = 60_000

/** Statuses after which a retry may succeed (docs/decisions.md, "Retries"). */
const WORTH_A_RETRY = new Set([408, 425, 429, 500, 502, 503, 504])

/**
 * Operations that make two campaigns or events if they are carried out twice. The others only read, send an id that the
 * gateway stores once, or save a state of an order or a subscriber, which is the same the second time.
 */
const NOT_IDEMPOTENT = ['create', 'sendCustomApi']

/** Whether a failed request is worth a retry: for some operations only if it can not have been carried out. */
export function isWorthRetry(outcome: Outcome, operation: string): boolean {
  const isIdempotent = !NOT_IDEMPOTENT.includes(operation)
  if (outcome.kind === 'redirect') return false
  if (outcome.kind === 'none') return !outcome.isFinal && (isIdempotent || !outcome.wasSent)
  const { status } = outcome.answer
  return isIdempotent ? WORTH_A_RETRY.has(status) : status === 429
}

/**
 * The wait before a retry, ms: exponential backoff with full jitter, added to what the gateway asks
 * for. Without the jitter all clients that got the same `Retry-After` would come back together.
 *
 * @param failed Requests that have failed, from 1.
 * @param retryAfter The header, or null.
 * @param now ms since 1970.
 * @param random From 0 to 1.
 */
export function waitBefore(
  failed: number,
  retryAfter: string | null,
  now: number,
  random: number,
): number {
  const asked = Math.max(0, readRetryAfter(retryAfter?.trim() ?? '', now))
  const backoff = random * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** (failed - 1))
  return Math.min(asked, MAX_RETRY_AFTER_MS) + backoff
}

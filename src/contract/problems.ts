import type { TrackingOperation } from './payloads.ts'
import type { RecordOperation } from './recordOperations.ts'

/*
 * What goes wrong with a customer's events, without personal data: the script counts what it drops, the gateway what it
 * refuses, and GET /api/v1/problems and the live view list both.
 */

/** Reasons of dropped events that the script counts (delivery.ts). */
export const REPORTED_REASONS = ['invalid', 'refused', 'too_old', 'outbox_full'] as const

/**
 * Why something did not become a stored event.
 *
 * - `invalid`, `too_old`, `outbox_full`: the script dropped an event.
 * - `refused`: the gateway refused an event: 422.
 * - `origin`: a page of an Origin that the customer does not allow sent an event: 403.
 * - `wrong_key`: a server used a wrong REST key, or none: 401.
 * - `too_large`: a body above its limit: 413.
 * - `unknown_key`: a page of the customer's shop uses a tracking key that no customer has: 404 or 401.
 */
export type ProblemReason =
  | (typeof REPORTED_REASONS)[number]
  | 'origin'
  | 'wrong_key'
  | 'too_large'
  | 'unknown_key'

/** One kind of problem of a customer. */
export type Problem = {
  /** Stable while the problem lasts. */
  readonly id: string
  readonly reason: ProblemReason
  /** Whether the script on the page or the gateway has counted it. */
  readonly source: 'page' | 'gateway'
  /** Undefined if it is not known. */
  readonly operation?: Coverage['operation'] | RecordOperation
  /** Path of the faulty field, such as `variation.sku`; the tracking key of `unknown_key` (the first four characters and `…` of a long one, which may be a secret). Absent if there is none. */
  readonly path?: string
  /** Where: path of the page without query, an Origin, or the path of a call. `(other)` for what is counted together. */
  readonly page: string
  readonly count: number
  /** When it was first and last counted, ISO 8601 in UTC. */
  readonly first: string
  readonly last: string
  /** Counts by day (UTC), oldest first: every day of the answer's range. */
  readonly days: readonly number[]
  /** What is wrong, one sentence. */
  readonly message: string
  /** What to do, one sentence or two. */
  readonly fix: string
  /** The payload that the gateway has refused last. Personal values are replaced by their kind, such as `text of 12 characters`. */
  readonly example?: unknown
}

/** How often one of the eleven event operations comes. Orders and subscribers are not judged. */
export type Coverage = {
  readonly operation: TrackingOperation | 'sendCustomApi'
  /** When it was first and last stored, ISO 8601 in UTC; null if never. */
  readonly first: string | null
  readonly last: string | null
  /** Events of the last 60 minutes, to within a tenth of an hour at their beginning. */
  readonly hour: number
  /** The mean of the same 60 minutes of the last seven days; null as long as there is no full day to compare with. */
  readonly usual: number | null
  /** Events of the last seven days. Events of bots are in none of these numbers. */
  readonly week: number
  /**
   * What docs/problems.md, "When an operation counts as stopped" describes. `never`: not one yet. `comes`: as usual. `fewer`: much fewer than usual. `stopped`: it used to come and does not any
   * more.
   */
  readonly state: 'never' | 'comes' | 'fewer' | 'stopped'
  /** The state in words, for `fewer` and `stopped` with how sure this is. */
  readonly message: string
}

/** Answer of GET /api/v1/problems. */
export type ProblemList = {
  /** First and last day (UTC) that the counts are of, YYYY-MM-DD. */
  readonly from: string
  readonly to: string
  /** Since when the events of `coverage` are counted, ISO 8601 in UTC. Events before that are not in its numbers. */
  readonly since: string
  /** Most recent first, at most 200. */
  readonly data: readonly Problem[]
  /** All eleven operations, in the order of the contract. */
  readonly coverage: readonly Coverage[]
}

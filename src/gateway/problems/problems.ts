import type { ProblemReason } from '../../contract/problems.ts'

/** What went wrong, without a personal value. */
export type Fault = {
  readonly reason: ProblemReason
  readonly source: 'page' | 'gateway'
  /** Empty if it is not known. */
  readonly operation: string
  /** Path of the faulty field, or the unknown tracking key. Empty if there is none. */
  readonly path: string
  /** Path of the page, an Origin, or the path of a call. OTHER for what is counted together. */
  readonly page: string
}

/** The page of faults that are counted together, above a limit. */
export const OTHER = '(other)'

/** A fault without operation, path and page. */
export const otherOf = ({ reason, source }: Fault): Fault => ({
  reason,
  source,
  operation: '',
  path: '',
  page: OTHER,
})

/** How often a customer had a fault on a day. */
export type ProblemCount = Fault & {
  readonly customer: string
  /** Days since 1970, UTC. */
  readonly day: number
  readonly count: number
  /** When it was first and last counted on that day, ms since 1970. */
  readonly first: number
  readonly last: number
  /** JSON. Null if there is none. */
  readonly example: string | null
}

/** Length of the intervals that stored events are counted in, ms. They begin with 1970. */
export const SLOT_MS = 600_000
export const SLOTS_PER_HOUR = 3_600_000 / SLOT_MS
/** @param at ms since 1970. */
export const slotOf = (at: number): number => Math.floor(at / SLOT_MS)

/** Events of an operation that a customer has stored in one slot. */
export type CoverageCount = {
  readonly customer: string
  readonly operation: string
  readonly slot: number
  readonly events: number
  /** When the first and the last of them were stored, ms since 1970. */
  readonly first: number
  readonly last: number
}

/** How long problems are kept, days. */
export const KEPT_DAYS = 30
/** How long the slots are kept, days: a week, and the week before it to compare with. */
export const COVERAGE_DAYS = 15
/** Different faults of a customer, day, reason and source. Above it they count as OTHER. */
export const MAX_FAULTS_OF_REASON = 30
/**
 * Different faults of all customers and days that are stored. A customer may add a thirtieth of what is left free on a
 * day. Above it new ones count as OTHER.
 */
export const MAX_STORED_FAULTS = 200_000

/** Counts that are written together. */
export type CountBatch = {
  readonly problems: readonly ProblemCount[]
  readonly coverage: readonly CoverageCount[]
  /** The time now, ms since 1970: the slots in which a gateway has run are stored too. */
  readonly now: number
}

/** All that is stored of one operation, also from before the slots. */
export type OperationTotal = {
  readonly operation: string
  readonly first: number
  readonly last: number
  readonly events: number
  /** On how many days (UTC) it came. */
  readonly days: number
}

/** The slots of a customer, from `from` on. */
export type CoverageHistory = {
  /** When the counting began, ms since 1970. */
  readonly since: number
  readonly from: number
  /** 1 for each slot in which a gateway ran, otherwise 0. */
  readonly observed: readonly number[]
  /** Events by operation, one number for each slot of `observed`. */
  readonly events: ReadonlyMap<string, readonly number[]>
  readonly totals: readonly OperationTotal[]
}

/** Stored counts. Rejects with Unavailable. */
export type CountStore = {
  /** Adds to what is stored, durable when it resolves. Faults above the limits are counted as OTHER. */
  write(batch: CountBatch): Promise<void>
  /** A customer's problems of a day and the days after it. */
  readProblems(customer: string, fromDay: number): Promise<readonly ProblemCount[]>
  /** @param now ms since 1970. The history ends with the slot of this time. */
  readCoverage(customer: string, now: number): Promise<CoverageHistory>
}

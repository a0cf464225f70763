/** The longest time for which a customer may have its events kept, days. Without a limit: none. */
export const MAX_RETENTION_DAYS = 3_650

/** How long the events of a customer are kept. */
export type Retention = {
  readonly customerId: string
  /** From 1 to MAX_RETENTION_DAYS. */
  readonly days: number
}

const DAY_MS = 86_400_000

/**
 * Events that arrived before this are removed, ms since 1970. Whole days (UTC) are removed, and the day of arrival
 * counts, so an event is kept for `days` days at most.
 *
 * @param now ms since 1970.
 */
export const endOfRetention = (days: number, now: number): number =>
  (Math.floor(now / DAY_MS) - days + 1) * DAY_MS

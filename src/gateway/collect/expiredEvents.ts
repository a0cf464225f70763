/**
 * The removal of events whose retention is over (docs/decisions.md, "Retention"). Each function is one small step, since
 * appends wait for it.
 */
export type ExpiredEvents = {
  /**
   * The time of the retention, ms since 1970. It follows the clock, but at most a day with each call, so that a clock
   * that is wrong for an hour does not remove what is not old.
   *
   * @param now The clock, ms since 1970.
   */
  time(now: number): Promise<number>
  /**
   * Looks for events of a customer that arrived before a time.
   *
   * @param after Result of the last step. Default: the oldest event.
   */
  find(customer: string, before: number, now: number, after?: number): Promise<Expired>
  /** Removes the customer's events up to a position: some of them. */
  remove(customer: string, upTo: number): Promise<Removed>
  /**
   * Overwrites and gives back the space of removed events: one step.
   *
   * @returns Whether there is more to do.
   */
  tidy(): Promise<boolean>
}

/** What was found. */
export type Expired = {
  /** All events of the customer up to this position have expired. Undefined if none has. */
  readonly upTo?: number
  /** Where the next step continues. Undefined if there can be no more. */
  readonly next?: number
}

export type Removed = {
  readonly removed: number
  /** Whether all events up to the position are removed. */
  readonly isDone: boolean
}

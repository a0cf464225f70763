import type { Destination } from './destination.ts'

/** The most destinations of a data folder, and of one customer in it. */
export const MAX_DESTINATIONS = 1_000
export const MAX_DESTINATIONS_OF_ONE = 20
/** The most dead letters of a destination. With so many it stops, since none may be lost. */
export const MAX_LETTERS = 100_000
/** The most letters in one answer of `letters`. */
export const MAX_PAGE = 100
/** The most groups of letters in one answer of `letters`. */
export const MAX_GROUPS = 50
/** The longest patch of a letter, bytes of JSON. */
export const MAX_PATCH_BYTES = 16_384
/** The longest reason that is kept, characters. */
export const MAX_REASON_CHARACTERS = 300

/** What an operator says of a new destination. Its id is made here. */
export type DestinationGiven = Pick<Destination, 'customer' | 'kind' | 'settings'> &
  Partial<Omit<Destination, 'id' | 'customer' | 'kind' | 'settings'>> & {
    /**
     * The first event that it gets: the first one that is stored from now on, the oldest one in the log, or the first
     * one that arrived at or after a time, ms since 1970. Default `end`.
     */
    readonly from?: 'end' | 'beginning' | number | undefined
  }

/** A change of a destination. Absent fields are not changed. */
export type DestinationChange = Partial<
  Omit<Destination, 'id' | 'customer' | 'kind' | 'settings'>
> & {
  /** Merged into the stored ones. Null removes one. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined
}

/** The result of a change, or every fault in what was given, for the operator who has typed it. */
export type Changed =
  | { readonly ok: true; readonly destination: ShownDestination }
  | { readonly ok: false; readonly faults: readonly string[] }

/** A destination without its secrets. */
export type ShownDestination = Destination & {
  /** Without those that are secret. */
  readonly settings: Readonly<Record<string, unknown>>
  /** What receives the events, such as a host. Empty if its settings are not valid any more. */
  readonly receives: string
}

/** What a destination does at the moment. */
export type DestinationState = {
  /**
   * - `running`: it sends, or there is nothing to send.
   * - `waiting`: what was sent last has failed. It is tried again at `nextAt`, for as long as the log keeps the events.
   * - `paused`: by an operator.
   * - `stopped`: only an operator can help, see `reason`.
   */
  readonly name: 'running' | 'waiting' | 'paused' | 'stopped'
  /** Since when, ms since 1970. Null if that is not known. */
  readonly since: number | null
  /** Why it waits or has stopped. Null if it does neither. It may quote an answer of the destination. */
  readonly reason: string | null
  /** When it tries again, ms since 1970. Null if it does not wait. */
  readonly nextAt: number | null
}

/** A destination, what it does, and how far it is. */
export type DestinationStatus = {
  readonly destination: ShownDestination
  readonly state: DestinationState
  /** Events of the customer after its position in the log. Some of them it may not get, such as those of bots. */
  readonly lagEvents: number
  /** How long the oldest of them has been in the log, ms. 0 if there is none. */
  readonly lagMs: number
  /** Events that it has taken, since it was added. An event that was sent twice may be counted twice. */
  readonly delivered: number
  /** Attempts to send an event that have failed. */
  readonly failed: number
  /** Events that the retention has removed before they were sent. */
  readonly lost: number
  readonly letters: number
}

/** An event that a destination has finally refused. */
export type DeadLetter = {
  /** Its position in the log. */
  readonly seq: number
  readonly eventId: string
  readonly operation: string
  /** In the words of the destination, at most MAX_REASON_CHARACTERS. May contain personal data. */
  readonly reason: string
  /** The first and the last attempt, ms since 1970. */
  readonly firstAt: number
  readonly lastAt: number
  readonly attempts: number
  /** JSON merge patch (RFC 7396) of its payload. Null if it was not mended. */
  readonly patch: Readonly<Record<string, unknown>> | null
  /** Why its patch makes the payload invalid, so that a replay can not send it. Null if it does not. */
  readonly fault: string | null
  /** Whether it is to be sent again. */
  readonly isReplayed: boolean
  /** The payload as it was sent last or will be sent: without what the destination leaves out, with the patch if that is valid. */
  readonly payload: Readonly<Record<string, unknown>>
}

/** Some letters of a destination. Default: all of them. */
export type LetterFilter = {
  readonly operation?: string | undefined
  /** The whole reason. */
  readonly reason?: string | undefined
  /** One of them, by its position. */
  readonly seq?: number | undefined
}

export type LetterPage = {
  /** In the order of the log, at most MAX_PAGE. */
  readonly letters: readonly DeadLetter[]
  /** `after` of the next page. Undefined at the end. */
  readonly next?: number
  /** How many letters there are in all. */
  readonly count: number
  /** Letters with the same operation and reason, the most frequent first, at most MAX_GROUPS. */
  readonly groups: readonly LetterGroup[]
}

export type LetterGroup = {
  readonly operation: string
  readonly reason: string
  readonly count: number
}

/** What a change of letters returns. */
export type LettersChanged =
  | { readonly ok: true; readonly count: number }
  | { readonly ok: false; readonly fault: string }

/**
 * The destinations of all customers, and their dead letters. Each function names the customer, so that an operator of
 * one customer can not reach those of another: for a destination of another customer it answers as if there were none.
 * Rejects with Unavailable if the data can not be read or written.
 */
export type Forwarding = {
  add(given: DestinationGiven): Promise<Changed>
  /** @param customer Default: those of all customers. */
  list(customer?: string): Promise<readonly DestinationStatus[]>
  /** Undefined if there is no such destination. */
  change(customer: string, id: string, change: DestinationChange): Promise<Changed | undefined>
  /** Removes it with its letters and its position. False if there is no such destination. */
  remove(customer: string, id: string): Promise<boolean>
  /**
   * Its dead letters. Those whose event was removed from the log are left out, so a page may be shorter.
   *
   * @param after Only letters after this position. Default: from the first.
   * @param max Default MAX_PAGE.
   */
  letters(
    customer: string,
    id: string,
    asked?: LetterFilter & {
      readonly after?: number | undefined
      readonly max?: number | undefined
    },
  ): Promise<LetterPage | undefined>
  /**
   * Sets the patch of letters. It takes the place of an earlier one.
   *
   * @param patch A JSON merge patch of the payload, an object. Null: none.
   */
  mend(
    customer: string,
    id: string,
    patch: Readonly<Record<string, unknown>> | null,
    filter?: LetterFilter,
  ): Promise<LettersChanged | undefined>
  /** Sends letters again, with the same ids, in the order of the log. */
  replay(customer: string, id: string, filter?: LetterFilter): Promise<LettersChanged | undefined>
  /** Deletes letters. They are not sent. */
  discard(customer: string, id: string, filter?: LetterFilter): Promise<LettersChanged | undefined>
}

import type { DestinationState } from './forwarding.ts'
import type { Prepared } from './prepareEvent.ts'

/** An event that is to be sent. */
export type Item = {
  /** Its position in the log. */
  readonly seq: number
  /** Whether it is a dead letter that is sent again. */
  readonly isLetter: boolean
  /**
   * Its device, or the order or subscriber that it is about (orderingKey.ts). Those of one device are sent one after the
   * other.
   */
  readonly device: string
  /** Makes it ready to be sent. Only then is its payload parsed, so that waiting events take little memory. */
  prepare(): Prepared
}

/** What was read at once: letters that are to be sent again, then events of the log. */
export type Batch = {
  readonly items: readonly Item[]
  /** Whether there is more to read after it, so that the next read needs no news. */
  readonly hasMore: boolean
  /** Whether it ends because so many rows of the log are after an event that has failed, not because of its items. */
  readonly isAtLimit: boolean
}

/** What is known of events that were sent before. */
export type Tried = {
  /** It has failed. Later events of its device are not read, so that they leave room for those of others. */
  has(item: Item): boolean
  /** It has failed, and may not be tried yet. It takes no room. */
  isWaiting(item: Item): boolean
}

/** An item that the destination has finally refused. */
export type RefusedItem = {
  readonly item: Item
  readonly reason: string
  /** The first and the last attempt, ms since 1970. */
  readonly firstAt: number
  readonly lastAt: number
  readonly attempts: number
}

/** What has become of a batch. Items that are in neither list have failed. */
export type Outcome = {
  readonly delivered: readonly Item[]
  readonly refused: readonly RefusedItem[]
  /** Attempts to send an event that have failed. */
  readonly failed: number
}

/** The events of a destination, and its position. Synchronous: every write is durable when it returns. */
export type Source = {
  /**
   * Reads the next events that are not settled. They are read again each time, so that what was removed from the log
   * is not sent.
   *
   * @param max The most items, from 1.
   * @param tried Default: none has failed.
   */
  read(max: number, tried?: Tried): Batch
  /**
   * Writes what has become of the last batch, in one transaction: letters, counts, and the position up to the first
   * event that has failed.
   *
   * @returns False if another gateway forwards now, or the destination was removed. Then nothing is written.
   */
  settle(outcome: Outcome): boolean
  /** Whether it has so many dead letters that only those that are to be sent again are read. */
  isFull(): boolean
  setState(state: DestinationState): void
}

import { createHash } from 'node:crypto'

/** The current state of an order. */
export type StoredOrder = {
  /** `digestOf` the payload of the newest save. Empty if only a status has come. */
  readonly digest: Uint8Array
  /** How many different contents were saved, one after the other. 0 if only a status has come. */
  readonly versions: number
  /** The newest status. Null if none has come. */
  readonly status: string | null
  /** Position of the newest save in the log. 0 if only a status has come. */
  readonly seq: number
  /** When this content arrived, ms since 1970. 0 if only a status has come. */
  readonly savedAt: number
}

/** The current state of a subscriber. */
export type StoredSubscriber = {
  /** `digestOf` the payload of the newest record. */
  readonly digest: Uint8Array
  /** The operation of the newest record. Both operations may have the same payload. */
  readonly operation: 'addSubscriber' | 'removeSubscriber'
  /** Whether the address may get e-mail: false after a record that unsubscribed it, until one that subscribes it. */
  readonly subscribed: boolean
  /** How many different records came, one after the other. */
  readonly versions: number
  /** Position of the newest record in the log. */
  readonly seq: number
  /** When this content arrived, ms since 1970. */
  readonly at: number
}

/** A place in a list of unsubscribed addresses: after the one that was unsubscribed at `at`, by the record at `seq`. */
export type Place = { readonly at: number; readonly seq: number }

/** A part of a list of unsubscribed addresses. */
export type Page = {
  /** As they were sent, oldest first. */
  readonly addresses: readonly string[]
  /** Where the next page begins. Undefined if there are no more. */
  readonly next?: Place
}

/** Which unsubscribed addresses to list. */
export type UnsubscribedRange = {
  /** Times of arrival, ms since 1970: from this one on, up to before the other one. */
  readonly from: number
  readonly to: number
  /** `next` of the page before. Default: the beginning. */
  readonly after?: Place
  /** The most addresses of the page. Default and most: MAX_PAGE. */
  readonly max?: number
}

/** The most addresses of a page. Each is read from the log, and events wait meanwhile: 500 take some 5 ms. */
export const MAX_PAGE = 500

/**
 * The current state of orders and subscribers, as the records of the log make it (docs/decisions.md, "States of orders
 * and subscribers"). The last record in the order of positions wins. A record whose content equals that of the one
 * before is no new version.
 *
 * Every function sees the records that were acknowledged before it is called.
 */
export type Orders = {
  /**
   * An order by its number. Undefined if there is neither a save nor a status of it, or if that is not known in time:
   * then the order is saved again, which makes no new version.
   */
  find(customer: string, number: string): Promise<StoredOrder | undefined>
  /** A subscriber by the address, in any spelling that `addressOf` takes for the same. Undefined as above. */
  findSubscriber(customer: string, email: string): Promise<StoredSubscriber | undefined>
  /**
   * Addresses that were unsubscribed in a range of time and have not subscribed again. Rejects with Unavailable.
   *
   * Only what the log still has: with a retention of N days the last N - 1 whole days.
   */
  unsubscribed(customer: string, range: UnsubscribedRange): Promise<Page>
}

/**
 * Identifies the content of a record.
 *
 * @param payload As the log has it: JSON.
 */
export const digestOf = (payload: string | Uint8Array): Uint8Array =>
  new Uint8Array(createHash('sha256').update(payload).digest())

import type { Issue } from './errors.ts'

/** The largest body of one event, bytes of UTF-8. The gateway answers 413 to a larger one. */
export const MAX_EVENT_BYTES = 131_072

/** The longest user agent that is stored, characters. */
export const MAX_AGENT_CHARACTERS = 1024

/**
 * The most bytes in the open keepalive requests of a page. The Fetch standard allows 64 KiB for all keepalive bodies
 * of a document and rejects the rest (https://fetch.spec.whatwg.org/#http-network-or-cache-fetch). This limit
 * leaves some of that to the shop's own requests.
 */
export const MAX_KEEPALIVE_BYTES = 60_000

/** Why an event was not delivered. The list is complete. */
export type DropReason =
  | 'invalid'
  | 'duplicate'
  | 'no_consent'
  | 'too_old'
  | 'outbox_full'
  | 'refused'
  | 'ignored'

/**
 * The gateway's answer to one event of POST /t/batch, whose body is
 * `{sent, events: [{id, at, payload}]}`: the browser's clock when the request was sent, and for each event its
 * UUID, when it happened, and its payload (times in ms since 1970). An event without `payload` is a question:
 * does the gateway have an event with this id? The answer's body is `{results}`, one verdict for each event, in
 * order.
 */
export type Verdict = {
  readonly id: string
  /**
   * The HTTP status that the event would get if it were sent alone. For a question: 200 if the event is stored, 404
   * if it is not, 422 if the id is not a UUID.
   */
  readonly status: number
  /** Why, if the status is not 2xx. */
  readonly message?: string
  readonly issues?: readonly Issue[]
  /** The event was accepted but not stored, because the customer ignores this visitor's address. */
  readonly ignored?: true
}

import type { Issue } from './errors.ts'

/** The largest body of one event, bytes of UTF-8: above it the page refuses and the gateway answers 413. */
export const MAX_EVENT_BYTES = 131_072

/**
 * The most a page has on its way in keepalive requests, bytes of all bodies together. The Fetch
 * standard lets a document's keepalive bodies share 64 KiB and rejects what comes above; this leaves
 * the shop's own requests a little.
 */
export const MAX_KEEPALIVE_BYTES = 60_000

/** Why an event was not delivered: the closed list. */
export type DropReason =
  | 'invalid'
  | 'duplicate'
  | 'no_consent'
  | 'too_old'
  | 'outbox_full'
  | 'refused'
  | 'ignored'

/** One event inside a batch. */
export type Envelope = {
  /** The event's UUID, version 7; with it the gateway stores the event once. */
  readonly id: string
  /** When it happened, ms since 1970 by the browser's clock. */
  readonly at: number
  /** Absent: the envelope asks whether the gateway has stored the event with this id. */
  readonly payload?: unknown
}

/** Body of POST /t/batch. */
export type Batch = {
  /** The browser's clock when the batch was sent, ms since 1970: corrects every `at`. */
  readonly sent: number
  readonly events: readonly Envelope[]
}

/**
 * The verdict on one event of a batch; `message` and `issues` where `status` is no 2xx. On a question:
 * 200 the event is stored, 404 it is not, 422 the id is no UUID.
 */
export type Verdict = {
  readonly id: string
  readonly status: number
  readonly message?: string
  readonly issues?: readonly Issue[]
  /** The event is accepted and not stored, since the customer ignores its address. */
  readonly ignored?: true
}

/**
 * Body of the answer to POST /t/batch, one verdict an event, in order. Its status is 200; of a batch
 * that only asks it is 207 where not all of the events are stored.
 */
export type BatchAnswer = { readonly results: readonly Verdict[] }

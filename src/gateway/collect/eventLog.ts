import type { Usage } from '../customers/usage.ts'

/** One event as the log keeps it: validated, completed, its moment corrected. */
export type LogEvent = {
  /** The customer it belongs to; an event is unique by customer and id. */
  readonly customer: string
  /** A UUID in its usual text form. */
  readonly id: string
  /** When it happened, ms since 1970, corrected for the clock of the sender. */
  readonly at: number
  /** When it arrived, ms since 1970 by the gateway's clock. */
  readonly receivedAt: number
  /** Name of the operation, as the specification has it. */
  readonly operation: string
  /** The event name as it was sent, prefix and all. */
  readonly event: string
  /** The device; null for an event without one (sendCustomApi). */
  readonly did: string | null
  /** Whether the user agent says that it is a bot. Marked, never dropped. */
  readonly bot: boolean
  /** The validated payload, JSON. */
  readonly payload: string
}

/** A stored event and its position: the order of arrival, from 1, never used twice. */
export type LogRecord = LogEvent & { readonly seq: number }

/** What a record holds, bytes: its texts as UTF-8, and 256 for the rest of it. */
export const weigh = ({ payload, event, did }: Pick<LogRecord, 'payload' | 'event' | 'did'>) =>
  Buffer.byteLength(payload) + Buffer.byteLength(event) + Buffer.byteLength(did ?? '') + 256

/** What became of an event: a row of its own, or its id had one before. */
export type Outcome = 'stored' | 'duplicate'

/** What to read. */
export type Range = {
  /** Only records behind this position. Default 0, the beginning. */
  readonly after?: number
  /** At most so many records, from 1. */
  readonly max: number
  /** Ends with the record that reaches so many bytes, as `weigh` counts them. Default: no bound. */
  readonly maxBytes?: number
  /** Only this customer's records. Default everyone's. */
  readonly customer?: string
}

/** Where the newest records of a customer are. */
export type Tail = {
  /** They are those behind this position. */
  readonly after: number
  /** Position of the newest, 0 where the customer has none. */
  readonly newest: number
}

/** Whether the log can be written, and if not, why. */
export type Health = { readonly writable: boolean; readonly reason?: string }

/** @param customers Whose records were added; undefined where that is not known, so perhaps anyone's. */
export type NewsListener = (customers?: ReadonlySet<string>) => void

/**
 * The promise of the log: what it acknowledged is durable and is there once.
 *
 * An engine behind it may be anything that keeps this; nothing else in the gateway knows which.
 */
export type EventLog = {
  /**
   * Resolves when every event is durable (a crash of the machine loses none), one outcome an event, in
   * order. An id that the customer already has is `duplicate`: no error and no second record. Rejects with
   * Unavailable where not every event is known to be durable: then some of them may be stored, and the sender
   * repeats the same ids.
   */
  append(events: readonly LogEvent[]): Promise<readonly Outcome[]>
  /**
   * Whether the customer has an event of each id, in order. Answers after every append that was called
   * before is decided, so an id that waits to be stored is never reported as missing. Rejects with
   * Unavailable.
   *
   * @param ids UUIDs in their usual text form, in any case.
   */
  has(customer: string, ids: readonly string[]): Promise<readonly boolean[]>
  /**
   * Records in order of arrival, from a position on. Fewer than `max`, and less than `maxBytes`, means that
   * there are no more for now.
   */
  read(range: Range): Promise<readonly LogRecord[]>
  /** Where the newest `max` records of a customer are; all of them where there are fewer. */
  findTail(customer: string, max: number): Promise<Tail>
  /** Calls the listener after records were added, by this process or another. Answers its undo. */
  subscribe(listener: NewsListener): () => void
  /**
   * Calls the listener with what customers have stored on a day, whenever that changes: by an append of this
   * process before it resolves, by another process within a second. First with every customer's, before it resolves.
   */
  watchUsage(listener: (usages: readonly Usage[]) => void): Promise<void>
  health(): Health
  /** Resolves when something that is no event was written durably: whether appends work again. */
  probe(): Promise<void>
  /** Finishes what was begun, then lets go of the files. Appends fail from then on. */
  close(): Promise<void>
}

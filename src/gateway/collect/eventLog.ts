import type { Usage } from '../customers/usage.ts'

/** One event as the log stores it: complete, valid, with its time corrected. */
export type LogEvent = {
  /** The customer it belongs to; an event is unique by customer and id. */
  readonly customer: string
  /** A UUID in its usual text form. */
  readonly id: string
  /** When it happened, ms since 1970, corrected for the clock of the sender. */
  readonly at: number
  /** When it arrived, ms since 1970 by the gateway's clock. */
  readonly receivedAt: number
  /** Name of the operation in the specification. */
  readonly operation: string
  /** The event name as it was sent, with its prefix. */
  readonly event: string
  /** The device. Null if the event has none (sendCustomApi). */
  readonly did: string | null
  /** Whether the user agent is a bot's. Events of bots are stored, with this mark. */
  readonly bot: boolean
  /** Version of the script that has sent it, at most 32 characters. Null for a server's, and if it is not known. */
  readonly version: string | null
  /** Whether `did` is the hash of the day, since the visitor has not consented. Default: not known. */
  readonly cookieless?: boolean
  /** The validated payload, JSON. */
  readonly payload: string
}

/** A stored event and its position: the order of arrival, from 1, never used twice. */
export type LogRecord = Omit<LogEvent, 'cookieless'> & { readonly seq: number }

/** Size of a record in memory, bytes: its texts as UTF-8, and 256 for the rest. */
export const weigh = ({ payload, event, did }: Pick<LogRecord, 'payload' | 'event' | 'did'>) =>
  Buffer.byteLength(payload) + Buffer.byteLength(event) + Buffer.byteLength(did ?? '') + 256

/** Whether an event was stored, or its id was stored before. */
export type Outcome = 'stored' | 'duplicate'

/** What to read. */
export type Range = {
  /** Only records after this position. Default 0, the beginning. */
  readonly after?: number
  /** The most records, from 1. */
  readonly max: number
  /** Ends with the record that reaches this many bytes, as `weigh` counts them. Default: no limit. */
  readonly maxBytes?: number
  /** Only the records of this customer. Default: those of all customers. */
  readonly customer?: string
}

/** The positions of a customer's newest records. */
export type Tail = {
  /** They come after this position. */
  readonly after: number
  /** Position of the newest, 0 if the customer has none. */
  readonly newest: number
}

/** Whether the log can be written, and if not, why. */
export type Health = { readonly writable: boolean; readonly reason?: string }

/** @param customers The customers whose records were added. Undefined if that is not known. */
export type NewsListener = (customers?: ReadonlySet<string>) => void

/** The log of all events. An event that it has acknowledged is durable, and stored once. */
export type EventLog = {
  /**
   * Resolves when every event is durable (a crash of the machine does not lose it), with one outcome for each, in
   * order. An id that the customer already has is `duplicate`: no error, and no second record. Rejects with
   * Unavailable if not every event is known to be durable. Some of them may then be stored, and the sender repeats
   * the same ids.
   */
  append(events: readonly LogEvent[]): Promise<readonly Outcome[]>
  /**
   * Whether the customer has an event with each id, in order. Resolves after the appends that were called before it,
   * so an id that waits to be stored is not reported as missing. Rejects with Unavailable.
   *
   * @param ids UUIDs in their usual text form, in upper or lower case.
   */
  has(customer: string, ids: readonly string[]): Promise<readonly boolean[]>
  /**
   * Records in order of arrival. If they are fewer than `max` and less than `maxBytes`, there are no more for now.
   */
  read(range: Range): Promise<readonly LogRecord[]>
  /** The positions of the newest `max` records of a customer, or of all if there are fewer. */
  findTail(customer: string, max: number): Promise<Tail>
  /**
   * Calls the listener after records were added, by this process or another.
   *
   * @returns Removes the listener.
   */
  subscribe(listener: NewsListener): () => void
  /**
   * Calls the listener with the usage of customers on a day, each time that it changes: before an append of this
   * process resolves, and within a second after one of another process. It is first called, with all customers, before
   * this resolves.
   */
  watchUsage(listener: (usages: readonly Usage[]) => void): Promise<void>
  health(): Health
  /** Writes to the disk without adding an event. Resolves if appends work. */
  probe(): Promise<void>
  /** Finishes the appends that were called before, then closes the files. Appends are rejected from then on. */
  close(): Promise<void>
}

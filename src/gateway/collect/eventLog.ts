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
  /** The device. Null if the event has none: sendCustomApi, and what a server sends of orders and subscribers. */
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

/**
 * A stored event and its position: a number from 1, which grows in the order of arrival and is never used twice. In a
 * cluster each partition has positions of its own, and the events of a customer are all in one partition.
 */
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
  /** Only the records of this customer. Default: those of all customers, which only SQLite can read. */
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

/**
 * The log of all events. An event that it has acknowledged is durable, and counts once.
 *
 * SQLite stores an id once, however late it comes again. A cluster does so within the duplicate window of its streams,
 * and its readers count an id once that comes again later.
 */
export type EventLog = {
  /**
   * Resolves when every event is durable, with one outcome for each, in order. Durable is, with SQLite, what a crash of
   * the machine does not lose, and in a cluster what a majority of the replicas has got. An id that the customer already
   * has is `duplicate`: no error, and no second record. Rejects with Unavailable if not every event is known to be
   * durable. Some of them may then be stored, and the sender repeats the same ids.
   *
   * A customer's events are stored in order of the calls. A cluster that elects a leader may store those that are on
   * their way at that moment in another order.
   */
  append(events: readonly LogEvent[]): Promise<readonly Outcome[]>
  /**
   * Whether the customer has an event with each id, in order. Resolves after the appends that were called before it,
   * so an id that waits to be stored is not reported as missing. Rejects with Unavailable.
   *
   * In a cluster the follower of the customer's partition is asked. False then also means that it has not answered
   * within 100 ms, or not got the event yet. The sender sends the event again, which is noticed as a duplicate.
   *
   * @param ids UUIDs in their usual text form, in upper or lower case.
   */
  has(customer: string, ids: readonly string[]): Promise<readonly boolean[]>
  /**
   * Records in order of arrival. If they are fewer than `max` and less than `maxBytes`, there are no more for now.
   */
  read(range: Range): Promise<readonly LogRecord[]>
  /**
   * The positions of the newest `max` records of a customer, or of all if there are fewer. In a cluster they may be
   * fewer than `max` if thousands came at the same moment, and records that are stored twice count twice.
   */
  findTail(customer: string, max: number): Promise<Tail>
  /**
   * Calls the listener after records of a customer were added, by this process or another. It may be called for those of
   * other customers too.
   *
   * @returns Removes the listener.
   */
  subscribe(listener: NewsListener, customer: string): () => void
  /**
   * Calls the listener with the usage of customers on a day, each time that it changes: before an append of this
   * process resolves, and within a second after one of another process. It is first called, with all customers, before
   * this resolves.
   */
  watchUsage(listener: (usages: readonly Usage[]) => void): Promise<void>
  health(): Health
  /** Checks that events can be written, without adding one. Resolves if appends work, in a cluster those of a partition. */
  probe(): Promise<void>
  /** Finishes the appends that were called before, then closes the log. Appends are rejected from then on. */
  close(): Promise<void>
}

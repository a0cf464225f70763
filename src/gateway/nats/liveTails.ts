import { DeliverPolicy } from '@nats-io/jetstream'
import type { Subscription } from '@nats-io/transport-node'
import { type LogRecord, type NewsListener, type Range, weigh } from '../collect/eventLog.ts'
import type { Broker } from './broker.ts'
import { type Following, followStream } from './followStream.ts'
import { eventSubject, removedSubject, streamOf } from './names.ts'
import { toRecord } from './record.ts'

/** The newest events of the customers that are watched, as their streams deliver them. */
export type LiveTails = {
  /**
   * Calls the listener when the customer's stream has delivered events, and once when it begins to.
   *
   * @returns Removes the listener.
   */
  subscribe(listener: NewsListener, customer: string): () => void
  /** Records from memory, see EventLog.read. Undefined if some of them may not be in memory. */
  find(customer: string, range: Omit<Range, 'customer'>): readonly LogRecord[] | undefined
  close(): void
}

/** Events that are kept of one customer, in number and bytes. About one page of a live view. */
const MAX_EVENTS = 300
const MAX_BYTES = 2 ** 18
/** Messages that a stream sends ahead. */
const MAX_AHEAD = 100
/** Time until a tail is opened again that could not be opened or has ended, ms. */
const REOPEN_MS = 1_000
/** How often the leader is asked for the newest event of the customer, ms. */
const COMPARE_MS = 5_000

type Tail = {
  readonly customer: string
  readonly listeners: Set<NewsListener>
  /** In order. */
  messages: { readonly seq: number; readonly data: Buffer }[]
  bytes: number
  /** Every event after this position is in memory. Undefined while the stream delivers nothing. */
  base: number | undefined
  /** Whether the listeners will be called. */
  isDue: boolean
  isEnded: boolean
  timer: NodeJS.Timeout | undefined
  /** Set while the stream delivers. */
  following: Following | undefined
  /** Says that events of the customer were removed. */
  readonly removed: Subscription
}

/**
 * For each customer that has listeners, one ordered consumer of its subject, which listeners share. It ends with the
 * last listener.
 */
export function createLiveTails({
  nc,
  jsm,
  partitionOf,
}: Pick<Broker, 'nc' | 'jsm' | 'partitionOf'>): LiveTails {
  const tails = new Map<string, Tail>()

  function start(customer: string): Tail {
    const tail: Tail = {
      ...{ customer, listeners: new Set<NewsListener>(), messages: [], bytes: 0, base: undefined },
      ...{ isDue: false, isEnded: false, timer: undefined, following: undefined },
      removed: nc.subscribe(removedSubject(partitionOf(customer), customer), {
        callback: () => {
          forget(tail)
          for (const listener of tail.listeners) listener()
        },
      }),
    }
    openAgain(tail)
    return tail
  }

  async function openAgain(tail: Tail): Promise<void> {
    if (tail.isEnded) return
    try {
      await follow(tail)
    } catch {
      // The cluster elects a leader, or the connection is lost.
    }
    tail.base = undefined
    tail.messages = []
    tail.bytes = 0
    if (!tail.isEnded) tail.timer = setTimeout(() => openAgain(tail), REOPEN_MS)
  }

  /** Reads until the node of the consumer or the connection is gone. */
  async function follow(tail: Tail): Promise<void> {
    const partition = partitionOf(tail.customer)
    const [stream, subject] = [streamOf(partition), eventSubject(partition, tail.customer)]
    const { state } = await jsm.streams.info(stream)
    const following = await followStream(nc, stream, {
      filter_subjects: subject,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: state.last_seq + 1,
      prefetch: MAX_AHEAD,
    })
    async function compare(): Promise<void> {
      const newest = await jsm.streams.getMessage(stream, { last_by_subj: subject })
      if (newest) following.expect(newest.seq)
    }
    // Without an answer the next comparison asks again.
    const comparing = setInterval(() => compare().catch(() => {}), COMPARE_MS)
    try {
      if (tail.isEnded) return
      tail.following = following
      tail.base = state.last_seq
      notifySoon(tail)
      for await (const { seq, data } of following.messages) add(tail, seq, data)
    } finally {
      clearInterval(comparing)
      tail.following = undefined
      following.stop()
    }
  }

  function add(tail: Tail, seq: number, data: Uint8Array): void {
    // A copy: the data is a part of what the socket has read, which would stay in memory with it.
    tail.messages.push({ seq, data: Buffer.from(data) })
    tail.bytes += data.length
    while (tail.messages.length > MAX_EVENTS || tail.bytes > MAX_BYTES) {
      const oldest = tail.messages.shift()
      if (!oldest) break
      tail.bytes -= oldest.data.length
      // A replica that lags begins with older ones than asked for.
      tail.base = Math.max(tail.base ?? 0, oldest.seq)
    }
    notifySoon(tail)
  }

  /** Events of the customer are erased, and perhaps some of those in memory. */
  function forget(tail: Tail): void {
    const newest = tail.messages.at(-1)
    if (newest) tail.base = Math.max(tail.base ?? 0, newest.seq)
    tail.messages = []
    tail.bytes = 0
  }

  function notifySoon(tail: Tail): void {
    if (tail.isDue) return
    tail.isDue = true
    const customers = new Set([tail.customer])
    setImmediate(() => {
      tail.isDue = false
      for (const listener of tail.listeners) listener(customers)
    })
  }

  function end(tail: Tail): void {
    tail.isEnded = true
    tails.delete(tail.customer)
    clearTimeout(tail.timer)
    tail.removed.unsubscribe()
    tail.following?.stop()
  }

  return {
    subscribe(listener, customer) {
      const tail = tails.get(customer) ?? start(customer)
      tails.set(customer, tail)
      tail.listeners.add(listener)
      return () => {
        if (tail.listeners.delete(listener) && tail.listeners.size === 0) end(tail)
      }
    },
    find(customer, { after = 0, max, maxBytes = Number.POSITIVE_INFINITY }) {
      const tail = tails.get(customer)
      if (tail?.base === undefined || after < tail.base) return undefined
      const records: LogRecord[] = []
      const ids = new Set<string>()
      let bytes = 0
      for (const { seq, data } of tail.messages) {
        if (seq <= after) continue
        if (records.length >= max || bytes >= maxBytes) break
        const record = toRecord(customer, seq, data)
        if (!record || ids.has(record.id.toLowerCase())) continue
        ids.add(record.id.toLowerCase())
        records.push(record)
        bytes += weigh(record)
      }
      return records
    },
    close() {
      for (const tail of tails.values()) end(tail)
    },
  }
}

import {
  AckPolicy,
  type Consumer,
  type ConsumerAPI,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  type JsMsg,
  jetstreamManager,
} from '@nats-io/jetstream'
import { delay, nanos, nuid } from '@nats-io/transport-node'
import { type LogRecord, type Range, type Tail, weigh } from '../collect/eventLog.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { Broker } from './broker.ts'
import { fetchMessages } from './fetchMessages.ts'
import { eventSubject, streamOf } from './names.ts'
import { toRecord } from './record.ts'

/** Reads the events of one customer from its stream, by a consumer that is deleted afterwards. */
export type StreamReader = {
  /** See EventLog.read. An id that the stream has twice is returned once. Rejects with Unavailable. */
  read(customer: string, range: Omit<Range, 'customer'>): Promise<readonly LogRecord[]>
  /** See EventLog.findTail. Rejects with Unavailable. */
  findTail(customer: string, max: number): Promise<Tail>
}

/** Messages of one pull request: at most 2 MiB of events of a page. */
const CHUNK = 32
/**
 * Time for an answer of the JetStream API, ms, and attempts to create a consumer. The server that has to run it may be
 * busy or have just ended, and another attempt chooses another one.
 */
const API_MS = 3_000
const ATTEMPTS = 3
/** How long a pull request waits for messages that the consumer has announced, ms. */
const FETCH_MS = 2_000
/** How long to wait for a replica that lags, ms, and between two reads of it. */
const LAG_MS = 5_000
const RETRY_MS = 200
/** When the server deletes a consumer that the gateway could not delete, ms. */
const INACTIVE_MS = 10_000
/** Consumers that one search for the tail may create. */
const MAX_LOOKS = 24
/** Headers that it may read to find the exact position. */
const MAX_SKIPPED = 1_000

/** A consumer of a customer's events, from a position. */
type Opened = {
  /** Messages that it would deliver. */
  readonly pending: number
  /** Delivers at most `max` messages, of those that are pending. */
  fetch(max: number): Promise<readonly JsMsg[]>
  close(): void
}

export function createStreamReader({
  nc,
  js,
  partitionOf,
}: Pick<Broker, 'nc' | 'js' | 'partitionOf'>): StreamReader {
  const manager = jetstreamManager(nc, { timeout: API_MS, checkAPI: false })

  async function open(customer: string, from: number, headersOnly = false): Promise<Opened> {
    const partition = partitionOf(customer)
    const stream = streamOf(partition)
    const { consumers } = await manager
    const info = await createConsumer(consumers, stream, {
      filter_subject: eventSubject(partition, customer),
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: from,
      ack_policy: AckPolicy.None,
      inactive_threshold: nanos(INACTIVE_MS),
      num_replicas: 1,
      mem_storage: true,
      headers_only: headersOnly,
    })
    const consumer: Consumer = js.consumers.getConsumerFromInfo(info)
    return {
      pending: info.num_pending,
      fetch: (max) => fetchMessages(consumer, max, FETCH_MS),
      close: () => void consumers.delete(stream, info.name).catch(() => {}),
    }
  }

  async function read(
    customer: string,
    { after = 0, max, maxBytes = Number.POSITIVE_INFINITY }: Omit<Range, 'customer'>,
  ): Promise<readonly LogRecord[]> {
    const records: LogRecord[] = []
    const ids = new Set<string>()
    let bytes = 0
    let last = after
    const isFull = () => records.length >= max || bytes >= maxBytes

    function add({ seq, data }: JsMsg): void {
      if (isFull()) return
      last = seq
      const record = toRecord(customer, seq, data)
      if (!record || ids.has(record.id.toLowerCase())) return
      ids.add(record.id.toLowerCase())
      records.push(record)
      bytes += weigh(record)
    }

    async function readOn(): Promise<void> {
      const opened = await open(customer, last + 1)
      try {
        for (let left = opened.pending; left > 0 && !isFull(); ) {
          const before = left
          for (const message of await opened.fetch(Math.min(left, max - records.length, CHUNK))) {
            left = message.info.pending
            add(message)
          }
          // The announced messages were deleted meanwhile.
          if (left === before) break
        }
      } finally {
        opened.close()
      }
    }

    const until = performance.now() + LAG_MS
    let end = findNewest(customer)
    // Awaited below.
    end.catch(() => {})
    for (;;) {
      await readOn()
      // The replica that the consumer reads may lag behind the leader, for instance after a restart.
      if (isFull() || last >= (await end)) return records
      if (performance.now() > until)
        throw new Error('The replicas of the stream do not have all of its messages')
      await delay(RETRY_MS)
      end = findNewest(customer)
    }
  }

  /** Position of the customer's newest event, by the stream's leader. 0 if there is none. */
  async function findNewest(customer: string): Promise<number> {
    const partition = partitionOf(customer)
    const { streams } = await manager
    const subject = eventSubject(partition, customer)
    const newest = await streams.getMessage(streamOf(partition), { last_by_subj: subject })
    return newest?.seq ?? 0
  }

  async function count(customer: string, from: number): Promise<number> {
    const opened = await open(customer, from, true)
    opened.close()
    return opened.pending
  }

  async function findTail(customer: string, max: number): Promise<Tail> {
    const partition = partitionOf(customer)
    const subject = eventSubject(partition, customer)
    const stream = streamOf(partition)
    const { streams } = await manager
    const [{ state }, newest] = await Promise.all([
      streams.info(stream, { subjects_filter: subject }),
      findNewest(customer),
    ])
    const total = state.subjects?.[subject] ?? 0
    if (newest === 0 || total === 0) return { after: 0, newest: 0 }
    if (total <= max) return { after: 0, newest }
    // More than `max` come from `low` on, and less from `high` on.
    let low = state.first_seq
    let found = total
    let high = newest + 1
    let looks = 0
    const perEvent = (newest - low + 1) / total
    for (let step = Math.ceil(1.2 * max * perEvent); newest - step >= low; step *= 2) {
      const from = newest - step + 1
      const counted = await count(customer, from)
      if (counted === max) return { after: from - 1, newest }
      if (counted > max) {
        low = from
        found = counted
        break
      }
      high = from
      if (++looks === MAX_LOOKS) return { after: high - 1, newest }
    }
    while (found - max > MAX_SKIPPED && high - low > 1 && ++looks < MAX_LOOKS) {
      const from = Math.floor((low + high) / 2)
      const counted = await count(customer, from)
      if (counted === max) return { after: from - 1, newest }
      if (counted > max) {
        low = from
        found = counted
      } else high = from
    }
    // Very many came at once: the tail is a bit shorter.
    if (found - max > MAX_SKIPPED) return { after: high - 1, newest }
    return { after: await skip(customer, low, found - max), newest }
  }

  /** The position of the n-th event from a position on. */
  async function skip(customer: string, from: number, n: number): Promise<number> {
    const opened = await open(customer, from, true)
    let position = from - 1
    try {
      for (const { seq } of await opened.fetch(n)) position = seq
      return position
    } finally {
      opened.close()
    }
  }

  return {
    read: (customer, range) => orUnavailable(read(customer, range)),
    findTail: (customer, max) => orUnavailable(findTail(customer, max)),
  }
}

async function createConsumer(
  consumers: ConsumerAPI,
  stream: string,
  config: Partial<ConsumerConfig>,
): Promise<ConsumerInfo> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await consumers.add(stream, { ...config, name: `read-${nuid.next()}` })
    } catch (error) {
      if ((error as Error).name !== 'TimeoutError' || attempt === ATTEMPTS) throw error
    }
  }
}

const orUnavailable = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error) => {
    throw new Unavailable('The event log can not be read', 5, error)
  })

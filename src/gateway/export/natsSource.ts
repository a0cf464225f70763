import { AckPolicy, DeliverPolicy } from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import { type LogEvent, weigh } from '../collect/eventLog.ts'
import type { Broker } from '../nats/broker.ts'
import { decodeEvent } from '../nats/eventMessage.ts'
import { fetchMessages } from '../nats/fetchMessages.ts'
import { eventSubject, removedSubject, streamOf, toToken } from '../nats/names.ts'
import { readMessages } from '../nats/readMessages.ts'
import { decodeRemoved } from '../nats/removedMessage.ts'
import { isDayHash } from '../sqlite/forwardLog.ts'
import { type Placed, type Source, STEP_BYTES, STEP_RECORDS, type Step } from './source.ts'

/** How long a request waits for a message that was announced, ms. */
const FETCH_MS = 5_000
/** Attempts to find the first event since a time. */
const ATTEMPTS = 5
/** When the server deletes a consumer that could not be deleted, ms. */
const INACTIVE_MS = 10_000

/**
 * Reads the stream of a cluster. The stream may have an id twice, if it came again after the duplicate window.
 *
 * @param broker Closed with the source.
 */
export function openNatsSource(broker: Broker, customer: string): Source {
  const { js, jsm } = broker
  const partition = broker.partitionOf(customer)
  const stream = streamOf(partition)
  const subject = eventSubject(partition, customer)

  async function lastOf(subject: string): Promise<number> {
    const last = await jsm.streams.getMessage(stream, { last_by_subj: subject })
    return last?.seq ?? 0
  }

  /** Position of the first event that was stored since a time, ms. The node of a consumer may be down, so another is tried. */
  async function firstSince(time: number): Promise<number | undefined> {
    for (let attempt = 1; ; attempt++)
      try {
        return await findFirst(time)
      } catch (error) {
        if (attempt === ATTEMPTS)
          throw new Error('The cluster does not answer. Try again', { cause: error })
      }
  }

  async function findFirst(time: number): Promise<number | undefined> {
    const info = await jsm.consumers.add(stream, {
      filter_subject: subject,
      deliver_policy: DeliverPolicy.StartTime,
      opt_start_time: new Date(Math.max(time, 0)).toISOString(),
      ack_policy: AckPolicy.None,
      inactive_threshold: nanos(INACTIVE_MS),
      headers_only: true,
      num_replicas: 1,
      mem_storage: true,
    })
    try {
      if (info.num_pending === 0) return undefined
      const consumer = js.consumers.getConsumerFromInfo(info)
      for await (const { seq } of fetchMessages(consumer, 1, FETCH_MS)) return seq
      throw new Error('A message that was announced has not come')
    } finally {
      jsm.consumers.delete(stream, info.name).catch(() => {})
    }
  }

  return {
    mayRepeat: true,
    async isKnown() {
      // Events of a customer that was removed are kept.
      if ((await lastOf(subject)) > 0) return true
      return (await broker.customers.get(`customers.${toToken(customer)}`)) !== null
    },
    async *removed() {
      const subject = removedSubject(partition, customer)
      const upTo = await lastOf(subject)
      for await (const { data } of readMessages(broker, { stream, subject, after: 0, upTo }))
        for (const { id } of decodeRemoved(data)) yield id
    },
    end: () => lastOf(subject),
    async before(time) {
      // A broker stores an event after it has arrived.
      const first = await firstSince(time)
      return first === undefined ? lastOf(subject) : first - 1
    },
    mark: async () => broker.id,
    isOf: async (mark) => mark === broker.id,
    async *read(after, upTo) {
      let records: Placed[] = []
      let bytes = 0
      let last = after
      const take = (position: number): Step => {
        const step = { records, upTo: position }
        records = []
        bytes = 0
        return step
      }
      for await (const { seq, data } of readMessages(broker, { stream, subject, after, upTo })) {
        last = seq
        const record = readRecord(customer, data)
        if (!record) continue
        records.push({ position: seq, record })
        bytes += weigh(record)
        if (records.length >= STEP_RECORDS || bytes >= STEP_BYTES) yield take(last)
      }
      yield take(upTo)
    },
    close: () => broker.close(),
  }
}

/** Undefined if the message is not that of an event, which only a foreign publisher sends. */
function readRecord(customer: string, data: Uint8Array) {
  let event: LogEvent
  try {
    event = decodeEvent(customer, data)
  } catch {
    return undefined
  }
  const { cookieless = isDayHash(event.did), ...record } = event
  return { ...record, isCookieless: cookieless }
}

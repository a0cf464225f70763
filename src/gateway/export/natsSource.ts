import type { MsgRequest } from '@nats-io/jetstream'
import { type LogEvent, weigh } from '../collect/eventLog.ts'
import type { Broker } from '../nats/broker.ts'
import { decodeEvent } from '../nats/eventMessage.ts'
import { eventSubject, removedSubject, streamOf, toToken } from '../nats/names.ts'
import { readMessages } from '../nats/readMessages.ts'
import { decodeRemoved } from '../nats/removedMessage.ts'
import { untilAnswered } from '../nats/untilAnswered.ts'
import { isDayHash } from '../sqlite/forwardLog.ts'
import { type Placed, type Source, STEP_BYTES, STEP_RECORDS, type Step } from './source.ts'

/**
 * Reads the stream of a cluster. The stream may have an id twice, if it came again after the duplicate window.
 *
 * @param broker Closed with the source.
 */
export function openNatsSource(broker: Broker, customer: string): Source {
  const { jsm } = broker
  const partition = broker.partitionOf(customer)
  const stream = streamOf(partition)
  const subject = eventSubject(partition, customer)

  /** A message of the stream, as its leader has it. The type lacks `seq` with `next_by_subj`, which servers have since 2.9. */
  const find = (query: { last_by_subj: string } | { seq: number; next_by_subj: string }) =>
    untilAnswered(() => jsm.streams.getMessage(stream, query as MsgRequest))
  const lastOf = async (subject: string) => (await find({ last_by_subj: subject }))?.seq ?? 0

  /** Whether the first event at or after a position was stored at or after a time. It is if there is none. */
  async function isSince(position: number, time: number): Promise<boolean> {
    const next = await find({ seq: position, next_by_subj: subject })
    return next === null || next.time.getTime() >= time
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
      // A broker stores an event after it has arrived. The leader is asked: a consumer reads a replica, which may lag.
      let [earlier, since] = [0, (await lastOf(subject)) + 1]
      while (since - earlier > 1) {
        const middle = Math.floor((earlier + since) / 2)
        if (await isSince(middle, time)) since = middle
        else earlier = middle
      }
      return earlier
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

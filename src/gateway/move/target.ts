import type { StreamInfo } from '@nats-io/jetstream'
import { millis } from '@nats-io/transport-node'
import type { Broker } from '../nats/broker.ts'
import {
  allPartitions,
  CAMPAIGNS_BUCKET,
  CUSTOMERS_BUCKET,
  entrySubject,
  eventSubject,
  fromToken,
  removedSubject,
  streamOf,
  streamOfBucket,
} from '../nats/names.ts'
import { type Acknowledgement, createPublisher, type Message } from '../nats/publisher.ts'
import { readMessages } from '../nats/readMessages.ts'
import { decodeRemoved } from '../nats/removedMessage.ts'
import { PATIENCE_MS, untilAnswered } from '../nats/untilAnswered.ts'
import type { Counts } from './source.ts'

/** Messages that are in the streams. */
export type Published = {
  /** The sequence of each. */
  readonly sequences: readonly number[]
  /** Whether some of them were found in the streams. */
  readonly wereStored: boolean
}

/** The cluster as a move sees it. */
export type MoveTarget = {
  readonly broker: Broker
  /**
   * Publishes messages. Resolves when all are stored.
   *
   * @param after Sequence by partition: none of the messages is in the streams up to there.
   * @param mayBeStored Whether some of them may be in the streams after that. They are not published again, however long
   * ago that was.
   */
  publish(
    messages: readonly Message[],
    after: readonly number[],
    mayBeStored: boolean,
  ): Promise<Published>
  /** Sequences of the events of a customer after one sequence, up to another one, by their ids. */
  sequencesOf(customer: string, after: number, upTo: number): Promise<ReadonlyMap<string, number>>
  /** The last sequence of each partition. */
  ends(): Promise<readonly number[]>
  /** Number of customers. */
  customerCount(): Promise<number>
  eventCounts(): Promise<Counts>
  removedCounts(): Promise<Counts>
  campaignCounts(): Promise<Counts>
  /** Does not close the broker. */
  close(): Promise<void>
}

/** The longest time for an acknowledgement, ms. */
const MAX_DEADLINE_MS = 10_000
const MESSAGE_ID = 'Nats-Msg-Id'

export async function createMoveTarget(broker: Broker): Promise<MoveTarget> {
  const { jsm, partitions, partitionOf } = broker
  const all = allPartitions(partitions)
  const windows = await Promise.all(
    all.map(async (partition) => (await infoOf(streamOf(partition))).config.duplicate_window),
  )
  const publisher = createPublisher(broker.nc, {
    // The publisher sends a message again until then, so that has to be in the duplicate window.
    deadlineMs: Math.min(MAX_DEADLINE_MS, millis(Math.min(...windows)) / 2),
    onTimeout() {},
  })

  /** @param subjects Those whose messages are counted. Default: none. */
  function infoOf(stream: string, subjects?: string): Promise<StreamInfo> {
    const query = subjects === undefined ? {} : { subjects_filter: subjects }
    return untilAnswered(() => jsm.streams.info(stream, query))
  }

  /** Sequences of those of the messages that are in the streams after some sequences, by message id. */
  async function findStored(messages: readonly Message[], after: readonly number[]) {
    const ids = new Set(messages.map(({ id }) => id))
    const stored = new Map<string, number>()
    const upTo = await ends()
    for (const partition of all) {
      const range = { stream: streamOf(partition), after: after[partition] ?? 0 }
      for await (const { headers, seq } of readMessages(broker, {
        ...range,
        upTo: upTo[partition] as number,
      })) {
        const id = headers?.get(MESSAGE_ID)
        if (id && ids.has(id) && !stored.has(id)) stored.set(id, seq)
        if (stored.size === ids.size) return stored
      }
    }
    return stored
  }

  const ends = (): Promise<number[]> =>
    Promise.all(all.map(async (partition) => (await infoOf(streamOf(partition))).state.last_seq))

  async function subjectCounts(stream: string, filter: string) {
    const { state } = await infoOf(stream, filter)
    return Object.entries(state.subjects ?? {})
  }

  return {
    broker,
    async publish(messages, after, mayBeStored) {
      const until = performance.now() + PATIENCE_MS
      for (let isUnknown = mayBeStored; ; isUnknown = true) {
        const stored = isUnknown ? await findStored(messages, after) : new Map<string, number>()
        const wereStored = stored.size > 0
        const missing = messages.filter(({ id }) => !stored.has(id))
        try {
          const acknowledged = await publisher.publish(missing)
          missing.forEach(({ id }, i) => {
            stored.set(id, (acknowledged[i] as Acknowledgement).seq)
          })
          return { sequences: messages.map(({ id }) => stored.get(id) as number), wereStored }
        } catch (error) {
          if (performance.now() > until)
            throw new Error(`${(error as Error).message}. Repeat the command to continue`, {
              cause: error,
            })
        }
      }
    },
    async sequencesOf(customer, after, upTo) {
      const partition = partitionOf(customer)
      const [stream, subject] = [streamOf(partition), eventSubject(partition, customer)]
      const sequences = new Map<string, number>()
      const prefix = `${customer}/`
      for await (const { headers, seq } of readMessages(broker, { stream, subject, after, upTo })) {
        const id = headers?.get(MESSAGE_ID)
        if (id?.startsWith(prefix)) sequences.set(id.slice(prefix.length), seq)
      }
      return sequences
    },
    ends,
    customerCount: async () =>
      (
        await subjectCounts(
          streamOfBucket(CUSTOMERS_BUCKET),
          entrySubject(CUSTOMERS_BUCKET, 'customers.*'),
        )
      ).length,
    async eventCounts() {
      const counts = new Map<string, number>()
      for (const partition of all)
        for (const [subject, count] of await subjectCounts(
          streamOf(partition),
          `events.${partition}.*`,
        ))
          counts.set(fromToken(subject.split('.')[2] as string), count)
      return counts
    },
    async removedCounts() {
      const counts = new Map<string, number>()
      const upTo = await ends()
      for (const partition of all) {
        const stream = streamOf(partition)
        for (const [subject] of await subjectCounts(stream, `removed.${partition}.*`)) {
          const customer = fromToken(subject.split('.')[2] as string)
          const ids = new Set<string>()
          const range = { stream, subject: removedSubject(partition, customer), after: 0 }
          for await (const { data } of readMessages(broker, {
            ...range,
            upTo: upTo[partition] as number,
          }))
            for (const { id } of decodeRemoved(data)) ids.add(id)
          counts.set(customer, ids.size)
        }
      }
      return counts
    },
    async campaignCounts() {
      const counts = new Map<string, number>()
      const prefix = entrySubject(CAMPAIGNS_BUCKET, '')
      for (const [subject] of await subjectCounts(
        streamOfBucket(CAMPAIGNS_BUCKET),
        `${prefix}*.*.*`,
      )) {
        const customer = fromToken(subject.slice(prefix.length).split('.')[1] as string)
        counts.set(customer, (counts.get(customer) ?? 0) + 1)
      }
      return counts
    },
    close: () => publisher.close(),
  }
}

import { randomUUID } from 'node:crypto'
import { Unavailable } from '../lib/unavailable.ts'
import { type CountBatch, type CountStore, slotOf } from '../problems/problems.ts'
import type { Ask } from './ask.ts'
import type { Broker } from './broker.ts'
import { encodeCounts } from './countsMessage.ts'
import { allPartitions, countsSubject } from './names.ts'

/** A message that may be in its stream already. */
type Pending = { readonly id: string; readonly partition: number; readonly data: Buffer }

/** Time for an acknowledgement, and between two attempts, ms. */
const ACKNOWLEDGE_MS = 5_000
const RETRY_MS = 3_000
const RETRY_SECONDS = 5

/** Counts in a cluster. */
export type NatsCounts = CountStore & {
  /** Ends the attempts to store what could not be stored. */
  close(): void
}

/**
 * Counts are messages in the streams of the partitions, which every follower adds to its copies, so the counts of all
 * gateways add up. The follower that holds the customer's partition reads them.
 *
 * A batch whose acknowledgement is missing may be stored or not, so it is not given back: it stays here, and is
 * published again with the same message ids until it is acknowledged. `write` resolves then too. Until then further
 * batches are refused, so at most one is kept. A process that is killed loses it.
 *
 * @param publish Publishes with an id. Resolves with the sequence in the stream. Default: by JetStream.
 */
export function createNatsCounts(
  broker: Pick<Broker, 'js' | 'partitions' | 'partitionOf'>,
  ask: Ask,
  publish: (pending: Pending) => Promise<number> = ({ id, partition, data }) =>
    broker.js
      .publish(countsSubject(partition), data, { msgID: id, timeout: ACKNOWLEDGE_MS })
      .then(({ seq }) => seq),
): NatsCounts {
  const { partitions, partitionOf } = broker
  const all = allPartitions(partitions)
  let pending: Pending[] = []
  let flushing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  /** By partition: the last slot in which a message says that a gateway ran. */
  const markedSlots = new Map<number, number>()
  /** By partition: the sequence of the last message of this gateway. */
  const written = new Map<number, number>()

  function split({ problems, coverage, now }: CountBatch): Pending[] {
    const messages: Pending[] = []
    for (const partition of all) {
      const isHere = ({ customer }: { readonly customer: string }) =>
        partitionOf(customer) === partition
      const own = { problems: problems.filter(isHere), coverage: coverage.filter(isHere), now }
      const isMarked = markedSlots.get(partition) === slotOf(now)
      if (own.problems.length === 0 && own.coverage.length === 0 && isMarked) continue
      markedSlots.set(partition, slotOf(now))
      for (const data of encodeCounts(own)) messages.push({ id: randomUUID(), partition, data })
    }
    return messages
  }

  /** Publishes what is pending. Rejects if something is left. */
  async function publishAll(): Promise<void> {
    const results = await Promise.allSettled(
      pending.map(async (message) => {
        const { partition } = message
        const seq = await publish(message)
        written.set(partition, Math.max(seq, written.get(partition) ?? 0))
        pending = pending.filter((other) => other !== message)
      }),
    )
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    flushing ??= publishAll().finally(() => {
      flushing = undefined
      if (pending.length > 0 && !isClosed) timer = setTimeout(retry, RETRY_MS).unref()
    })
    return flushing
  }
  const retry = () => void flush().catch(() => {})

  return {
    async write(batch) {
      try {
        await flush()
      } catch (error) {
        throw new Unavailable('The counts can not be stored now', RETRY_SECONDS, error)
      }
      pending = split(batch)
      await flush().catch(() => {})
    },
    readProblems(customer, fromDay) {
      const partition = partitionOf(customer)
      const args = [customer, fromDay, written.get(partition) ?? 0] as const
      return ask(partition, 'readProblems', [...args])
    },
    readCoverage(customer, now) {
      const partition = partitionOf(customer)
      const args = [customer, now, written.get(partition) ?? 0] as const
      return ask(partition, 'readCoverage', [...args])
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

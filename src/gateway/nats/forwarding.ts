import type { DestinationStatus, Forwarding, ShownDestination } from '../forward/forwarding.ts'
import type { ForwardFigures } from '../http/forwardMetrics.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { Ask } from './ask.ts'
import { allPartitions } from './names.ts'

/** Answers that wait for the thread of the forwarding and for the cluster, ms. */
const TIMEOUT_MS = 20_000
/** Retry-After, seconds. */
const RETRY_SECONDS = 5

/** What the forwarding of a gateway uses. */
export type NatsForwardingOptions = {
  readonly ask: Ask
  readonly partitions: number
  readonly partitionOf: (customer: string) => number
  /** The partitions whose follower is this process. */
  readonly held: () => readonly number[]
  /** Time for the answer of a follower, ms. Default 20,000. */
  readonly timeoutMs?: number | undefined
}

/** @param missing The partitions whose follower has not answered. */
const missingError = (missing: readonly number[]): Unavailable =>
  new Unavailable(
    `The destinations of ${missing.length === 1 ? 'partition' : 'partitions'} ${missing.join(', ')} can not be listed: no follower answers. One has to run: shoptrail follow`,
    RETRY_SECONDS,
  )

/** Asks all partitions. */
async function listEach(
  ask: Ask,
  partitions: number,
): Promise<{ readonly found: readonly DestinationStatus[]; readonly missing: readonly number[] }> {
  const all = allPartitions(partitions)
  const lists = await Promise.allSettled(
    all.map((partition) => ask(partition, 'listDestinations', [], TIMEOUT_MS)),
  )
  return {
    found: lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : [])),
    missing: all.filter((partition) => lists[partition]?.status === 'rejected'),
  }
}

/** The destination with an id, of any customer. Undefined if there is none. */
export async function findDestination(
  ask: Ask,
  partitions: number,
  id: string,
): Promise<ShownDestination | undefined> {
  const { found, missing } = await listEach(ask, partitions)
  const one = found.find(({ destination }) => destination.id === id)?.destination
  if (!one && missing.length > 0) throw missingError(missing)
  return one
}

/** Destinations, by the followers that hold the partitions of their customers. */
export function createNatsForwarding({
  ask,
  partitions,
  partitionOf,
  held,
  timeoutMs = TIMEOUT_MS,
}: NatsForwardingOptions): Forwarding & { figures(): Promise<readonly ForwardFigures[]> } {
  /** A list with gaps would look like destinations that were removed, so it is all or nothing. */
  async function listAll(): Promise<readonly DestinationStatus[]> {
    const { found, missing } = await listEach(ask, partitions)
    if (missing.length > 0) throw missingError(missing)
    return found
  }

  return {
    add: (given) => ask(partitionOf(given.customer), 'addDestination', [given], timeoutMs),
    list: (customer) =>
      customer === undefined
        ? listAll()
        : ask(partitionOf(customer), 'listDestinations', [customer], timeoutMs),
    /** Only those of this process, so that each destination is in the metrics of one process. */
    async figures() {
      const lists = await Promise.all(
        held().map((partition) => ask(partition, 'forwardFigures', [], timeoutMs)),
      )
      return lists.flat()
    },
    change: (customer, id, change) =>
      ask(partitionOf(customer), 'changeDestination', [customer, id, change], timeoutMs),
    remove: (customer, id) =>
      ask(partitionOf(customer), 'removeDestination', [customer, id], timeoutMs),
    letters: (customer, id, asked) =>
      ask(partitionOf(customer), 'letters', [customer, id, asked], timeoutMs),
    mend: (customer, id, patch, filter) =>
      ask(partitionOf(customer), 'mendLetters', [customer, id, patch, filter], timeoutMs),
    replay: (customer, id, filter) =>
      ask(partitionOf(customer), 'replayLetters', [customer, id, filter], timeoutMs),
    discard: (customer, id, filter) =>
      ask(partitionOf(customer), 'discardLetters', [customer, id, filter], timeoutMs),
  }
}

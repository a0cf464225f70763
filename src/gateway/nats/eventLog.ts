import type { EventLog, LogEvent } from '../collect/eventLog.ts'
import { DEFAULT_QUEUE, type Groups } from '../collect/groupCommit.ts'
import { isOfServers } from '../customers/usage.ts'
import type { ClusterFigures } from '../http/clusterMetrics.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { Ask } from './ask.ts'
import { createBreakers } from './breaker.ts'
import type { Broker } from './broker.ts'
import type { ClusterNews } from './clusterNews.ts'
import { watchConnection } from './connectionWatch.ts'
import { encodeEvent, messageIdOf } from './eventMessage.ts'
import { createLiveTails } from './liveTails.ts'
import { eventSubject } from './names.ts'
import { probeStream } from './probeStream.ts'
import { type Acknowledgement, createPublisher, type Message, NO_CONNECTION } from './publisher.ts'
import { createStreamReader } from './streamReader.ts'
import type { StoredEvent } from './usageSums.ts'
import { createNatsUsageWatch } from './usageWatch.ts'

export type NatsLogOptions = {
  /** Not closed with the log. */
  readonly broker: Pick<Broker, 'nc' | 'js' | 'jsm' | 'partitions' | 'partitionOf'>
  readonly ask: Ask
  /** Time from the start of an append to its acknowledgements, ms. Default: the deadline of the queue. */
  readonly deadlineMs?: number | undefined
  /** Called when the result of `health` may have changed. */
  readonly onChange?: (() => void) | undefined
  /** Called when a partition is closed off, and when it is written again. */
  readonly onCluster?: ((news: ClusterNews) => void) | undefined
}

/** The log, and what its metrics show. */
export type NatsLog = EventLog & {
  /** A partition is a group: its commits wait for no other one. */
  readonly groups: Groups
  figures(): Pick<ClusterFigures, 'repeatedMessages' | 'closedOff'>
}

/** Time for the answer whether an id is stored, ms. */
export const HAS_MS = 100
/** Retry-After while a partition can not be written, seconds: about as long as the election of a leader. */
const RETRY_SECONDS = 5
/**
 * Time without a connection after which events are refused at once, ms. When one node ends, a connection to another is
 * there after some 250 ms.
 */
const LOST_MS = 2_000
/** Customers whose subject is remembered. */
const MAX_ROUTES = 10_000

type Route = { readonly partition: number; readonly subject: string }

/**
 * The log in the streams of a NATS cluster. An append is resolved when a majority of the replicas has every event. To
 * stand behind the queue of `createGroupCommit`.
 */
export function createNatsLog({
  broker,
  ask,
  deadlineMs = DEFAULT_QUEUE.deadlineMs,
  onChange = () => {},
  onCluster = () => {},
}: NatsLogOptions): NatsLog {
  const { nc, partitions, partitionOf } = broker
  let isConnected = !nc.isClosed()
  /** Set when the connection has been lost for LOST_MS. */
  let isLost = false
  let losing: NodeJS.Timeout | undefined
  let isClosed = false

  const breakers = createBreakers({
    partitions,
    probe: (partition) => probeStream(nc, partition),
    onChange(partition, isOpen) {
      onCluster({ what: isOpen ? 'closed_off' : 'writable', partition })
      onChange()
    },
  })
  const publisher = createPublisher(nc, { deadlineMs, onTimeout: breakers.open })
  const usage = createNatsUsageWatch(nc, ask, partitions)
  const reader = createStreamReader(broker)
  const tails = createLiveTails(broker)
  const stopWatching = watchConnection(nc, {
    onLost() {
      isConnected = false
      publisher.pause()
      losing ??= setTimeout(giveUp, LOST_MS)
      onChange()
    },
    onBack() {
      clearTimeout(losing)
      losing = undefined
      isLost = false
      isConnected = true
      publisher.resume()
      usage.refresh()
      onChange()
    },
  })

  function giveUp(): void {
    isLost = true
    publisher.giveUp()
  }

  const routes = new Map<string, Route>()
  function routeOf(customer: string): Route {
    let route = routes.get(customer)
    if (!route) {
      if (routes.size >= MAX_ROUTES) routes.clear()
      const partition = partitionOf(customer)
      route = { partition, subject: eventSubject(partition, customer) }
      routes.set(customer, route)
    }
    return route
  }

  function toMessage(event: LogEvent): Message {
    if (isLost) throw new Unavailable(NO_CONNECTION, RETRY_SECONDS)
    const { partition, subject } = routeOf(event.customer)
    if (breakers.isOpen(partition))
      throw new Unavailable('The event log can not be written at the moment', RETRY_SECONDS)
    return { partition, subject, id: messageIdOf(event), data: encodeEvent(event) }
  }

  function countStored(
    events: readonly LogEvent[],
    acknowledgements: readonly Acknowledgement[],
  ): void {
    const stored = new Map<number, StoredEvent[]>()
    events.forEach(({ customer, operation, receivedAt, payload }, i) => {
      const { seq, isDuplicate } = acknowledgements[i] as Acknowledgement
      if (isDuplicate) return
      const { partition } = routeOf(customer)
      const isServer = isOfServers(operation)
      const one = { customer, receivedAt, isServer, bytes: Buffer.byteLength(payload), seq }
      const ofPartition = stored.get(partition)
      if (ofPartition) ofPartition.push(one)
      else stored.set(partition, [one])
    })
    for (const [partition, ofPartition] of stored) usage.count(partition, ofPartition)
  }

  function refuseClosed(): void {
    if (isClosed) throw new Unavailable('The gateway is stopping')
  }

  return {
    // Several commits of a partition at the same time were not faster, and could be stored in another order.
    groups: { count: partitions, of: (customer) => routeOf(customer).partition },
    figures: () => ({
      repeatedMessages: publisher.repeated(),
      closedOff: Array.from({ length: partitions }, (_, partition) => breakers.isOpen(partition)),
    }),
    async append(events) {
      refuseClosed()
      const acknowledgements = await publisher.publish(events.map(toMessage))
      countStored(events, acknowledgements)
      return acknowledgements.map(({ isDuplicate }) => (isDuplicate ? 'duplicate' : 'stored'))
    },
    async has(customer, ids) {
      refuseClosed()
      if (ids.length === 0) return []
      const { partition } = routeOf(customer)
      return ask(partition, 'has', [customer, ids], HAS_MS).catch(() => ids.map(() => false))
    },
    async read({ customer, ...range }) {
      if (customer === undefined)
        throw new Error('The log of a cluster is read by customer, because it has no common order')
      return tails.find(customer, range) ?? reader.read(customer, range)
    },
    findTail: (customer, max) => reader.findTail(customer, max),
    subscribe: tails.subscribe,
    watchUsage: usage.start,
    health() {
      if (isClosed) return { writable: false, reason: 'stopping' }
      if (!isConnected) return { writable: false, reason: 'the connection to the cluster is lost' }
      if (breakers.areAllOpen())
        return { writable: false, reason: 'no partition of the event log can be written' }
      return { writable: true }
    },
    async probe() {
      refuseClosed()
      if (!(await breakers.probe()))
        throw new Unavailable('The event log can not be written', RETRY_SECONDS)
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await publisher.close()
      breakers.stop()
      tails.close()
      usage.stop()
      stopWatching()
      clearTimeout(losing)
    },
  }
}

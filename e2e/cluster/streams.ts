import {
  AckPolicy,
  type ConsumerMessages,
  DeliverPolicy,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import { connect, type NatsConnection, nanos } from '@nats-io/transport-node'
import { decodeEvent } from '../../src/gateway/nats/eventMessage.ts'
import { fromToken, streamOf } from '../../src/gateway/nats/names.ts'
import { DEFAULT_PARTITIONS } from '../../src/gateway/nats/natsOptions.ts'
import type { NatsAccount } from '../../src/test/natsCluster.ts'

/** A message of a stream that is an event. */
export type StreamEvent = {
  readonly partition: number
  readonly seq: number
  readonly customer: string
  readonly id: string
  readonly operation: string
  readonly payload: string
}

/** The streams of an account, as they are in the cluster: no code of a gateway or follower is between. */
export type Streams = {
  readonly partitions: number
  /** The names of the nodes that have a stream. Waits until one of them is its leader. */
  nodes(partition: number): Promise<{
    readonly leader: string
    readonly followers: readonly string[]
  }>
  /** Resolves when every stream and bucket has a leader, and every replica has everything. */
  untilCurrent(): Promise<void>
  /** Every event of every stream, in order. */
  read(): Promise<StreamEvent[]>
  close(): Promise<void>
}

/** How long a cluster may take to be whole again, ms. Long, for busy machines. */
const PATIENCE_MS = 180_000
const POLL_MS = 200
/** Time without a message after which a stream is read no further, ms. */
const IDLE_MS = 30_000

/** Connects to whichever node is there, for as long as it takes. */
export const connectNodes = ({
  servers,
  user,
  password,
}: Pick<NatsAccount, 'servers' | 'user' | 'password'>): Promise<NatsConnection> =>
  connect({
    servers: [...servers],
    user,
    pass: password,
    maxReconnectAttempts: -1,
    reconnectTimeWait: POLL_MS,
  })

export async function openStreams(account: NatsAccount): Promise<Streams> {
  const nc = await connectNodes(account)
  const jsm = await jetstreamManager(nc, { timeout: 5_000, checkAPI: false })
  return {
    partitions: DEFAULT_PARTITIONS,
    async nodes(partition) {
      const name = streamOf(partition)
      const info = () => jsm.streams.info(name)
      await until(async () =>
        (await info()).cluster?.leader ? undefined : `${name} has no leader`,
      )
      const { cluster } = await info()
      return {
        leader: cluster?.leader ?? '',
        followers: (cluster?.replicas ?? []).map((replica) => replica.name),
      }
    },
    untilCurrent: () => until(() => findBehind(jsm)),
    async read() {
      const events: StreamEvent[] = []
      for (let partition = 0; partition < DEFAULT_PARTITIONS; partition++)
        for await (const event of readStream(nc, jsm, partition)) events.push(event)
      return events
    },
    close: () => nc.close(),
  }
}

/** @param findFault What is missing. An error is one too: a cluster that elects leaders may not answer. */
async function until(findFault: () => Promise<string | undefined>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const fault = await findFault().catch((error: Error) => error.message)
    if (fault === undefined) return
    if (performance.now() > deadline) throw new Error(`The cluster is not whole again: ${fault}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** What is missing until every stream is whole. Undefined if nothing is. */
async function findBehind(jsm: JetStreamManager): Promise<string | undefined> {
  const names: string[] = []
  for await (const name of jsm.streams.names()) names.push(name)
  for (const name of names) {
    const { cluster } = await jsm.streams.info(name)
    if (!cluster?.leader) return `${name} has no leader`
    const behind = (cluster.replicas ?? []).find(({ current, offline }) => !current || offline)
    if (behind) return `${name} is not current on ${behind.name}`
  }
  return undefined
}

/** Reads what the leader has. Replicas must have the same, but that is another question: see replicas.ts. */
async function* readStream(
  nc: NatsConnection,
  jsm: JetStreamManager,
  partition: number,
): AsyncGenerator<StreamEvent> {
  const stream = streamOf(partition)
  const { state } = await jsm.streams.info(stream)
  if (state.messages === 0) return
  const consumer = await jetstream(nc).consumers.get(stream, await addConsumer(jsm, stream))
  const messages = await consumer.consume()
  let last = 0
  const watching = watchProgress(messages, () => last)
  for await (const message of messages) {
    last = message.seq
    const [kind, , token = ''] = message.subject.split('.')
    if (kind === 'events') {
      const customer = fromToken(token)
      const { id, operation, payload } = decodeEvent(customer, message.data)
      yield { partition, seq: message.seq, customer, id: id.toLowerCase(), operation, payload }
    }
    if (message.seq >= state.last_seq) break
  }
  clearInterval(watching)
  if (last < state.last_seq)
    throw new Error(`${stream} has messages up to ${state.last_seq}, and only ${last} can be read`)
  await consumer.delete()
}

/** A consumer on the node that leads the stream. Without a choice the nodes put it anywhere. */
async function addConsumer(jsm: JetStreamManager, stream: string): Promise<string> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    const { cluster: nodes } = await jsm.streams.info(stream)
    const { name, cluster } = await jsm.consumers.add(stream, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.All,
      inactive_threshold: nanos(PATIENCE_MS),
      num_replicas: 1,
    })
    if (nodes?.leader && cluster?.leader === nodes.leader) return name
    await jsm.consumers.delete(stream, name)
    if (performance.now() > until) throw new Error(`The leader of ${stream} takes no consumer`)
  }
}

/** Ends a consumer that brings nothing for IDLE_MS. */
function watchProgress(messages: ConsumerMessages, read: () => number): NodeJS.Timeout {
  let before = -1
  return setInterval(() => {
    if (read() === before) messages.stop()
    before = read()
  }, IDLE_MS)
}

import { randomUUID } from 'node:crypto'
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { type ObjectStore, Objm } from '@nats-io/obj'
import { delay, errors, type NatsConnection, nanos } from '@nats-io/transport-node'
import { EngineAway } from '../engine/engineAway.ts'
import { NO_LEADER, NO_PEERS, NOT_ENABLED } from './apiErrors.ts'
import {
  CAMPAIGNS_BUCKET,
  CONTENT_STORE,
  CUSTOMERS_BUCKET,
  DERIVED_BUCKET,
  entrySubject,
  LAYOUT_BUCKET,
  LEASES_BUCKET,
  SALTS_BUCKET,
  streamOf,
  streamOfBucket,
  subjectsOf,
} from './names.ts'
import {
  DEFAULT_DUPLICATE_WINDOW_MS,
  DEFAULT_PARTITIONS,
  DEFAULT_REPLICAS,
  type NatsOptions,
} from './natsOptions.ts'

/** What an installation has in the cluster. */
export type Layout = {
  /** Random: the local copies of another installation have another one. */
  readonly id: string
  /** Number of streams. */
  readonly partitions: number
  readonly customers: KV
  readonly campaigns: KV
  readonly derived: KV
  readonly leases: KV
  readonly salts: KV
  readonly content: ObjectStore
}

/** The first entry of the layout's bucket. The process that creates it decides the number of partitions. */
const LAYOUT_KEY = 'layout'
const BARRIER_KEY = 'barrier'
/** Error code of the JetStream API: a stream with this name has another configuration. */
const NAME_IN_USE = 10058
/** The prefix of the subjects of the JetStream API. */
const API = '$JS.API.'
/** What to do if the servers have no JetStream. */
const ENABLE =
  'Add `jetstream { store_dir: … }` to the configuration of nats-server, and enable it for the account'

/** How long to wait for a cluster that elects leaders, and between two attempts, ms. */
const PATIENCE_MS = 30_000
const RETRY_MS = 250

/**
 * Creates the streams and buckets that are missing. Several processes may do so at once. The replicas and limits of
 * existing streams are the operator's: they are not changed.
 *
 * @param patienceMs How long to wait for a cluster that elects leaders. Default half a minute.
 * @throws EngineAway if the cluster has no leader, too few nodes or no JetStream for this time. Error if the number of
 * partitions is another one, or the cluster refuses.
 */
export async function ensureLayout(
  nc: NatsConnection,
  jsm: JetStreamManager,
  options: NatsOptions,
  patienceMs = PATIENCE_MS,
): Promise<Layout> {
  const until = performance.now() + patienceMs
  for (;;) {
    try {
      return await createLayout(nc, jsm, options)
    } catch (error) {
      if (!isPassing(error as Error)) throw error
      if (performance.now() > until)
        throw new EngineAway(
          `The cluster at ${options.servers.join(', ')} (ENGINE) ${explainAway(error as Error)}`,
          'The cluster does not answer',
          error,
        )
      await delay(RETRY_MS)
    }
  }
}

/**
 * Whether a later attempt may succeed: no leader is elected yet, or the leader does not know all nodes yet. A stream that
 * another process creates at this moment has no leader either, and its information is not answered. Nobody responds to
 * what is published to it, nor to the API of a node that is starting.
 */
function isPassing(error: Error): boolean {
  const { name, code } = originOf(error)
  return (
    name === 'TimeoutError' ||
    code === NO_LEADER ||
    code === NO_PEERS ||
    unansweredSubject(error) !== undefined
  )
}

function explainAway(error: Error): string {
  return unansweredSubject(error)?.startsWith(API)
    ? `does not answer the JetStream API. Check that JetStream is enabled. ${ENABLE}`
    : `does not answer: ${error.message}. Check that most of its nodes run`
}

/** The client wraps errors of the network and of the API. */
const originOf = (error: Error) => (error.cause ?? error) as Error & { readonly code?: number }

/**
 * The subject of a request to which nobody responded. The client takes this for an account without JetStream.
 *
 * @returns Undefined for another error.
 */
function unansweredSubject(error: Error): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    if (at instanceof errors.NoRespondersError) return at.subject
  return undefined
}

async function createLayout(
  nc: NatsConnection,
  jsm: JetStreamManager,
  options: NatsOptions,
): Promise<Layout> {
  const { replicas = DEFAULT_REPLICAS, partitions = DEFAULT_PARTITIONS } = options
  try {
    const buckets = new Kvm(nc)
    const open = (name: string) =>
      buckets.create(name, { replicas, history: 1, storage: StorageType.File })
    const layout = await open(LAYOUT_BUCKET)
    const { id, partitions: existing } = await agree(jsm, layout, partitions)
    if (options.partitions !== undefined && existing !== partitions)
      throw new Error(
        `The streams were created with ${existing} partitions, which is fixed. Set NATS_PARTITIONS to ${existing}`,
      )
    const [customers, campaigns, derived, leases, salts, content] = await Promise.all([
      open(CUSTOMERS_BUCKET),
      open(CAMPAIGNS_BUCKET),
      open(DERIVED_BUCKET),
      open(LEASES_BUCKET),
      open(SALTS_BUCKET),
      new Objm(nc).create(CONTENT_STORE, { replicas, storage: StorageType.File }),
    ])
    for (let partition = 0; partition < existing; partition++)
      await ensureStream(jsm, partition, { ...options, replicas })
    return { id, partitions: existing, customers, campaigns, derived, leases, salts, content }
  } catch (error) {
    throw explain(error as Error, replicas)
  }
}

async function agree(
  jsm: JetStreamManager,
  layout: KV,
  partitions: number,
): Promise<{ readonly id: string; readonly partitions: number }> {
  const own = JSON.stringify({ id: randomUUID(), partitions })
  await layout.create(LAYOUT_KEY, own).catch(ignoreExisting)
  // Entries that are created at the same moment are all stored, and the last one counts (see leases.ts). This one is
  // stored after them.
  await layout.put(BARRIER_KEY, '')
  // From the leader: another node may not have it yet.
  const entry = await jsm.streams.getMessage(streamOfBucket(LAYOUT_BUCKET), {
    last_by_subj: entrySubject(LAYOUT_BUCKET, LAYOUT_KEY),
  })
  if (!entry) throw new Error(`The bucket ${LAYOUT_BUCKET} has no ${LAYOUT_KEY}`)
  return entry.json()
}

/** Another process has created it. */
function ignoreExisting(error: Error): void {
  if (!(error instanceof JetStreamApiError)) throw error
}

async function ensureStream(
  jsm: JetStreamManager,
  partition: number,
  options: NatsOptions & { readonly replicas: number },
): Promise<void> {
  const { replicas, duplicateWindowMs = DEFAULT_DUPLICATE_WINDOW_MS, maxAgeMs, maxBytes } = options
  try {
    await jsm.streams.add({
      name: streamOf(partition),
      subjects: subjectsOf(partition),
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      // A full stream refuses new events (503). Otherwise it would delete old ones that nobody has read.
      discard: DiscardPolicy.New,
      num_replicas: replicas,
      duplicate_window: nanos(duplicateWindowMs),
      max_age: nanos(maxAgeMs ?? 0),
      max_bytes: maxBytes ?? -1,
      allow_direct: true,
    })
  } catch (error) {
    // It exists, and an operator has changed its limits.
    if ((error as { code?: number }).code !== NAME_IN_USE) throw error
  }
}

function explain(error: Error, replicas: number): Error {
  const { code } = originOf(error)
  if (code !== undefined && NOT_ENABLED.includes(code))
    return new Error(`JetStream is not enabled for this account. ${ENABLE}`, { cause: error })
  if (/replicas|no suitable peers|insufficient resources/i.test(error.message))
    return new Error(
      `The cluster can not keep ${replicas} replicas: ${error.message}. Start more servers, or set NATS_REPLICAS`,
      { cause: error },
    )
  return error
}

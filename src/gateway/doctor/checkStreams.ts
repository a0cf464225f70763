import type { JetStreamApiError, JetStreamManager, StreamInfo } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import {
  CAMPAIGNS_BUCKET,
  CONTENT_STORE,
  CUSTOMERS_BUCKET,
  DERIVED_BUCKET,
  LAYOUT_BUCKET,
  LEASES_BUCKET,
  SALTS_BUCKET,
  streamOf,
  streamOfBucket,
} from '../nats/names.ts'
import { DEFAULT_REPLICAS, type NatsOptions } from '../nats/natsOptions.ts'
import { error, type Found, note, ok, warning } from './finding.ts'

/** A stream, why it can not be read, or undefined if it does not exist. */
export type StreamState = {
  readonly name: string
  readonly info: StreamInfo | undefined
  readonly fault?: string
}

const NOT_FOUND = 10059
/** Share of a limit from which on there is a warning. */
const HIGH = 0.8
/** Difference of clocks from which on there is a warning, ms. */
const CLOCK_MS = 5_000

/**
 * The number of partitions. Undefined if the streams were not created yet.
 *
 * @throws Error if the bucket of the layout can not be read.
 */
export async function readLayout(
  nc: NatsConnection,
  jsm: JetStreamManager,
): Promise<number | undefined> {
  if (!(await readStream(jsm, streamOfBucket(LAYOUT_BUCKET))).info) return undefined
  const bucket = await new Kvm(nc).open(LAYOUT_BUCKET)
  return (await bucket.get('layout'))?.json<{ partitions: number }>().partitions
}

/** The streams of events, buckets and content. */
export function readStreams(
  jsm: JetStreamManager,
  partitions: number | undefined,
): Promise<StreamState[]> {
  const buckets = [
    ...[LAYOUT_BUCKET, CUSTOMERS_BUCKET, CAMPAIGNS_BUCKET],
    ...[DERIVED_BUCKET, LEASES_BUCKET, SALTS_BUCKET],
  ]
  const names = [
    ...Array.from({ length: partitions ?? 0 }, (_, partition) => streamOf(partition)),
    ...buckets.map(streamOfBucket),
    `OBJ_${CONTENT_STORE}`,
  ]
  return Promise.all(names.map((name) => readStream(jsm, name)))
}

async function readStream(jsm: JetStreamManager, name: string): Promise<StreamState> {
  try {
    return { name, info: await jsm.streams.info(name) }
  } catch (failure) {
    const { code } = failure as Partial<JetStreamApiError> & { readonly code?: number }
    if (code === NOT_FOUND) return { name, info: undefined }
    return { name, info: undefined, fault: (failure as Error).message }
  }
}

/**
 * Whether every stream is there, has a leader, and is kept by enough nodes that are up to date; full streams; clocks.
 *
 * @param partitions As the layout has it. Undefined if the streams were not created yet.
 * @param now ms since 1970.
 */
export function checkStreams(
  { partitions: wanted }: Pick<NatsOptions, 'partitions'>,
  partitions: number | undefined,
  streams: readonly StreamState[],
  now: number,
): Found[] {
  if (partitions === undefined)
    return [
      note(
        'The streams are not created yet. The first gateway that starts creates them, or shoptrail move',
      ),
    ]
  const found: Found[] = []
  if (wanted !== undefined && wanted !== partitions)
    found.push(
      error(
        `NATS_PARTITIONS is ${wanted}, but the streams were created with ${partitions}. No gateway starts`,
        `Set NATS_PARTITIONS to ${partitions}, or remove it`,
      ),
    )
  const faults = streams.map(findFaults)
  found.push(...merge(faults.flat()), ...checkClocks(streams, now))
  const healthy = streams.filter((_, i) => faults[i]?.length === 0)
  if (healthy.length > 0)
    found.push(
      ok(
        `${healthy.length} of ${streams.length} streams and buckets (${partitions} partitions) have a leader, and replicas that are up to date`,
      ),
    )
  return found
}

/** A finding that several streams may have. */
type Fault = { readonly stream: string; readonly found: Found }

function findFaults({ name, info, fault }: StreamState): Fault[] {
  const make = (found: Found): Fault => ({ stream: name, found })
  if (fault !== undefined)
    return [
      make(
        error(
          `can not be read (${fault}): most of the nodes that keep it are away`,
          'Start the nodes that are away',
        ),
      ),
    ]
  if (!info)
    return [
      make(
        error('missing. A gateway that starts creates it, empty', 'Start a gateway, or restore it'),
      ),
    ]
  const faults: Fault[] = []
  const { config, cluster, state } = info
  if (cluster && !cluster.leader)
    faults.push(make(error('without a leader', 'Start the nodes that are away')))
  for (const { name: node, offline, current } of cluster?.replicas ?? [])
    if (offline)
      faults.push(make(warning(`not kept by ${node}, which is offline`, `Start the node ${node}`)))
    else if (!current)
      faults.push(
        make(
          warning(
            `not up to date on ${node}`,
            'Wait until it has caught up, before another node is stopped',
          ),
        ),
      )
  if (config.num_replicas < DEFAULT_REPLICAS)
    faults.push(
      make(
        warning(
          `kept by ${config.num_replicas === 1 ? 'one node' : `${config.num_replicas} nodes`} only: one that fails stops it, and may lose it`,
          'With three nodes: nats stream edit NAME --replicas 3',
        ),
      ),
    )
  if (config.max_bytes > 0 && state.bytes > HIGH * config.max_bytes)
    faults.push(
      make(
        warning(
          `nearly full: ${state.bytes} of ${config.max_bytes} bytes. Above it events are answered 503`,
          'nats stream edit NAME --max-bytes, or keep events for fewer days',
        ),
      ),
    )
  return faults
}

/** One finding for all streams that have the same. */
function merge(faults: readonly Fault[]): Found[] {
  const merged = new Map<string, { readonly found: Found; readonly streams: string[] }>()
  for (const { stream, found } of faults) {
    const same = merged.get(found.message)
    if (same) same.streams.push(stream)
    else merged.set(found.message, { found, streams: [stream] })
  }
  return [...merged.values()].map(({ found, streams }) => ({
    ...found,
    message: `${streams.join(', ')}: ${found.message}`,
  }))
}

/** The clocks of the nodes, against this machine's. Servers before 2.10 do not send their time. */
function checkClocks(streams: readonly StreamState[], now: number): Found[] {
  const differences = streams.flatMap(({ info }) => {
    const newest = Date.parse(info?.state.last_ts ?? '')
    // What is stored already can only show that the own clock is behind.
    if (!info?.ts) return newest > now ? [newest - now] : []
    return [Date.parse(info.ts) - now]
  })
  const most = Math.max(0, ...differences.map(Math.abs))
  if (most < CLOCK_MS) return []
  return [
    warning(
      `The clocks of this machine and of the nodes differ by ${Math.round(most / 1_000)} s`,
      'Let all of them keep their time by NTP: timedatectl set-ntp true',
    ),
  ]
}

import type { StreamInfo } from '@nats-io/jetstream'
import { type NatsConnection, nanos } from '@nats-io/transport-node'
import { streamOf } from './names.ts'

/** Time for the answer, ms. Only the leader of a stream answers. */
const TIMEOUT_MS = 1_000
/** A replica that the leader has not heard of for so long does not count, ms. They speak once a second. */
const SILENT_MS = 3_000

/**
 * Whether a partition can be written: its stream has a leader, which is in contact with a majority of the replicas.
 * Nothing is written, because a message would stay in the stream for ever.
 */
export async function probeStream(nc: NatsConnection, partition: number): Promise<boolean> {
  try {
    const subject = `$JS.API.STREAM.INFO.${streamOf(partition)}`
    const answer = await nc.request(subject, '', { timeout: TIMEOUT_MS })
    return hasQuorum(answer.json<StreamInfo>())
  } catch {
    return false
  }
}

/** @param info Answer of the JetStream API, which may be an error. */
export function hasQuorum({ config, cluster }: Partial<StreamInfo>): boolean {
  if (!config) return false
  // One server alone.
  if (!cluster) return true
  if (!cluster.leader) return false
  const others = (cluster.replicas ?? []).filter(
    ({ offline, active }) => !offline && active < nanos(SILENT_MS),
  )
  return 1 + others.length > config.num_replicas / 2
}

import type { NatsConnection } from '@nats-io/transport-node'
import { createAsk } from '../nats/ask.ts'
import { COPY_FAULTS } from '../nats/clusterNews.ts'
import { streamOf } from '../nats/names.ts'
import { error, type Found, ok, warning } from './finding.ts'

/** Time for the answer of a follower, ms. */
const ANSWER_MS = 5_000
/** Events that reports may be behind. As the alert of docs/metrics.md. */
const MAX_LAG = 100_000

/** Whether a follower holds each partition, how far its reports are, and whether its copy differs from the stream. */
export async function checkPartitions(nc: NatsConnection, partitions: number): Promise<Found[]> {
  const ask = createAsk(nc)
  const found: Found[] = []
  const missing: number[] = []
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  // A follower of an earlier version does not know the question.
  const differing = Promise.all(
    all.map((partition) => ask(partition, 'findDifference', [], ANSWER_MS).catch(() => undefined)),
  )
  const lags = await Promise.all(
    all.map(async (partition) => {
      try {
        return await ask(partition, 'reportsLag', [], ANSWER_MS)
      } catch {
        missing.push(partition)
        return undefined
      }
    }),
  )
  if (missing.length > 0)
    found.push(
      error(
        `No follower answers for ${missing.length === partitions ? 'any partition' : `partition ${missing.sort((a, b) => a - b).join(', ')}`}. Events are stored, but reports, forwarding, persons and retention wait`,
        'Start a follower: shoptrail follow, or a gateway with FOLLOW=on',
        'If one runs, look at its log. After a start it first reads the log of the cluster',
      ),
    )
  for (const [partition, lag = 0] of lags.entries())
    if (lag > MAX_LAG)
      found.push(
        warning(
          `The reports of partition ${partition} are ${lag} events behind`,
          'Wait if a follower has just started. Otherwise add a follower, or processor time',
        ),
      )
  for (const [partition, difference] of (await differing).entries())
    if (difference)
      found.push(
        warning(
          `The copy of partition ${partition}, on the follower that holds it, ${COPY_FAULTS[difference.fault]}: ${difference.seq} of ${streamOf(partition)}. Reports, forwarding and persons may be wrong`,
          'Follow docs/scale.md, "When a copy differs": first nats-server and the replicas of the stream, then the copy',
        ),
      )
  if (missing.length < partitions)
    found.push(
      ok(`${partitions - missing.length} of ${partitions} partitions are held by a follower`),
    )
  return found
}

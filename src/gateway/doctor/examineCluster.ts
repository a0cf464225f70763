import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { connectNats } from '../nats/broker.ts'
import type { NatsOptions } from '../nats/natsOptions.ts'
import { checkAccount } from './checkAccount.ts'
import { checkNodes, readNodes } from './checkNodes.ts'
import { checkPartitions } from './checkPartitions.ts'
import { checkStreams, readLayout, readStreams } from './checkStreams.ts'
import { type DoctorFinding, error } from './finding.ts'
import { createList } from './findingList.ts'

/** Time for an answer of the JetStream API, ms. A cluster without a quorum does not answer. */
const API_MS = 5_000

/**
 * Checks the cluster. It changes nothing, and creates nothing that is missing.
 *
 * @param now ms since 1970.
 */
export async function examineCluster(
  options: NatsOptions,
  now: () => number = Date.now,
): Promise<DoctorFinding[]> {
  const { findings, add } = createList('Check the settings of the cluster: ENGINE and NATS_…')
  let nc: NatsConnection
  try {
    nc = await connectNats(options)
  } catch (failure) {
    await add('cluster', () => [error((failure as Error).message)])
    return findings
  }
  try {
    await add('nodes', async () => checkNodes(options.servers, await readNodes(nc, options)))
    const jsm = await jetstreamManager(nc, { timeout: API_MS, checkAPI: false })
    if (!(await add('account', () => checkAccount(jsm)))) return findings
    let partitions: number | undefined
    await add('streams', async () => {
      partitions = await readLayout(nc, jsm)
      return checkStreams(options, partitions, await readStreams(jsm, partitions), now())
    })
    if (partitions === undefined) return findings
    const count = partitions
    await add('partitions', () => checkPartitions(nc, count))
    return findings
  } finally {
    await nc.close()
  }
}

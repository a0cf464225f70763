import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startNatsCluster } from '../../src/test/natsCluster.ts'
import { compareCopies } from '../cluster/copies.ts'
import { clusterEnv } from '../cluster/env.ts'
import { startOwnFollower } from '../cluster/follower.ts'
import { openReplicas } from '../cluster/replicas.ts'
import { openStreams } from '../cluster/streams.ts'
import { createRandom } from '../random.ts'
import { runCommand, startOwnGateway } from './gateways.ts'
import type { Stage, StageOptions } from './stage.ts'

const NAMES = ['one', 'two', 'follower'] as const
/** Numbers of nodes that fail together: mostly one. */
const NODES = [[0], [1], [2], [0], [1], [2], [0, 1], [1, 2], [0, 1, 2]]
/** Time for a follower to hold the partitions, ms. */
const HELD_MS = 30_000
/** Time in which the nodes have to have the same messages again, ms. */
const SAME_MS = 30_000

/**
 * A cluster of three nodes, a data folder for each gateway, and a process that only follows. Nodes are killed or
 * suspended, mostly one at a time, and the follower is killed.
 */
export async function openClusterStage({
  home,
  env,
  seed,
  suspends,
}: StageOptions): Promise<Stage> {
  // Not that of the senders: the same seed chooses the same faults, however many events are sent.
  const random = createRandom(seed + 3)
  const cluster = await startNatsCluster()
  const account = cluster.takeAccount()
  const settings = { ...env, ...clusterEnv(account) }
  const folders = NAMES.map((name) => join(home, name))
  const [first = '', , third = ''] = folders
  const logs = join(home, 'logs')
  mkdirSync(logs)
  const logOf = (index: number) => join(logs, NAMES[index] as string)
  const startFollower = () => startOwnFollower(third, settings, logOf(2))
  let follower = startFollower()
  const streams = await openStreams(account)
  const replicas = await openReplicas(cluster, account, streams.partitions)
  const DIFFER = 'faults after which the nodes differed'
  const counts = { 'nodes killed': 0, 'nodes suspended': 0, 'followers killed': 0, [DIFFER]: 0 }

  async function disturbNodes(isCalm: () => boolean): Promise<void> {
    while (!isCalm()) {
      await sleep(5_000 + random.below(10_000))
      const nodes = random.pick(NODES)
      const isKill = random.chance(0.6) || !suspends
      if (isKill) {
        counts['nodes killed'] += nodes.length
        await Promise.all(nodes.map((node) => cluster.kill(node)))
        await sleep(random.below(10_000))
        await Promise.all(nodes.map((node) => cluster.start(node)))
      } else {
        counts['nodes suspended'] += nodes.length
        for (const node of nodes) cluster.signal(node, 'SIGSTOP')
        await sleep(1_000 + random.below(20_000))
        for (const node of nodes) cluster.signal(node, 'SIGCONT')
      }
      await streams.untilCurrent()
      const difference = await replicas.findDifference(SAME_MS)
      if (!difference) continue
      counts[DIFFER]++
      const names = nodes.map((node) => `n${node}`)
      console.log(`After ${names} were ${isKill ? 'killed' : 'suspended'}: ${difference}`)
    }
  }

  async function disturbFollower(isCalm: () => boolean): Promise<void> {
    while (!isCalm()) {
      await sleep(5_000 + random.below(20_000))
      counts['followers killed']++
      await follower.end(random.chance(0.7) ? 'SIGKILL' : 'SIGTERM')
      await sleep(random.below(10_000))
      follower = startFollower()
    }
  }

  return {
    folders,
    counts,
    start: (index) => startOwnGateway(folders[index] as string, settings, logOf(index)),
    async command(args, more) {
      const until = Date.now() + HELD_MS
      for (;;)
        try {
          return await runCommand(first, args, { ...settings, ...more })
        } catch (error) {
          // The follower has just started. Nothing was changed.
          if (!/No follower holds/.test((error as Error).message) || Date.now() > until) throw error
          await sleep(500)
        }
    },
    disturb: (isCalm) => [disturbNodes(isCalm), disturbFollower(isCalm)],
    mend: () => streams.untilCurrent(),
    async countLog() {
      const times = new Map<string, number>()
      for (const { id } of await streams.read()) times.set(id, (times.get(id) ?? 0) + 1)
      return times
    },
    async countFaults() {
      // A fault of nats-server. Copies are made of any replica, so the others may come from it.
      const difference = await replicas.findDifference(SAME_MS)
      if (difference) console.log(`The nodes differ: ${difference}`)
      const events = await streams.read()
      const faults = { missing: 0, extra: 0 }
      for (const folder of folders) {
        const { missing, extra } = await compareCopies(folder, events, streams.partitions)
        faults.missing += missing
        faults.extra += extra
      }
      return {
        'the nodes differ': difference ? 1 : 0,
        'in the streams, not in a copy': faults.missing,
        'in a copy twice, or not in the streams': faults.extra,
      }
    },
    async end() {
      await follower.end('SIGTERM')
      await streams.close()
      await replicas.close()
      await cluster.end()
    },
  }
}

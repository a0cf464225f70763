import { join } from 'node:path'
import { createGroupCommit, type OnCommit, type QueueLimits } from '../collect/groupCommit.ts'
import type { Data } from '../engine/data.ts'
import type { ClusterFigures } from '../http/clusterMetrics.ts'
import { prepareDataFolder } from '../sqlite/dataFolder.ts'
import { filesOf } from '../sqlite/files.ts'
import { watchFiles } from '../sqlite/fileWatch.ts'
import { goneError } from '../sqlite/thread.ts'
import { createAsk } from './ask.ts'
import { type Broker, connectBroker } from './broker.ts'
import { createNatsCampaigns } from './campaigns.ts'
import { watchConnection } from './connectionWatch.ts'
import { createNatsCounts } from './counts.ts'
import { type NatsCustomers, openNatsCustomers } from './customers.ts'
import { createNatsDaySalt } from './daySalt.ts'
import { createNatsLog } from './eventLog.ts'
import { type FollowOptions, startFullFollower } from './follower/fullFollower.ts'
import { createNatsForwarding } from './forwarding.ts'
import type { NatsOptions } from './natsOptions.ts'
import { createNatsPeople } from './people.ts'
import { createNatsReports } from './reports.ts'

/** The cluster, and the callbacks for changes. */
export type NatsDataOptions = FollowOptions & {
  readonly cluster: NatsOptions
  /** Bounds of the queue in front of the log. */
  readonly queue?: QueueLimits | undefined
  readonly onCommit: OnCommit
  /** Called when the result of `findFault` may have changed. */
  readonly onChange: () => void
  /** Called once, when only a new process may help: the local copy of the customers is gone. */
  readonly onFatal: (error: Error) => void
}

/** What a gateway stores in a cluster. */
export type NatsData = Data & {
  readonly partitions: number
  /** For the metrics. */
  figures(): ClusterFigures
}

/**
 * Connects to a cluster. In the folder are copies of what is there: customers.db, and with a follower a folder for each
 * partition.
 *
 * @throws EngineAway if the cluster can not be reached. Error that says what is wrong and what to do.
 */
export async function openNatsData(options: NatsDataOptions): Promise<NatsData> {
  prepareDataFolder(options.dataDir)
  const broker = await connectBroker(options.cluster)
  try {
    const stored = await openNatsCustomers({
      broker,
      folder: options.dataDir,
      now: options.now,
      onError: (error) => options.onError(error, 'the copy of the customers'),
    })
    try {
      return await openAll(options, broker, stored)
    } catch (error) {
      await stored.close()
      throw error
    }
  } catch (error) {
    await broker.nc.close()
    throw error
  }
}

async function openAll(
  options: NatsDataOptions,
  broker: Broker,
  stored: NatsCustomers,
): Promise<NatsData> {
  const { dataDir, cluster, queue, now, onChange, onCluster, onError } = options
  const { nc, partitions, partitionOf } = broker
  let fatal: string | undefined
  let isConnected = true
  let lostConnections = 0

  const customersFile = join(dataDir, 'customers.db')
  const stopWatchingFiles = watchFiles([customersFile, ...filesOf(customersFile)], (path) => {
    const error = goneError(path)
    fatal = error.message
    options.onFatal(error)
  })
  const stopWatching = watchConnection(nc, {
    onLost() {
      isConnected = false
      lostConnections++
      onCluster({ what: 'disconnected' })
    },
    onBack() {
      isConnected = true
      onCluster({ what: 'connected' })
    },
  })
  const ask = createAsk(nc)
  const { deadlineMs } = queue ?? {}
  const natsLog = createNatsLog({ broker, ask, deadlineMs, onChange, onCluster })
  const log = createGroupCommit(natsLog, queue, options.onCommit)
  const counts = createNatsCounts(broker, ask)
  const salt = createNatsDaySalt(broker, now, (error) => onError(error, 'the salt of the day'))
  await salt.ready
  const follower = cluster.follow === false ? undefined : startFullFollower(broker, stored, options)
  const followed = () => follower?.status() ?? []
  const held = () =>
    followed()
      .filter(({ isHeld }) => isHeld)
      .map(({ partition }) => partition)
  const people = createNatsPeople(ask, partitionOf)
  const customers = {
    ...stored.customers,
    fault: () => fatal ?? stored.customers.fault(),
  }

  return {
    partitions,
    customers,
    pinned: stored.pinned,
    sessions: stored.sessions,
    log,
    campaigns: createNatsCampaigns(broker, ask),
    reports: createNatsReports({ ask, partitionOf, held }),
    daySalt: salt.daySalt,
    people,
    forwarding: createNatsForwarding({ ask, partitions, partitionOf, held }),
    counts,
    // The followers remove them.
    expiredEvents: undefined,
    saved: stored.saved,
    figures: () => ({
      isConnected,
      lostConnections,
      ...natsLog.figures(),
      mirrorConflicts: stored.conflicts(),
      followed: followed(),
      takeOvers: follower?.takeOvers() ?? 0,
    }),
    findFault() {
      const { writable, reason = 'the event log can not be written' } = log.health()
      return customers.fault() ?? (writable ? undefined : reason)
    },
    async close() {
      stopWatchingFiles()
      await log.close()
      counts.close()
      await people.close()
      await follower?.close()
      stopWatching()
      salt.close()
      await stored.close()
      await broker.close()
    },
  }
}

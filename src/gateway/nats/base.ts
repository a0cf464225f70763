import { join } from 'node:path'
import type { Customers } from '../customers/customers.ts'
import type { ClusterFigures } from '../http/clusterMetrics.ts'
import { prepareDataFolder } from '../sqlite/dataFolder.ts'
import { filesOf } from '../sqlite/files.ts'
import { watchFiles } from '../sqlite/fileWatch.ts'
import { goneError } from '../sqlite/thread.ts'
import { type Ask, createAsk } from './ask.ts'
import { type Broker, connectBroker } from './broker.ts'
import { watchConnection } from './connectionWatch.ts'
import { type NatsCustomers, openNatsCustomers } from './customers.ts'
import { type FollowOptions, startFullFollower } from './follower/fullFollower.ts'
import { createNatsForwarding } from './forwarding.ts'
import type { NatsOptions } from './natsOptions.ts'
import { createNatsReports } from './reports.ts'

export type BaseOptions = FollowOptions & {
  readonly cluster: NatsOptions
  /** Called when the connection was lost, and when it is there again. */
  readonly onChange: () => void
  /** Called once, when only a new process may help: the local copy of the customers is gone. */
  readonly onFatal: (error: Error) => void
}

/** What every process of a cluster has: the connection, the customers, and a follower if it follows. */
export type Base = {
  readonly broker: Broker
  readonly ask: Ask
  readonly stored: NatsCustomers
  /** With the faults of the local copy. */
  readonly customers: Customers
  readonly reports: ReturnType<typeof createNatsReports>
  readonly forwarding: ReturnType<typeof createNatsForwarding>
  isConnected(): boolean
  figures(): Omit<ClusterFigures, 'repeatedMessages' | 'closedOff'>
  /** Stops the follower, then ends the connection. */
  close(): Promise<void>
}

/**
 * Connects to a cluster. In the folder are copies of what is there: customers.db, and with a follower a folder for each
 * partition.
 *
 * @throws EngineAway if the cluster can not be reached. Error that says what is wrong and what to do.
 */
export async function openBase(options: BaseOptions): Promise<Base> {
  const { dataDir, cluster, now, onError } = options
  prepareDataFolder(dataDir)
  const broker = await connectBroker(cluster)
  try {
    const stored = await openNatsCustomers({
      broker,
      folder: dataDir,
      now,
      onError: (error) => onError(error, 'the copy of the customers'),
    })
    return begin(options, broker, stored)
  } catch (error) {
    await broker.nc.close()
    throw error
  }
}

function begin(options: BaseOptions, broker: Broker, stored: NatsCustomers): Base {
  const { dataDir, cluster, onChange, onCluster } = options
  const { nc, partitions, partitionOf } = broker
  let fatal: string | undefined
  let isConnected = !nc.isClosed()
  let lostConnections = 0

  const customersFile = join(dataDir, 'customers.db')
  const stopWatchingFiles = watchFiles([customersFile, ...filesOf(customersFile)], (path) => {
    const error = goneError(path)
    fatal = error.message
    options.onFatal(error)
  })
  const stopWatching = watchConnection(nc, {
    onLost() {
      if (!isConnected) return
      isConnected = false
      lostConnections++
      onCluster({ what: 'disconnected' })
      onChange()
    },
    onBack() {
      isConnected = true
      onCluster({ what: 'connected' })
      onChange()
    },
    onRefused: (error) => options.onError(error, 'the connection to the cluster'),
  })
  const ask = createAsk(nc)
  const follower = cluster.follow === false ? undefined : startFullFollower(broker, stored, options)
  const followed = () => follower?.status() ?? []
  const held = () =>
    followed()
      .filter(({ isHeld }) => isHeld)
      .map(({ partition }) => partition)

  return {
    broker,
    ask,
    stored,
    customers: { ...stored.customers, fault: () => fatal ?? stored.customers.fault() },
    reports: createNatsReports({ ask, partitionOf, held }),
    forwarding: createNatsForwarding({ ask, partitions, partitionOf, held }),
    isConnected: () => isConnected,
    figures: () => ({
      isConnected,
      lostConnections,
      mirrorConflicts: stored.conflicts(),
      followed: followed(),
      takeOvers: follower?.takeOvers() ?? 0,
    }),
    async close() {
      stopWatchingFiles()
      // Without a connection nothing can be sent. Each request would wait for its time-out, one after another.
      if (!isConnected) await nc.close()
      await follower?.close()
      stopWatching()
      await stored.close()
      await (isConnected ? broker.close() : nc.close())
    },
  }
}

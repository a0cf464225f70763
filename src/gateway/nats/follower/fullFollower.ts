import type { SweeperOptions } from '../../collect/sweeper.ts'
import type { Customers } from '../../customers/customers.ts'
import type { StateNews } from '../../forward/stateNews.ts'
import type { Broker } from '../broker.ts'
import type { ClusterNews } from '../clusterNews.ts'
import { type Follower, startFollower } from './follower.ts'
import { startCampaigns } from './tasks/campaigns.ts'
import { startEvents } from './tasks/events.ts'
import { createForwardingTask } from './tasks/forwarding.ts'
import { startOrders } from './tasks/orders.ts'
import { startPeople } from './tasks/people.ts'
import { startProblems } from './tasks/problems.ts'
import { createReportsTask } from './tasks/reports.ts'
import { createRetentionTask } from './tasks/retention.ts'

/** What a follower uses and reports, in a gateway and alone. */
export type FollowOptions = {
  readonly dataDir: string
  /** Bundle of sqlite/worker.ts, with those of the other workers in the same folder. */
  readonly workerFile: URL
  /** The clock, ms since 1970. */
  readonly now: () => number
  /** A monotonic clock, ms. */
  readonly monotonicNow: () => number
  /** Pace of the removal of events whose retention is over. */
  readonly sweep?: Pick<SweeperOptions, 'firstMs' | 'pauseMs'> | undefined
  /** Called after each step, and after each pass, that has removed events. */
  readonly onRemoved: (events: number) => void
  readonly onPass?: ((events: number) => void) | undefined
  /** Called when a destination does not take events, and when it does so again. */
  readonly onDestination?: ((news: StateNews) => void) | undefined
  readonly onCluster: (news: ClusterNews) => void
  /** @param what The subject of the error. */
  readonly onError: (error: unknown, what: string) => void
}

/** Starts a follower with all tasks. */
export function startFullFollower(
  broker: Broker,
  customers: { readonly customers: Customers; readonly file: string },
  options: FollowOptions,
): Follower {
  const { dataDir, workerFile, now, monotonicNow, onError, onCluster } = options
  const reports = createReportsTask()
  return startFollower({
    broker,
    dataDir,
    customers: customers.customers,
    customersFile: customers.file,
    workerFile,
    tasks: [
      startEvents,
      startCampaigns,
      startOrders,
      startProblems,
      reports.start,
      startPeople,
      createForwardingTask(options.onDestination),
      createRetentionTask({
        ...options.sweep,
        closeFigures: reports.closeFigures,
        onRemoved: options.onRemoved,
        onPass: options.onPass,
      }),
    ],
    now,
    monotonicNow,
    onNews: onCluster,
    onError,
  })
}

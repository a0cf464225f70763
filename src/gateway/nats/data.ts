import { createGroupCommit, type OnCommit, type QueueLimits } from '../collect/groupCommit.ts'
import type { Data } from '../engine/data.ts'
import type { ClusterFigures } from '../http/clusterMetrics.ts'
import { type Base, type BaseOptions, openBase } from './base.ts'
import { createNatsCampaigns } from './campaigns.ts'
import { createNatsCounts } from './counts.ts'
import { createNatsDaySalt } from './daySalt.ts'
import { createNatsLog } from './eventLog.ts'
import { createNatsOrders } from './orders.ts'
import { createNatsPeople } from './people.ts'

export type NatsDataOptions = BaseOptions & {
  /** Bounds of the queue in front of the log. */
  readonly queue?: QueueLimits | undefined
  readonly onCommit: OnCommit
}

/** What a gateway stores in a cluster. */
export type NatsData = Data & {
  readonly partitions: number
  /** For the metrics. */
  figures(): ClusterFigures
}

/** @throws See openBase. */
export async function openNatsData(options: NatsDataOptions): Promise<NatsData> {
  const base = await openBase(options)
  try {
    return await openPorts(options, base)
  } catch (error) {
    await base.close()
    throw error
  }
}

async function openPorts(options: NatsDataOptions, base: Base): Promise<NatsData> {
  const { queue, now, onChange, onCluster, onError } = options
  const { broker, ask, stored, customers } = base
  const { partitions, partitionOf } = broker
  const { deadlineMs } = queue ?? {}
  const natsLog = createNatsLog({ broker, ask, deadlineMs, onChange, onCluster })
  const log = createGroupCommit(natsLog, queue, options.onCommit)
  const counts = createNatsCounts(broker, ask)
  const people = createNatsPeople(ask, partitionOf)
  const salt = createNatsDaySalt(broker, now, (error) => onError(error, 'the salt of the day'))
  await salt.ready

  return {
    partitions,
    customers,
    pinned: stored.pinned,
    sessions: stored.sessions,
    log,
    campaigns: createNatsCampaigns(broker, ask),
    orders: createNatsOrders(ask, partitionOf),
    reports: base.reports,
    daySalt: salt.daySalt,
    people,
    forwarding: base.forwarding,
    counts,
    // The followers remove them.
    expiredEvents: undefined,
    saved: stored.saved,
    figures: () => ({ ...base.figures(), ...natsLog.figures() }),
    findFault() {
      const { writable, reason = 'the event log can not be written' } = log.health()
      return customers.fault() ?? (writable ? undefined : reason)
    },
    async close() {
      await log.close()
      counts.close()
      await people.close()
      salt.close()
      await base.close()
    },
  }
}

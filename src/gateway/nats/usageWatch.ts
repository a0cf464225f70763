import type { NatsConnection } from '@nats-io/transport-node'
import type { Usage } from '../customers/usage.ts'
import type { Ask } from './ask.ts'
import { allPartitions, usageSubject } from './names.ts'
import { complete, decodeUsage } from './usageMessage.ts'
import { createUsageSums, type StoredEvent } from './usageSums.ts'

export type NatsUsageWatch = {
  /** See EventLog.watchUsage. A partition that no follower holds is reported when one does. */
  start(listener: (usages: readonly Usage[]) => void): Promise<void>
  /** Reports what this gateway has stored in a partition. */
  count(partition: number, events: readonly StoredEvent[]): void
  /** The connection was lost, and messages with it: asks every partition again. */
  refresh(): void
  stop(): void
}

/** Time for a follower to answer at the start, ms. */
const ASK_MS = 2_000

/** The usage of customers: what followers count and send once a second, and what this gateway has stored since. */
export function createNatsUsageWatch(
  nc: NatsConnection,
  ask: Ask,
  partitions: number,
): NatsUsageWatch {
  const sums = createUsageSums()
  let listener: (usages: readonly Usage[]) => void = () => {}
  /** The partitions that have reported the usage of all their customers, and those that are being asked. */
  const known = new Set<number>()
  const asked = new Set<number>()
  const all = allPartitions(partitions)

  function report(usages: readonly Usage[]): void {
    if (usages.length > 0) listener(usages)
  }

  async function askAll(partition: number): Promise<readonly Usage[]> {
    if (asked.has(partition)) return []
    asked.add(partition)
    try {
      const report = await ask(partition, 'usage', [], ASK_MS)
      known.add(partition)
      return sums.learn(partition, { ...report, usages: report.usages.map(complete) })
    } catch {
      // No follower holds it. The first message of its next holder makes this gateway ask again.
      return []
    } finally {
      asked.delete(partition)
    }
  }

  const subscriptions = all.map((partition) =>
    nc.subscribe(usageSubject(partition), {
      callback(error, message) {
        if (error) return
        const news = decodeUsage(message.data)
        if (news) report(sums.learn(partition, news))
        if (!known.has(partition)) askAll(partition).then(report)
      },
    }),
  )

  return {
    async start(onUsage) {
      await Promise.all(all.map(askAll))
      listener = onUsage
      // Followers may have reported something before.
      listener(sums.all())
    },
    count: (partition, events) => report(sums.count(partition, events)),
    refresh() {
      known.clear()
      for (const partition of all) askAll(partition).then(report)
    },
    stop() {
      for (const subscription of subscriptions) subscription.unsubscribe()
    },
  }
}

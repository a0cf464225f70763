import type { DerivedThread } from '../../sqlite/derivedThread.ts'
import type { Broker } from '../broker.ts'
import type { ClusterNews } from '../clusterNews.ts'
import { type Comparison, startComparison } from './comparison.ts'
import type { FollowingCopy } from './copy.ts'
import { type Derived, startDerived } from './derived.ts'
import { type CopiedCampaigns, followCampaigns } from './followCampaigns.ts'
import { startRemovals } from './removals.ts'

/** What a follower does with each copy, whether it holds the partition or not. */
export type CopyWork = {
  readonly derived: Derived
  readonly campaigns: CopiedCampaigns
  readonly comparison: Comparison
  /** Resolves when nothing is written any more. Call it before the copy is closed. */
  close(): Promise<void>
}

export type CopyWorkOptions = {
  readonly broker: Broker
  readonly copy: FollowingCopy
  /** The bundle of sqlite/worker.ts, with those of the other workers in the same folder. */
  readonly workerFile: URL
  readonly derivedThread: DerivedThread
  /** Time between two rounds of the comparison, ms. Default see startComparison. */
  readonly compareMs?: number | undefined
  readonly onNews: (news: ClusterNews) => void
  readonly onError: (error: unknown, what: string) => void
}

/**
 * Keeps what can not be made again equal with the other followers, removes what is removed from the log, and compares the
 * copy with the log.
 */
export function startCopyWork(options: CopyWorkOptions): CopyWork {
  const { broker, copy, workerFile, derivedThread, onNews, onError } = options
  const { partition, eventsFile, forwardFile } = copy
  const derived = startDerived({
    broker,
    partition,
    files: { events: eventsFile, forward: forwardFile },
    thread: derivedThread,
    onError: (error) => onError(error, `what partition ${partition} has derived`),
  })
  const stopRemovals = startRemovals({
    copy,
    workerFile,
    onError: (error) => onError(error, `the removals of partition ${partition}`),
  })
  const campaigns = followCampaigns(broker, copy, copy.reportUsage, onError)
  const comparison = startComparison({
    broker,
    copy,
    roundMs: options.compareMs,
    onChange: (difference) =>
      onNews(
        difference
          ? { what: 'differs', partition, ...difference }
          : { what: 'same_again', partition },
      ),
    onError: (error) => onError(error, `the comparison of partition ${partition}`),
  })
  return {
    derived,
    campaigns,
    comparison,
    async close() {
      await Promise.all([stopRemovals(), derived.close(), campaigns.stop(), comparison.close()])
    },
  }
}

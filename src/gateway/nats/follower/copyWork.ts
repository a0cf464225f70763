import type { DerivedThread } from '../../sqlite/derivedThread.ts'
import type { Broker } from '../broker.ts'
import type { FollowingCopy } from './copy.ts'
import { type Derived, startDerived } from './derived.ts'
import { type CopiedCampaigns, followCampaigns } from './followCampaigns.ts'
import { startRemovals } from './removals.ts'

/** What a follower does with each copy, whether it holds the partition or not. */
export type CopyWork = {
  readonly derived: Derived
  readonly campaigns: CopiedCampaigns
  /** Resolves when nothing is written any more. Call it before the copy is closed. */
  close(): Promise<void>
}

export type CopyWorkOptions = {
  readonly broker: Broker
  readonly copy: FollowingCopy
  /** The bundle of sqlite/worker.ts, with those of the other workers in the same folder. */
  readonly workerFile: URL
  readonly derivedThread: DerivedThread
  readonly onError: (error: unknown, what: string) => void
}

/** Keeps what can not be made again equal with the other followers, and removes what is removed from the log. */
export function startCopyWork(options: CopyWorkOptions): CopyWork {
  const { broker, copy, workerFile, derivedThread, onError } = options
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
  return {
    derived,
    campaigns,
    async close() {
      await Promise.all([stopRemovals(), derived.close(), campaigns.stop()])
    },
  }
}

import type { Customers } from '../../customers/customers.ts'
import type { Answers } from '../answers.ts'
import type { Broker } from '../broker.ts'
import type { Derived } from './derived.ts'
import type { CopiedCampaigns } from './followCampaigns.ts'
import type { PartitionCopy } from './partitionCopy.ts'

/** What a task uses. */
export type TaskContext = {
  readonly broker: Broker
  readonly copy: PartitionCopy
  /** What can not be made again from the log. */
  readonly derived: Derived
  /** The campaigns on their way into the copy. */
  readonly campaigns: CopiedCampaigns
  readonly customers: Customers
  /** Local copy of customers.db, for threads that look up customers. */
  readonly customersFile: string
  /** The bundle of sqlite/worker.ts, with those of the other workers in the same folder. */
  readonly workerFile: URL
  /**
   * Whether the follower holds the partition at this moment. A process that was suspended may have lost it before `stop`
   * is called, so ask before each write that another follower could make too.
   */
  readonly isHeld: () => boolean
  readonly now: () => number
  readonly onError: (error: unknown, what: string) => void
}

/** A running task. */
export type RunningTask = {
  /** Its answers to the gateways. */
  readonly answers: Partial<Answers>
  /** Ends it: the follower stops, or has lost the partition. Nothing of it writes after that. */
  stop(): Promise<void>
}

/**
 * Something that exactly one follower does for a partition. It starts when the follower has got the lease, and the copy
 * has every message that was in the stream then, and everything that other followers had derived.
 */
export type StartTask = (context: TaskContext) => Promise<RunningTask>

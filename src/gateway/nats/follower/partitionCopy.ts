import type { Usage } from '../../customers/usage.ts'
import type { SqliteThread } from '../../sqlite/thread.ts'

/** The local copy of a partition: the databases of one folder, made by reading the stream in order. */
export type PartitionCopy = {
  readonly partition: number
  /** `partition-N` in the data folder. */
  readonly folder: string
  readonly eventsFile: string
  readonly reportsFile: string
  readonly forwardFile: string
  /** The thread that has events.db open. The `seq` of a row is the sequence of the message in the stream. */
  readonly thread: SqliteThread
  /** Every message of the stream up to this sequence is in the copy. */
  position(): number
  /** Resolves when the copy has every message up to a sequence. Rejects with Unavailable when the copy is closed. */
  reach(sequence: number): Promise<void>
  /**
   * Calls the listener with the sums of customers that have changed.
   *
   * @returns Removes the listener.
   */
  watchUsage(listener: (usages: readonly Usage[]) => void): () => void
}

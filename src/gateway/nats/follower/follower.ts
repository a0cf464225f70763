import { setTimeout as delay } from 'node:timers/promises'
import type { Customers } from '../../customers/customers.ts'
import { createDerivedThread } from '../../sqlite/derivedThread.ts'
import type { Answers } from '../answers.ts'
import { serveAnswers } from '../ask.ts'
import type { Broker } from '../broker.ts'
import type { ClusterNews } from '../clusterNews.ts'
import { streamOf } from '../names.ts'
import { type FollowingCopy, openCopy } from './copy.ts'
import { type CopyWork, startCopyWork } from './copyWork.ts'
import { type Leases, startLeases } from './leases.ts'
import type { RunningTask, StartTask, TaskContext } from './task.ts'

/** What a follower does with one partition. */
export type PartitionStatus = {
  readonly partition: number
  /** Messages up to this sequence are in the copy. Undefined while it is being opened. */
  readonly position: number | undefined
  /** Messages of the stream that are not in the copy. Undefined if that is not known. */
  readonly lag: number | undefined
  /** Whether this follower runs its tasks. */
  readonly isHeld: boolean
  /** Whether the copy differs from the stream, see startComparison. */
  readonly differs: boolean
}

/** Copies all partitions, and runs the tasks of those that it holds. */
export type Follower = {
  status(): readonly PartitionStatus[]
  /** Partitions whose last holder had not made them free, since the start. */
  takeOvers(): number
  /** Stops the tasks, makes the partitions free for others, then closes the copies. */
  close(): Promise<void>
}

export type FollowerOptions = {
  readonly broker: Broker
  /** Folder of the copies. It must exist. */
  readonly dataDir: string
  readonly customers: Customers
  readonly customersFile: string
  /** Bundle of sqlite/worker.ts, with those of the other workers in the same folder. */
  readonly workerFile: URL
  /** They are started in this order, and stopped in the opposite one. */
  readonly tasks: readonly StartTask[]
  /** Time between two rounds in which a copy is compared with its stream, ms. Default see startComparison. */
  readonly compareMs?: number | undefined
  /** The clock, ms since 1970. */
  readonly now: () => number
  /** A monotonic clock, ms. */
  readonly monotonicNow: () => number
  /** Called when a partition is held, when it was lost, and when its copy differs from the stream. Default none. */
  readonly onNews?: (news: ClusterNews) => void
  /** @param what The subject of the error. */
  readonly onError: (error: unknown, what: string) => void
}

/** A partition of this follower. */
type Part = {
  readonly partition: number
  copy: FollowingCopy | undefined
  /** What is done with the copy whether the partition is held or not. */
  work: CopyWork | undefined
  /** Whether the copy has reached the end of the stream since it was opened. */
  isWhole: boolean
  /** Set while the partition is held: stops its tasks. */
  tasks: RunningTasks | undefined
  /** Set while the copy is being opened or closed. */
  opening: Promise<void>
}

type RunningTasks = { stop(): Promise<void> }

/** Pause before a copy is opened again, ms. It doubles up to the second one. */
const REOPEN_MS = 500
const MAX_REOPEN_MS = 30_000

/** Starts to follow. It does not wait for the copies, which may take minutes if they are made again. */
export function startFollower(options: FollowerOptions): Follower {
  const { broker, dataDir, workerFile, tasks, now, monotonicNow, onNews, onError } = options
  let takeOvers = 0
  const stopping = new AbortController()
  const parts = Array.from(
    { length: broker.partitions },
    (_, partition): Part => ({
      partition,
      copy: undefined,
      work: undefined,
      isWhole: false,
      tasks: undefined,
      opening: Promise.resolve(),
    }),
  )
  const derivedThread = createDerivedThread(new URL('./derived-worker.js', workerFile), (error) =>
    onError(error, 'the thread of the copies'),
  )
  const nameOf = (partition: number): string => `partition ${partition}`

  /** Opens a copy, until it succeeds. */
  async function open(part: Part, isDamaged: boolean): Promise<void> {
    let pause = REOPEN_MS
    while (!stopping.signal.aborted) {
      try {
        const copy = await openCopy({
          broker,
          partition: part.partition,
          dataDir,
          workerFile,
          isDamaged,
          now,
          onError: (error) => onError(error, nameOf(part.partition)),
          onStuck: () => letOthers(part.partition),
          onLost: (error, damaged) => reopen(part, error, damaged),
        })
        part.work = startCopyWork({
          ...{ broker, copy, workerFile, derivedThread, onError },
          compareMs: options.compareMs,
          onNews: (news) => onNews?.(news),
        })
        part.copy = copy
        void awaitWhole(part, copy)
        return
      } catch (error) {
        onError(error, nameOf(part.partition))
        await delay(pause, undefined, { signal: stopping.signal }).catch(() => {})
        pause = Math.min(pause * 2, MAX_REOPEN_MS)
      }
    }
  }

  /** Only a whole copy may be the one whose tasks run. */
  async function awaitWhole(part: Part, copy: FollowingCopy): Promise<void> {
    while (!stopping.signal.aborted && part.copy === copy)
      try {
        await copy.reach(await endOf(part.partition))
        part.isWhole = true
        return
      } catch {
        // The broker is away, or the copy was closed.
        await delay(REOPEN_MS, undefined, { signal: stopping.signal }).catch(() => {})
      }
  }

  async function endOf(partition: number): Promise<number> {
    const { state } = await broker.jsm.streams.info(streamOf(partition))
    return state.last_seq
  }

  /** What a copy answers is old if it can not be written. That is better than no answer. */
  function letOthers(partition: number): void {
    if (leases.isHeld(partition) && leases.followers() > 1) void leases.release(partition)
  }

  function reopen(part: Part, error: Error, isDamaged: boolean): void {
    onError(error, nameOf(part.partition))
    part.isWhole = false
    part.opening = part.opening.then(async () => {
      await leases.release(part.partition)
      await part.work?.close()
      await part.copy?.close()
      part.copy = undefined
      part.work = undefined
      await open(part, isDamaged)
    })
  }

  /** Starts the tasks of a partition that was taken. */
  function hold(part: Part): void {
    const { copy, work, partition } = part
    const running: RunningTask[] = []
    const ending = new AbortController()
    let stopServing = () => {}

    async function start(): Promise<void> {
      if (!copy || !work) throw new Error('The copy was closed')
      const { campaigns, derived } = work
      const reached = Promise.all([
        endOf(partition).then(copy.reach),
        campaigns.catchUp(),
        derived.catchUp(),
      ])
      await unless(ending.signal, reached)
      const context: TaskContext = {
        broker,
        copy,
        derived,
        campaigns,
        customers: options.customers,
        customersFile: options.customersFile,
        workerFile,
        isHeld: () => leases.isHeld(partition),
        now,
        onError,
      }
      for (const startTask of tasks) {
        if (ending.signal.aborted) return
        running.push(await startTask(context))
      }
      if (ending.signal.aborted) return
      const answers = Object.assign(
        { findDifference: async () => work.comparison.difference() },
        ...running.map(({ answers }) => answers),
      ) as Answers
      stopServing = serveAnswers(
        broker.nc,
        partition,
        answers,
        (error) => onError(error, `a question about ${nameOf(partition)}`),
        () => leases.isHeld(partition),
      )
    }

    const starting = start().catch((error) => {
      if (ending.signal.aborted) return
      onError(error, `the tasks of ${nameOf(partition)}`)
      void leases.release(partition)
    })

    let stopped: Promise<void> | undefined
    async function stop(): Promise<void> {
      ending.abort()
      stopServing()
      await starting
      for (const task of running.reverse())
        await task.stop().catch((error) => onError(error, `the tasks of ${nameOf(partition)}`))
    }
    part.tasks = {
      stop() {
        stopped ??= stop()
        return stopped
      },
    }
  }

  const leases: Leases = startLeases({
    broker,
    partitions: broker.partitions,
    canHold: (partition) => parts[partition]?.isWhole === true,
    onHeld(partition, isTakeOver) {
      if (isTakeOver) takeOvers++
      onNews?.({ what: 'held', partition, isTakeOver })
      hold(parts[partition] as Part)
    },
    async onLost(partition, isGivenUp) {
      onNews?.({ what: isGivenUp ? 'given_up' : 'lost', partition })
      const part = parts[partition] as Part
      await part.tasks?.stop()
      part.tasks = undefined
    },
    onError: (error) => onError(error, 'the leases of partitions'),
    monotonicNow,
    now,
  })

  for (const part of parts) part.opening = open(part, false)

  return {
    status: () =>
      parts.map(({ partition, copy, work }) => ({
        partition,
        position: copy?.position(),
        lag: copy?.lag(),
        isHeld: leases.isHeld(partition),
        differs: work?.comparison.difference() !== undefined,
      })),
    takeOvers: () => takeOvers,
    async close() {
      stopping.abort()
      await leases.close()
      await Promise.all(
        parts.map(async (part) => {
          await part.opening
          await part.work?.close()
          await part.copy?.close()
        }),
      )
      await derivedThread.close()
    },
  }
}

/** Waits for a promise, until the signal is aborted. */
async function unless(signal: AbortSignal, promise: Promise<unknown>): Promise<void> {
  let end = () => {}
  const aborted = new Promise<void>((resolve) => {
    end = resolve
    signal.addEventListener('abort', end)
  })
  try {
    await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

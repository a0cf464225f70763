import { setTimeout as delay } from 'node:timers/promises'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { Unavailable } from '../lib/unavailable.ts'
import type { Applied } from '../sqlite/mirrorRows.ts'
import type { Broker } from './broker.ts'
import { BARRIER } from './mirrorEntries.ts'
import { createMirrorReader } from './mirrorReader.ts'
import {
  type Cluster,
  createMirrorWriter,
  type MirroredRows,
  PATIENCE_MS,
  RETRY_SECONDS,
  unavailable,
} from './mirrorWriter.ts'
import { entrySubject, streamOfBucket } from './names.ts'
import { purgeTombstones } from './tombstones.ts'

export type MirrorOptions = {
  readonly rows: MirroredRows
  /** A promise while the cluster is away: the local rows are used until then. */
  readonly broker: Broker | Promise<Broker>
  /** Name of the bucket. */
  readonly bucket: string
  /** The prefix of the keys of the entries: empty, or tokens and a dot. Each mirror of a bucket has its own. */
  readonly prefix: string
  /**
   * Whether a change is stored only if this process has seen everything in the bucket. Then rules between rows hold
   * (UNIQUE), but writers wait for each other. Only for buckets with few changes, and one mirror. Default false: a
   * change is stored if its row is still what it was here. That is only safe with one writer of a row, since
   * nats-server 2.9.10 stores all changes of a row that arrive together and expect the same revision (59 of 60 rounds
   * with 8 writers). Those that expect the same last sequence of the bucket are stored once (60 of 60).
   */
  readonly isExclusive?: boolean
  /** Called after rows of others were applied, or own changes undone, with the tables. */
  readonly onChange?: (tables: readonly string[]) => void
  /** Called with errors in the background, each reason once until it has worked again. */
  readonly onError: (error: unknown) => void
  /** The clock, ms since 1970. */
  readonly now?: () => number
}

/** Keeps local tables and a bucket equal, row by row. */
export type Mirror = {
  /** Resolves when the tables have all rows that the bucket had at the opening. Never rejects. */
  readonly ready: Promise<void>
  /**
   * Resolves when all changes that were made before the call are in the bucket. Rejects with Unavailable if another
   * process has changed the same at the same time (the change is undone here), or if it is not known (the change stays,
   * and is tried again).
   */
  flush(): Promise<void>
  /**
   * Resolves when the tables have all rows that the bucket has now. Rejects with Unavailable if the first reading, the
   * question or its answer takes longer than 4 seconds.
   */
  catchUp(): Promise<void>
  /** How often changes were undone, because another process was faster. */
  conflicts(): number
  /** Ends it. Changes that are not in the bucket are stored after the next opening. */
  close(): Promise<void>
}

/** Time between two looks for changes that other connections have made, ms. */
const POLL_MS = 250
/** Before the watch is started again, ms. */
const RETRY_MS = 250
/** Time between two looks for rows that were deleted long ago, ms. */
const PURGE_EVERY_MS = 6 * 3_600_000
/** Time between two notes in the tables that they are not away, ms. */
const NOTE_MS = 60_000
/** The message of an Unavailable: another process has changed the same row. */
export const CONFLICT = 'This was changed by another gateway at the same time. Try again'
/** Opens a mirror. The local rows can be used at once; how old they are says `rows.state()`. */
export function openMirror(options: MirrorOptions): Mirror {
  const { rows, bucket, prefix, isExclusive = false, onChange, onError, now = Date.now } = options
  const stream = streamOfBucket(bucket)
  const subjects = entrySubject(bucket, prefix)
  /** Every message up to this sequence was applied, or is our own. */
  let head = 0
  /** Whether the tables have had everything that the bucket had. */
  let isReady = false
  /** How often unsettled changes were undone. */
  let undone = 0
  let isClosed = false
  let connected: Cluster | undefined
  let reported: string | undefined
  const waiting = new Set<() => void>()
  let setReady = () => {}
  const ready = new Promise<void>((resolve) => {
    setReady = resolve
  })

  function report(error: unknown): void {
    const { message } = error as Error
    if (isClosed || message === reported) return
    reported = message
    onError(error)
  }

  function note({ tables, isUndone, faults }: Applied): void {
    if (isUndone) undone++
    for (const fault of faults) report(new Error(fault))
    if (tables.length > 0) onChange?.(tables)
  }

  function advance(sequence: number): void {
    head = Math.max(head, sequence)
    for (const wake of waiting) wake()
  }

  /** Resolves when the condition holds. Rejects with Unavailable if it takes too long. */
  function reach(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer)
        waiting.delete(check)
        settle()
      }
      const check = () => {
        if (condition()) end(resolve)
        else if (isClosed) end(() => reject(unavailable()))
      }
      const timer = setTimeout(() => end(() => reject(unavailable())), PATIENCE_MS)
      waiting.add(check)
    })
  }

  // Reading

  async function follow({ id, nc }: Broker): Promise<void> {
    // Shorter times than elsewhere: while the nodes elect, a question gets no answer, and the next one does.
    const options = { timeout: PATIENCE_MS, checkAPI: false }
    const jsm = await jetstreamManager(nc, options)
    const cluster: Cluster = { id, nc, jsm, js: jetstream(nc, options) }
    connected = cluster
    while (!isClosed) {
      try {
        await reader.watch(cluster)
      } catch (error) {
        report(error)
      }
      await delay(RETRY_MS)
    }
  }

  const reader = createMirrorReader({
    ...{ rows, stream, subjects, advance, note, report, now },
    inFlight: (subject) => writer.inFlight(subject),
    onCaughtUp() {
      isReady = true
      reported = undefined
      setReady()
    },
  })

  // Writing

  const writer = createMirrorWriter({
    ...{ rows, stream, subjects, isExclusive, reach, advance, note },
    head: () => head,
    undone: () => undone,
    isCaughtUp: reader.isCaughtUp,
    isClosed: () => isClosed,
    connected: () => connected,
  })

  let current = Promise.resolve()
  let queued: Promise<void> | undefined
  let isRunning = false

  /** Stores the changes. Begins after the call. */
  function cycle(): Promise<void> {
    queued ??= current
      .catch(() => {})
      .then(() => {
        queued = undefined
        isRunning = true
        current = writer.pushAll().finally(() => {
          isRunning = false
        })
        return current
      })
    return queued
  }

  const poll = setInterval(() => {
    if (!isRunning && connected && reader.isCaughtUp()) cycle().catch(report)
  }, POLL_MS)
  poll.unref()
  const keepNoting = setInterval(() => {
    if (reader.isCaughtUp() && connected && !connected.nc.isClosed())
      Promise.resolve(rows.finish(false, now())).then(note, report)
  }, NOTE_MS)
  keepNoting.unref()
  const purge = setInterval(() => {
    if (connected && reader.isCaughtUp())
      purgeTombstones(connected, stream, subjects, now()).catch(report)
  }, PURGE_EVERY_MS)
  purge.unref()

  const following = Promise.resolve(options.broker).then(follow)
  following.catch(report)

  return {
    ready,
    async flush() {
      const before = undone
      try {
        await cycle()
      } catch (error) {
        if (error instanceof Unavailable || undone !== before) throw error
        throw unavailable(error)
      }
      if (undone !== before) throw new Unavailable(CONFLICT, RETRY_SECONDS)
    },
    async catchUp() {
      try {
        await reach(() => isReady)
        if (!connected) throw new Error('There is no connection')
        const sent = await connected.js.publish(`${subjects}${BARRIER}`, undefined, {
          timeout: PATIENCE_MS,
        })
        await reach(() => head >= sent.seq)
      } catch (error) {
        throw new Unavailable('The rows of the cluster are not all read yet', RETRY_SECONDS, error)
      }
    },
    conflicts: () => undone,
    async close() {
      isClosed = true
      clearInterval(poll)
      clearInterval(keepNoting)
      clearInterval(purge)
      reader.stop()
      for (const wake of waiting) wake()
      await Promise.allSettled([current, queued, ...(connected ? [following] : [])])
    },
  }
}

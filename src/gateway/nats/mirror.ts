import { DeliverPolicy, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { delay } from '@nats-io/transport-node'
import { Unavailable } from '../lib/unavailable.ts'
import type { Applied } from '../sqlite/mirrorRows.ts'
import type { Broker } from './broker.ts'
import { onDisconnect } from './followStream.ts'
import { stopWithoutHeartbeats } from './heartbeats.ts'
import { BARRIER, toRow } from './mirrorEntries.ts'
import {
  BATCH,
  type Cluster,
  createMirrorWriter,
  type MirroredRows,
  PATIENCE_MS,
  RETRY_SECONDS,
  unavailable,
} from './mirrorWriter.ts'
import { entrySubject, streamOfBucket } from './names.ts'
import { purgeTombstones, TOMBSTONE_MS } from './tombstones.ts'

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
  /** Resolves when the tables have all rows that the bucket has now. Rejects with Unavailable. */
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
/** Times of the watch's requests, ms. Two heartbeats that do not come show that its server is gone. */
const WATCH = { max_messages: BATCH, expires: 5_000, idle_heartbeat: 1_000 }
/** Time between two looks for rows that were deleted long ago, ms. */
const PURGE_EVERY_MS = 6 * 3_600_000
/** Tables that were away for longer read the whole bucket: they may have missed a deletion, ms. */
const MAX_AWAY_MS = TOMBSTONE_MS / 2
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
  let isCaughtUp = false
  /** How often unsettled changes were undone. */
  let undone = 0
  let isClosed = false
  let connected: Cluster | undefined
  let reported: string | undefined
  const waiting = new Set<() => void>()
  const closers = new Set<() => void>()
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
        await watch(cluster)
      } catch (error) {
        report(error)
      }
      await delay(RETRY_MS)
    }
  }

  /** Reads the bucket until the connection was made again, or the consumer ends. */
  async function watch({ id, nc, js, jsm }: Cluster): Promise<void> {
    const { state: stored } = await jsm.streams.info(stream)
    const { layout, position, reachedAt } = await rows.state()
    // The bucket was restored from an older backup. Its content counts, and not that of the tables.
    if (layout === id && position > stored.last_seq) await rows.begin('', true)
    const isAway = Math.abs(now() - reachedAt) > MAX_AWAY_MS
    const isFull = layout !== id || position === 0 || position > stored.last_seq || isAway
    await rows.begin(id, isFull)
    const consumer = await js.consumers.get(stream, {
      filter_subjects: `${subjects}>`,
      ...(isFull
        ? { deliver_policy: DeliverPolicy.LastPerSubject }
        : { opt_start_seq: position + 1 }),
    })
    if (!isFull) head = Math.max(head, position)

    async function catchUp(sequence: number): Promise<void> {
      note(await rows.apply([], sequence))
      note(await rows.finish(isFull, now()))
      isCaughtUp = true
      reported = undefined
      advance(sequence)
      setReady()
    }

    const { num_pending: pending } = await consumer.info(true)
    // Messages of other prefixes may be in between, so the end of the stream is not known to be reached.
    if (pending === 0) await catchUp(isFull ? 0 : position)
    const messages = await consumer.consume(WATCH)
    const stop = () => messages.stop()
    closers.add(stop)
    // The consumer may be gone by the time when the connection is there again.
    const unlisten = onDisconnect(nc, stop)
    stopWithoutHeartbeats(messages)
    try {
      if (isClosed) return
      let batch: JsMsg[] = []
      for await (const message of messages) {
        batch.push(message)
        const isLast = message.info.pending === 0
        if (!isLast && batch.length < BATCH) continue
        const read = batch.flatMap((one) => toRow(one, subjects))
        // Otherwise an own change would be taken for one of others, which undoes a later change of the row.
        await Promise.allSettled(batch.map((one) => writer.inFlight(one.subject)))
        batch = []
        // While everything is read, the position stays at 0: otherwise rows that did not come would stay for ever.
        note(await rows.apply(read, isCaughtUp || !isFull ? message.seq : 0))
        if (isLast && !isCaughtUp) await catchUp(message.seq)
        else advance(message.seq)
      }
    } finally {
      isCaughtUp = false
      unlisten()
      closers.delete(stop)
      messages.stop()
      // Not awaited: its node may be down.
      consumer.delete().catch(() => {})
    }
  }

  // Writing

  const writer = createMirrorWriter({
    ...{ rows, stream, subjects, isExclusive, reach, advance, note },
    head: () => head,
    undone: () => undone,
    isCaughtUp: () => isCaughtUp,
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
    if (!isRunning && connected && isCaughtUp) cycle().catch(report)
  }, POLL_MS)
  poll.unref()
  const keepNoting = setInterval(() => {
    if (isCaughtUp && connected && !connected.nc.isClosed())
      Promise.resolve(rows.finish(false, now())).then(note, report)
  }, NOTE_MS)
  keepNoting.unref()
  const purge = setInterval(() => {
    if (connected && isCaughtUp) purgeTombstones(connected, stream, subjects, now()).catch(report)
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
      await ready
      if (!connected) throw unavailable()
      try {
        const sent = await connected.js.publish(`${subjects}${BARRIER}`, undefined, {
          timeout: PATIENCE_MS,
        })
        await reach(() => head >= sent.seq)
      } catch (error) {
        throw error instanceof Unavailable ? error : unavailable(error)
      }
    },
    conflicts: () => undone,
    async close() {
      isClosed = true
      clearInterval(poll)
      clearInterval(keepNoting)
      clearInterval(purge)
      for (const close of closers) close()
      for (const wake of waiting) wake()
      await Promise.allSettled([current, queued, ...(connected ? [following] : [])])
    },
  }
}

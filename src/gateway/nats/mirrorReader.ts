import { setTimeout as delay } from 'node:timers/promises'
import { DeliverPolicy } from '@nats-io/jetstream'
import type { Applied } from '../sqlite/mirrorRows.ts'
import { inBatches } from './batches.ts'
import { followStream } from './followStream.ts'
import { toRow } from './mirrorEntries.ts'
import { BATCH, type Cluster, type MirroredRows } from './mirrorWriter.ts'
import { findPassing } from './passing.ts'
import { TOMBSTONE_MS } from './tombstones.ts'

/** The part of a mirror that reads the bucket into the local tables. */
export type MirrorReader = {
  /** Whether the tables have been complete since this watch began. False while nothing is read. */
  isCaughtUp(): boolean
  /** Reads the bucket until the connection is lost, the consumer ends, or `stop`. Rejects with errors of the cluster. */
  watch(cluster: Cluster): Promise<void>
  stop(): void
}

export type MirrorReaderOptions = {
  readonly rows: MirroredRows
  readonly stream: string
  /** The prefix of the subjects of the entries. */
  readonly subjects: string
  /** See MirrorWriter. */
  readonly inFlight: (subject: string) => Promise<unknown> | undefined
  /** Called when every message up to this sequence was applied. */
  readonly advance: (sequence: number) => void
  readonly onCaughtUp: () => void
  readonly note: (applied: Applied) => void
  /** Called with errors after which it continues. */
  readonly report: (error: unknown) => void
  /** The clock, ms since 1970. */
  readonly now: () => number
}

/** Tables that were away for longer read the whole bucket: they may have missed a deletion, ms. */
const MAX_AWAY_MS = TOMBSTONE_MS / 2
/** How often the leader is asked for the newest message of the bucket, ms, and until the tables are complete. */
const COMPARE_MS = 10_000
const EARLY_COMPARE_MS = 100

export function createMirrorReader(options: MirrorReaderOptions): MirrorReader {
  const { rows, stream, subjects, inFlight, advance, onCaughtUp, note, report, now } = options
  let isCaughtUp = false
  let isStopped = false
  /** Ends the consumer. */
  let end = () => {}

  async function watch({ id, nc, jsm }: Cluster): Promise<void> {
    const { state: stored } = await jsm.streams.info(stream)
    const { layout, position, reachedAt } = await rows.state()
    // The bucket was restored from an older backup. Its content counts, and not that of the tables.
    if (layout === id && position > stored.last_seq) await rows.begin('', true)
    const isAway = Math.abs(now() - reachedAt) > MAX_AWAY_MS
    const isFull = layout !== id || position === 0 || position > stored.last_seq || isAway
    await rows.begin(id, isFull)
    const following = await followStream(nc, stream, {
      filter_subjects: `${subjects}>`,
      ...(isFull
        ? { deliver_policy: DeliverPolicy.LastPerSubject }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: position + 1 }),
      prefetch: BATCH,
    })
    end = following.stop
    if (!isFull) advance(position)
    /** Every message of this watch up to this sequence was applied. */
    let read = isFull ? 0 : position
    let catchingUp = Promise.resolve()

    /** Learns from the leader of the bucket whether there is more to read. */
    async function compare(): Promise<void> {
      const before = read
      const newest = await jsm.streams.getMessage(stream, { last_by_subj: `${subjects}>` })
      if (over.signal.aborted) return
      if (newest !== null && newest.seq > before) return following.expect(newest.seq)
      if (isCaughtUp) return
      catchingUp = catchUp(before)
      await catchingUp
    }

    async function catchUp(sequence: number): Promise<void> {
      note(await rows.apply([], sequence))
      note(await rows.finish(isFull, now()))
      if (over.signal.aborted) return
      isCaughtUp = true
      onCaughtUp()
      advance(sequence)
    }

    async function keepComparing(): Promise<void> {
      while (!over.signal.aborted) {
        await compare().catch((error) => {
          if (findPassing(error) === undefined) report(error)
        })
        const pause = isCaughtUp ? COMPARE_MS : EARLY_COMPARE_MS
        await delay(pause, undefined, { signal: over.signal }).catch(() => {})
      }
    }

    const over = new AbortController()
    try {
      if (isStopped) return
      void keepComparing()
      for await (const batch of inBatches(following.messages, BATCH)) {
        // Otherwise an own change would be taken for one of others, which undoes a later change of the row.
        await Promise.allSettled(batch.map(({ subject }) => inFlight(subject)))
        const last = batch.at(-1)?.seq ?? 0
        const found = batch.flatMap((one) => toRow(one, subjects))
        // While everything is read, the position stays at 0: otherwise rows that did not come would stay for ever.
        note(await rows.apply(found, isCaughtUp || !isFull ? last : 0))
        read = last
        advance(last)
      }
    } finally {
      over.abort()
      isCaughtUp = false
      following.stop()
      // It changes the tables, and so does the beginning of the next watch.
      await catchingUp.catch(() => {})
    }
  }

  return {
    isCaughtUp: () => isCaughtUp,
    watch,
    stop() {
      isStopped = true
      end()
    },
  }
}

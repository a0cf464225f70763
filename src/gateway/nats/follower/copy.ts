import { setTimeout as delay } from 'node:timers/promises'
import { DeliverPolicy, JetStreamApiError, type MsgRequest } from '@nats-io/jetstream'
import type { Usage } from '../../customers/usage.ts'
import { Unavailable } from '../../lib/unavailable.ts'
import { upgradeData } from '../../sqlite/backup/upgrade.ts'
import { startSupervisedThread } from '../../sqlite/supervisedThread.ts'
import type { SqliteThread } from '../../sqlite/thread.ts'
import type { Broker } from '../broker.ts'
import { type Following, followStream } from '../followStream.ts'
import { streamOf } from '../names.ts'
import { deleteCopy, filesOfCopy, makeCopyFolder, moveCopyAside } from './copyFolder.ts'
import { type Collected, collectMessages } from './copyMessages.ts'
import type { PartitionCopy } from './partitionCopy.ts'

/** A copy that follows its stream. */
export type FollowingCopy = PartitionCopy & {
  /** Messages of the stream that are not in the copy. Undefined before the stream was first asked. */
  lag(): number | undefined
  /** Gives sums that have changed otherwise than by messages to the listeners. */
  reportUsage(usages: readonly Usage[]): void
  /** Resolves when the messages that have arrived are applied, and the files are closed. */
  close(): Promise<void>
}

export type CopyOptions = {
  readonly broker: Broker
  readonly partition: number
  readonly dataDir: string
  /** The bundle of sqlite/worker.ts. */
  readonly workerFile: URL
  /** Whether to delete what is there, since it is damaged. */
  readonly isDamaged: boolean
  readonly now: () => number
  /** Called with errors after which the copy continues. */
  readonly onError: (error: unknown) => void
  /** Called again and again while messages can not be applied, as on a full disk. */
  readonly onStuck: () => void
  /**
   * Called once, if the copy can not continue: a file was removed or is damaged, or the stream is another one. It has
   * to be closed, and opened again.
   */
  readonly onLost: (error: Error, isDamaged: boolean) => void
}

/** Messages that are asked of the broker at once. An event has at most 128 KiB. */
const PREFETCH = 256
/** Most messages and bytes of a transaction. Bytes may be exceeded by one message. */
const MAX_MESSAGES = 512
const MAX_BYTES = 2 ** 20
/**
 * Time between the first message and its transaction, ms, so that others can join it, unless somebody waits for the
 * copy: a transaction of 8 events takes twice the processor time of one of 32, per event.
 */
const LINGER_MS = 100
/** Pause before the stream is read again after an error, ms. It doubles up to the second one. */
const RETRY_MS = 250
const MAX_RETRY_MS = 5_000
/** Time between two looks at the end of the stream, ms: without and with somebody who waits. */
const LOOK_MS = 5_000
const WAITED_LOOK_MS = 250
/** Looks in a row after which a stream that ends before the position of the copy is another one, at the opening. */
const MAX_SHORT_LOOKS = 3
/** The same later, ms: a new leader may not know all messages yet, however often it is asked. */
const MAX_SHORT_MS = 10_000
/** Failures in a row after which others should hold the partition. */
const STUCK_FAILURES = 3
const DAMAGED = /is damaged/

/**
 * Opens the copy of a partition and follows the stream. The order of its rows is that of the stream.
 *
 * A copy of another installation, or one that is further than the stream, is moved aside: the stream was deleted, or
 * restored from a backup. A copy that is so old that the stream has removed messages after its position is deleted: it
 * would keep what was erased meanwhile. Both are then made again from the beginning of the stream.
 *
 * @throws Error if the files can not be opened, or the stream can not be asked.
 */
export async function openCopy(options: CopyOptions): Promise<FollowingCopy> {
  const { broker, partition, dataDir, workerFile, now, onError, onStuck } = options
  const files = filesOfCopy(dataDir, partition)
  const stream = streamOf(partition)
  if (options.isDamaged) deleteCopy(files.folder)
  let isLost = false
  let isClosed = false

  function lose(error: Error): void {
    if (isLost || isClosed) return
    isLost = true
    options.onLost(error, DAMAGED.test(error.message))
  }

  async function start(): Promise<SqliteThread> {
    makeCopyFolder(files.folder)
    await upgradeData({ dataDir: files.folder, backup: false, now })
    return startSupervisedThread(files.eventsFile, workerFile, { onFatal: lose })
  }

  async function startWhole(): Promise<SqliteThread> {
    try {
      return await start()
    } catch (error) {
      if (!DAMAGED.test((error as Error).message)) throw error
      onError(error)
      deleteCopy(files.folder)
      return start()
    }
  }

  /** Why the copy that is there can not be continued. Undefined if it can. */
  async function findFault(
    thread: SqliteThread,
  ): Promise<{ reason: string; isOther: boolean } | undefined> {
    const copied = await thread.call('copied')
    if (!copied) return undefined
    if (copied.source !== broker.id) return { reason: 'is of another installation', isOther: true }
    for (let look = 0; look < MAX_SHORT_LOOKS; look++) {
      const { state } = await broker.jsm.streams.info(stream)
      if (copied.last <= state.last_seq) {
        if (copied.last === 0 || copied.last + 1 >= state.first_seq) return undefined
        return { reason: 'is older than the beginning of the stream', isOther: false }
      }
      // A new leader may not know all messages yet.
      await delay(LOOK_MS / MAX_SHORT_LOOKS)
    }
    return { reason: 'is further than the stream, which was made again or restored', isOther: true }
  }

  async function open(): Promise<SqliteThread> {
    const thread = await startWhole()
    try {
      const fault = await findFault(thread)
      if (!fault) {
        if (!(await thread.call('copied'))) await thread.call('beginCopy', broker.id)
        while (await thread.call('fillStates'));
        return thread
      }
      await thread.close()
      let done = 'It was deleted'
      if (fault.isOther) done = `It was moved to ${moveCopyAside(files.folder)}`
      else deleteCopy(files.folder)
      onError(
        new Error(`The copy of partition ${partition} ${fault.reason}. ${done}, and is made again`),
      )
    } catch (error) {
      await thread.close()
      throw error
    }
    const again = await start()
    await again.call('beginCopy', broker.id)
    return again
  }

  const thread = await open()
  let position = (await thread.call('copied'))?.last ?? 0
  /** The end of the stream, when it was last asked. */
  let end: number | undefined
  const waiting = new Set<{ readonly seq: number; settle: (error?: Error) => void }>()
  const listeners = new Set<(usages: readonly Usage[]) => void>()
  const stopping = new AbortController()
  /** Failures to apply messages, since it has worked. */
  let failures = 0
  let reported: string | undefined
  let following: Following | undefined
  /** Ends `linger`. */
  let applyNow = () => {}

  /** Lets more messages come, unless there are enough or somebody waits for those that are there. */
  async function linger(isFull: boolean): Promise<void> {
    if (isFull || waiting.size > 0 || isClosed) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LINGER_MS)
      applyNow = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  function move(last: number): void {
    position = Math.max(position, last)
    for (const one of waiting) if (one.seq <= position) one.settle()
  }

  async function apply(collected: Collected): Promise<void> {
    const { last, usage } = await thread.call('apply', collected.batch(position))
    if (last < position)
      throw new Error(`The copy of partition ${partition} has lost its last changes`)
    move(last)
    failures = 0
    reported = undefined
    reportUsage(usage)
  }

  function reportUsage(usages: readonly Usage[]): void {
    if (usages.length > 0) for (const listener of listeners) listener(usages)
  }

  /** Applies the messages of one consumer, until it ends. */
  async function read(consumed: Following): Promise<void> {
    let collected = collectMessages()
    let draining: Promise<void> | undefined
    let onRoom = () => {}
    let failure: unknown

    const isFull = (): boolean => {
      const { messages, bytes } = collected.size()
      return messages >= MAX_MESSAGES || bytes >= MAX_BYTES
    }

    async function drain(): Promise<void> {
      try {
        await linger(isFull())
        while (collected.size().messages > 0 && !isLost) {
          const batch = collected
          collected = collectMessages()
          onRoom()
          await apply(batch)
          await linger(isFull())
        }
      } catch (error) {
        failure = error
        consumed.stop()
      } finally {
        draining = undefined
        onRoom()
      }
    }

    for await (const message of consumed.messages) {
      if (failure) break
      try {
        collected.add(message)
      } catch (error) {
        const { seq } = message
        const what = `Message ${seq} of ${stream} can not be read and is left out`
        onError(new Error(`${what}: ${(error as Error).message}`, { cause: error }))
      }
      draining ??= drain()
      if (!isFull()) continue
      applyNow()
      await new Promise<void>((resolve) => {
        onRoom = resolve
      })
    }
    applyNow()
    await draining
    if (failure) throw failure
  }

  async function consume(): Promise<void> {
    following = await followStream(broker.nc, stream, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: position + 1,
      prefetch: PREFETCH,
    })
    try {
      if (!isClosed) await read(following)
    } finally {
      following.stop()
    }
  }

  /** Messages of the same kind are reported once, until it has worked again: it is tried for ever. */
  function noteFailure(error: Error): void {
    const reason = error.cause instanceof Error ? error.cause.message : error.message
    if (reason !== reported)
      onError(
        new Error(`The copy of partition ${partition} can not be written: ${reason}`, {
          cause: error,
        }),
      )
    reported = reason
    if (++failures >= STUCK_FAILURES) onStuck()
  }

  async function follow(): Promise<void> {
    let pause = RETRY_MS
    while (!isClosed && !isLost) {
      const before = position
      try {
        await consume()
      } catch (error) {
        const fault = thread.fault()
        if (fault !== undefined && DAMAGED.test(fault)) lose(new Error(fault))
        // Without the broker there is nothing to report: that is reported elsewhere.
        else if (!isLost && !isClosed && !isExpected(error)) noteFailure(error as Error)
        const copied = await thread.call('copied').catch(() => undefined)
        if (copied) position = copied.last
      }
      pause = position > before ? RETRY_MS : Math.min(pause * 2, MAX_RETRY_MS)
      if (!isClosed && !isLost)
        await delay(pause, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  /** The sequence of the first message after the position. Undefined if there is none: the last ones may be erased. */
  async function findNext(): Promise<number | undefined> {
    // The type lacks next_by_subj, which servers have since 2.9.
    const query = { seq: position + 1, next_by_subj: '>' } as MsgRequest
    return (await broker.jsm.streams.getMessage(stream, query))?.seq
  }

  async function look(): Promise<void> {
    let shortSince: number | undefined
    let last = position
    while (!isClosed && !isLost) {
      try {
        const { state } = await broker.jsm.streams.info(stream)
        end = state.last_seq
        shortSince = end < position ? (shortSince ?? performance.now()) : undefined
        if (shortSince !== undefined && performance.now() - shortSince >= MAX_SHORT_MS)
          lose(
            new Error(`The stream ${stream} ends before the copy, which was made of another one`),
          )
        const isStill = position === last && end > position
        last = position
        const next = isStill ? await findNext() : undefined
        if (next !== undefined) following?.expect(next)
        else if (isStill && position === last) {
          const nothing = { ...collectMessages().batch(position), last: end }
          move((await thread.call('apply', nothing)).last)
        }
      } catch {
        // The broker is away, or elects a leader.
      }
      const pause = waiting.size > 0 ? WAITED_LOOK_MS : LOOK_MS
      if (isClosed) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pause)
        lookNow = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
  let lookNow = () => {}

  const running = Promise.all([follow(), look()])

  return {
    partition,
    ...files,
    thread,
    position: () => position,
    lag: () => (end === undefined ? undefined : Math.max(0, end - position)),
    reach(seq) {
      if (position >= seq) return Promise.resolve()
      if (isClosed || isLost) return Promise.reject(closedError())
      return new Promise((resolve, reject) => {
        const one = {
          seq,
          settle(error?: Error) {
            waiting.delete(one)
            if (error) reject(error)
            else resolve()
          },
        }
        waiting.add(one)
        applyNow()
        lookNow()
      })
    },
    reportUsage,
    watchUsage(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async close() {
      isClosed = true
      stopping.abort()
      lookNow()
      following?.stop()
      for (const one of waiting) one.settle(closedError())
      await running
      await thread.close()
    },
  }

  function closedError(): Unavailable {
    return new Unavailable(`The copy of partition ${partition} is closed`)
  }
}

/** Whether the broker is away for a while. */
export const isExpected = (error: unknown): boolean =>
  error instanceof JetStreamApiError ||
  /^(TimeoutError|NoRespondersError|RequestError|ClosedConnectionError|DrainingConnectionError)$/.test(
    (error as Error).name,
  )

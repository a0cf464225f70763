import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { DeliverPolicy, type JsMsg } from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import type { Broker } from '../broker.ts'
import { type Following, followStream } from '../followStream.ts'
import { isDeletion } from '../mirrorEntries.ts'
import { entrySubject, LEASES_BUCKET, streamOfBucket } from '../names.ts'

/** The value of a key, JSON. */
export type Holder = {
  readonly id: string
  /** For operators: the machine and the process. */
  readonly name: string
  /** Number of the attempt to write it, so that a write without an answer can be recognized. */
  readonly attempt: number
}

/** A key as this follower has seen it. */
export type Seen = {
  readonly revision: number
  /** Undefined if it is free. */
  readonly holder: Holder | undefined
  /** By the monotonic clock. */
  readonly changedAt: number
}

/** What the bucket of the leases says, and writes of this follower's name. See leases.ts. */
export type LeaseBucket = {
  /** Of this follower. */
  readonly id: string
  /** The key with which this follower is announced. */
  readonly own: string
  /** Resolves when nothing is read any more, after `stop`. */
  readonly ended: Promise<void>
  /** Whether the keys were read. */
  isWatching(): boolean
  /** Ends a watch that does not bring what this follower has written. The next one may read another replica. */
  checkWatch(): void
  find(key: string): Seen | undefined
  /**
   * Learns what a key is, from the leader of the bucket: the watch may be late.
   *
   * @returns Whether it is known.
   */
  look(key: string): Promise<boolean>
  nextAttempt(): number
  /**
   * Writes the own name with compare-and-set.
   *
   * @returns The new revision. Undefined if somebody else was faster, or if that is not known.
   */
  write(key: string, attempt: number): Promise<number | undefined>
  /** Whether no write that arrived together with this one was stored after it. False if that is not known. */
  isLast(key: string, revision: number): Promise<boolean>
  /** Deletes a key. If the broker is away, it expires. @returns False if it is not the same any more. */
  remove(key: string, revision: number): Promise<boolean>
  /** Followers that are alive, with this one. */
  countFollowers(): number
  /** Removes the keys of followers that have ended long ago. */
  forgetFollowers(): void
  stop(): void
}

export type LeaseBucketOptions = {
  readonly broker: Pick<Broker, 'leases' | 'jsm' | 'nc'>
  /** Called when a key has changed. */
  readonly onLearnt: (key: string, holder: Holder | undefined) => void
  readonly onError: (error: unknown) => void
  /** A monotonic clock, ms. */
  readonly monotonicNow: () => number
}

/** Time without a change after which others may take a partition, ms. */
export const LEASE_MS = 6_000
/** Time for an answer to a renewal, ms. It is repeated before FENCE_MS is over. */
const UPDATE_MS = 1_500
/** Time after which the key of a follower that has ended is deleted, ms. */
const FORGET_MS = 60_000
/** Time until a watch that has ended is started again, ms. */
const WATCH_RETRY_MS = 500
/** An own write that the watch has not brought after this time shows that it reads a replica that lags, ms. */
const WATCH_LAG_MS = 3_000
const WATCH_PREFETCH = 256

/** "wrong last sequence" */
const WRONG_REVISION = 10071
const PASSING = /^(TimeoutError|NoRespondersError|RequestError|ClosedConnectionError)$/

const isWrong = (error: unknown): boolean => (error as { code?: unknown }).code === WRONG_REVISION

const FOLLOWERS = 'follower.'
/** A key that is only written to know that everything before it is stored. */
const BARRIER = 'barrier'
const STREAM = streamOfBucket(LEASES_BUCKET)
const SUBJECTS = entrySubject(LEASES_BUCKET, '')

export function openLeaseBucket(options: LeaseBucketOptions): LeaseBucket {
  const { broker, onLearnt, onError, monotonicNow } = options
  const { leases: bucket, jsm, nc } = broker
  const id = randomUUID()
  const name = `${hostname()} ${process.pid}`
  const own = FOLLOWERS + id
  const seen = new Map<string, Seen>()
  const stopping = new AbortController()
  let attempts = 0
  let isWatching = false
  let watched: Following | undefined
  /** The newest revision that the watch has brought. */
  let watchedTo = 0
  /** An own write that the watch has to bring. */
  let awaited: { readonly revision: number; readonly since: number } | undefined
  let fault: string | undefined

  /** Learns what a message of the bucket says. */
  function read(message: Pick<JsMsg, 'subject' | 'seq' | 'data'>, header?: MsgHdrs): void {
    let holder: Holder | undefined
    try {
      if (!isDeletion(header)) holder = JSON.parse(Buffer.from(message.data).toString())
    } catch {
      // Somebody else has written it. It expires.
    }
    learn(message.subject.slice(SUBJECTS.length), message.seq, holder)
  }

  async function look(key: string): Promise<boolean> {
    const query = { last_by_subj: SUBJECTS + key }
    const message = await jsm.streams.getMessage(STREAM, query).catch(() => null)
    if (message) read(message, message.header)
    return message !== null
  }

  function learn(key: string, revision: number, holder: Holder | undefined): void {
    const before = seen.get(key)
    if (before && before.revision >= revision) return
    if (key.startsWith(FOLLOWERS) && !holder) seen.delete(key)
    else seen.set(key, { revision, holder, changedAt: monotonicNow() })
    onLearnt(key, holder)
  }

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await watchOnce()
      } catch (error) {
        if (!isWatching) report(error as Error)
      }
      await delay(WATCH_RETRY_MS, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  async function watchOnce(): Promise<void> {
    const following = await followStream(nc, STREAM, {
      deliver_policy: DeliverPolicy.LastPerSubject,
      prefetch: WATCH_PREFETCH,
    })
    watched = following
    watchedTo = 0
    awaited = undefined
    isWatching = true
    try {
      if (stopping.signal.aborted) return
      for await (const message of following.messages) {
        watchedTo = message.seq
        read(message, message.headers)
      }
    } finally {
      watched = undefined
      following.stop()
    }
  }

  async function write(key: string, attempt: number): Promise<number | undefined> {
    const holder: Holder = { id, name, attempt }
    const previousSeq = seen.get(key)?.revision ?? 0
    try {
      // Nobody else writes the own key. Others delete it if this process was suspended for long.
      const expected = key === own || key === BARRIER ? {} : { previousSeq }
      const text = JSON.stringify(holder)
      const next = await bucket.put(key, text, { ...expected, timeout: UPDATE_MS })
      learn(key, next, holder)
      awaited ??= { revision: next, since: monotonicNow() }
      fault = undefined
      return next
    } catch (error) {
      report(error as Error)
      if (isWrong(error)) await look(key)
      return undefined
    }
  }

  /**
   * Somebody else was faster, or the broker is away: the write is repeated. Anything else is reported once, such as rights
   * that are missing.
   */
  function report(error: Error): void {
    if (isWrong(error) || PASSING.test(error.name) || error.message === fault) return
    fault = error.message
    onError(error)
  }

  async function remove(key: string, revision: number): Promise<boolean> {
    const removed = bucket.delete(key, { previousSeq: revision }).then(
      () => true,
      (error) => !isWrong(error),
    )
    const late = new AbortController()
    const end = delay(UPDATE_MS, true, { signal: late.signal }).catch(() => true)
    const isSame = await Promise.race([removed, end])
    late.abort()
    return isSame
  }

  return {
    id,
    own,
    ended: watch(),
    isWatching: () => isWatching,
    checkWatch() {
      if (awaited && watchedTo >= awaited.revision) awaited = undefined
      if (awaited && monotonicNow() - awaited.since > WATCH_LAG_MS) watched?.stop()
    },
    find: (key) => seen.get(key),
    look,
    nextAttempt: () => ++attempts,
    write,
    async isLast(key, revision) {
      if ((await write(BARRIER, ++attempts)) === undefined) return false
      return (await look(key)) && seen.get(key)?.revision === revision
    },
    remove,
    countFollowers() {
      let count = 1
      for (const [key, { changedAt }] of seen)
        if (key.startsWith(FOLLOWERS) && key !== own && monotonicNow() - changedAt < LEASE_MS)
          count++
      return count
    },
    forgetFollowers() {
      for (const [key, { changedAt, revision }] of seen)
        if (key.startsWith(FOLLOWERS) && key !== own && monotonicNow() - changedAt > FORGET_MS) {
          seen.delete(key)
          bucket.delete(key, { previousSeq: revision }).catch(() => {})
        }
    },
    stop() {
      stopping.abort()
      watched?.stop()
    },
  }
}

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { DeliverPolicy, type JsMsg } from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import type { Broker } from '../broker.ts'
import { type Following, followStream } from '../followStream.ts'
import { LEASES_BUCKET } from '../names.ts'

/*
 * Exactly one follower holds a partition. The bucket has one key for each partition, whose value names the holder. It
 * is changed by compare-and-set of its revision, and the holder renews it. Another follower takes it when its revision
 * has not changed for LEASE_MS by the own monotonic clock. So no clocks are compared.
 *
 * A holder counts from the moment before it has sent its last successful renewal, and gives up after FENCE_MS. Others
 * count from the moment at which they have seen it, which is later. So it has LEASE_MS - FENCE_MS to stop its tasks.
 *
 * The server checks a revision when a write arrives, not when it is stored: writes that arrive together are all stored,
 * and all are acknowledged (seen with nats-server 2.9.10). The last one counts. So who takes a partition then writes
 * another key, which is stored after all of them, and holds the partition only if its write is still the last one.
 *
 * Every follower also has a key of its own, so that all know among how many the partitions are shared.
 */

/** The partitions that this follower holds. */
export type Leases = {
  /** Whether the partition is held at this moment, by the clock: a process may have been suspended. */
  isHeld(partition: number): boolean
  /** Followers that are alive, with this one. */
  followers(): number
  /** Makes the partition free for others, such as when its tasks can not be started here. It is not taken for a while, in which the others may take more than their share. */
  release(partition: number): Promise<void>
  /** Makes all partitions free after `onLost` has resolved for each. */
  close(): Promise<void>
}

export type LeaseOptions = {
  readonly broker: Pick<Broker, 'leases' | 'jsm' | 'nc'>
  readonly partitions: number
  /** Whether this follower could run the tasks of a partition now. It is announced when it could run all of them. */
  readonly canHold: (partition: number) => boolean
  /**
   * Called when a partition was taken.
   *
   * @param isTakeOver Whether its last holder has not made it free.
   */
  readonly onHeld: (partition: number, isTakeOver: boolean) => void
  /**
   * Called when a partition is lost or shall be given up. It becomes free for others when the promise resolves, or
   * after LEASE_MS. Never rejects.
   *
   * @param isGivenUp Whether this follower wants to.
   */
  readonly onLost: (partition: number, isGivenUp: boolean) => Promise<void>
  readonly onError: (error: unknown) => void
  /** A monotonic clock, ms. */
  readonly monotonicNow: () => number
  /** The clock, ms since 1970. It also runs while the machine is suspended. */
  readonly now: () => number
}

/** Time between two renewals, ms. */
const RENEW_MS = 2_000
/** Time without a renewal after which a holder gives up, ms. */
export const FENCE_MS = 4_000
/** Time without a change after which others may take a partition, ms. */
export const LEASE_MS = 6_000
/** Time between two rounds, ms. */
const ROUND_MS = 500
/** Time for an answer to a renewal, ms. It is repeated before FENCE_MS is over. */
const UPDATE_MS = 1_500
/**
 * Time in which a partition is not taken again after `release`, ms. It doubles up to the second one, after which it begins
 * again.
 */
const REFUSE_MS = 1_000
const MAX_REFUSE_MS = 60_000
/** Time after which the key of a follower that has ended is deleted, ms. */
const FORGET_MS = 60_000
/** Time until a watch that has ended is started again, ms. */
const WATCH_RETRY_MS = 500
/** An own write that the watch has not brought after this time shows that it reads a replica that lags, ms. */
const WATCH_LAG_MS = 3_000
const WATCH_PREFETCH = 256
/** Attempts to make a partition free. */
const FREE_ATTEMPTS = 3

/** "wrong last sequence" */
const WRONG_REVISION = 10071
const PASSING = /^(TimeoutError|NoRespondersError|RequestError|ClosedConnectionError)$/

const isWrong = (error: unknown): boolean => (error as { code?: unknown }).code === WRONG_REVISION

const keyOf = (partition: number): string => `partition.${partition}`
const FOLLOWERS = 'follower.'
/** A key that is only written to know that everything before it is stored. */
const BARRIER = 'barrier'
const STREAM = `KV_${LEASES_BUCKET}`
const SUBJECTS = `$KV.${LEASES_BUCKET}.`

/** The value of a key, JSON. */
type Holder = {
  readonly id: string
  /** For operators: the machine and the process. */
  readonly name: string
  /** Number of the attempt to write it, so that a write without an answer can be recognized. */
  readonly attempt: number
}

/** A key as the watch has seen it. */
type Seen = {
  readonly revision: number
  /** Undefined if it is free. */
  readonly holder: Holder | undefined
  /** By the monotonic clock. */
  readonly changedAt: number
}

/** A moment by both clocks. */
type Moment = { readonly monotonic: number; readonly wall: number }

type Held = {
  /** Before the last successful renewal was sent. */
  renewedAt: Moment
  /** Set while a renewal is on its way. */
  renewing: Promise<void> | undefined
  /** Attempts to renew that have no answer. */
  readonly sent: Map<number, Moment>
  /** Set when it is being given up. */
  losing: Promise<void> | undefined
}

/**
 * Takes a fair share of the partitions: each follower at most as many as a share, rounded up. A follower that joins gets
 * its share, since those that have more give up the rest.
 */
export function startLeases(options: LeaseOptions): Leases {
  const { broker, partitions, canHold, onHeld, onLost, onError, monotonicNow, now } = options
  const { leases: bucket, jsm, nc } = broker
  const id = randomUUID()
  const name = `${hostname()} ${process.pid}`
  const own = FOLLOWERS + id
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  const seen = new Map<string, Seen>()
  const held = new Map<number, Held>()
  const taking = new Set<number>()
  const refused = new Map<number, { until: number; pause: number }>()
  const stopping = new AbortController()
  let attempt = 0
  let isWatching = false
  let watched: Following | undefined
  /** The newest revision that the watch has brought. */
  let watchedTo = 0
  /** An own write that the watch has to bring. */
  let awaited: { readonly revision: number; readonly since: number } | undefined
  let fault: string | undefined
  let announcedAt = Number.NEGATIVE_INFINITY
  let isAnnouncing = false

  const moment = (): Moment => ({ monotonic: monotonicNow(), wall: now() })
  /** A clock that is set forward makes it longer, which is harmless. One that is set back does not make it shorter. */
  const since = ({ monotonic, wall }: Moment): number =>
    Math.max(monotonicNow() - monotonic, now() - wall)
  const value = (): { attempt: number; text: string } => {
    attempt++
    return { attempt, text: JSON.stringify({ id, name, attempt } satisfies Holder) }
  }

  /** Learns what a message of the bucket says. */
  function read(message: Pick<JsMsg, 'subject' | 'seq' | 'data'>, header?: MsgHdrs): void {
    let holder: Holder | undefined
    try {
      if (!header?.get('KV-Operation')) holder = JSON.parse(Buffer.from(message.data).toString())
    } catch {
      // Somebody else has written it. It expires.
    }
    learn(message.subject.slice(SUBJECTS.length), message.seq, holder)
  }

  /**
   * Learns what a key is, from the leader of the bucket: the watch may be late.
   *
   * @returns Whether it is known.
   */
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
    const partition = Number(/^partition\.(\d+)$/.exec(key)?.[1] ?? -1)
    const lease = held.get(partition)
    if (!lease) return
    if (holder?.id !== id) void lose(partition, lease)
    else {
      // A renewal whose answer was lost.
      const sentAt = lease.sent.get(holder.attempt)
      if (sentAt) lease.renewedAt = sentAt
    }
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

  /** Ends a watch that does not bring what this follower has written. The next one may read another replica. */
  function checkWatch(): void {
    if (awaited && watchedTo >= awaited.revision) awaited = undefined
    if (awaited && monotonicNow() - awaited.since > WATCH_LAG_MS) watched?.stop()
  }

  /**
   * Writes the own name with compare-and-set.
   *
   * @returns The new revision. Undefined if somebody else was faster, or if that is not known.
   */
  async function write(key: string, text: string, number: number): Promise<number | undefined> {
    const previousSeq = seen.get(key)?.revision ?? 0
    try {
      // Nobody else writes the own key. Others delete it if this process was suspended for long.
      const expected = key === own || key === BARRIER ? {} : { previousSeq }
      const next = await bucket.put(key, text, { ...expected, timeout: UPDATE_MS })
      learn(key, next, { id, name, attempt: number })
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

  async function renew(partition: number, lease: Held): Promise<void> {
    const sentAt = moment()
    const { attempt: number, text } = value()
    lease.sent.set(number, sentAt)
    if (await write(keyOf(partition), text, number)) {
      lease.renewedAt = sentAt
      lease.sent.clear()
    }
    lease.renewing = undefined
  }

  async function take(partition: number): Promise<void> {
    const sentAt = moment()
    const { attempt: number, text } = value()
    const lease: Held = {
      renewedAt: sentAt,
      renewing: undefined,
      sent: new Map([[number, sentAt]]),
      losing: undefined,
    }
    const before = seen.get(keyOf(partition))?.holder
    taking.add(partition)
    const revision = await write(keyOf(partition), text, number)
    const isLast = revision !== undefined && (await isStillLast(keyOf(partition), revision))
    taking.delete(partition)
    if (!isLast) return
    lease.sent.clear()
    if (stopping.signal.aborted || since(sentAt) >= FENCE_MS) return void free(partition)
    held.set(partition, lease)
    onHeld(partition, before !== undefined && before.id !== id)
  }

  /** Whether no write that arrived together with this one was stored after it. False if that is not known. */
  async function isStillLast(key: string, revision: number): Promise<boolean> {
    const { attempt: number, text } = value()
    if ((await write(BARRIER, text, number)) === undefined) return false
    return (await look(key)) && seen.get(key)?.revision === revision
  }

  function lose(partition: number, lease: Held, isGivenUp = false): Promise<void> {
    lease.losing ??= onLost(partition, isGivenUp).finally(() => held.delete(partition))
    return lease.losing
  }

  /** Makes a partition free, if it is still the own one. */
  async function free(partition: number): Promise<void> {
    const key = keyOf(partition)
    for (let tries = 0; tries < FREE_ATTEMPTS; tries++) {
      const last = seen.get(key)
      if (last?.holder?.id !== id || (await remove(key, last.revision))) return
      // A renewal whose answer was lost may have been stored.
      await look(key)
    }
  }

  /** Deletes a key. If the broker is away, it expires. @returns False if it is not the same any more. */
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

  async function giveUp(partition: number): Promise<void> {
    const lease = held.get(partition)
    if (!lease) return
    await lose(partition, lease, true)
    // It changes the revision.
    await lease.renewing
    await free(partition)
  }

  async function announce(): Promise<void> {
    isAnnouncing = true
    const sentAt = monotonicNow()
    const { attempt: number, text } = value()
    if (await write(own, text, number)) announcedAt = sentAt
    isAnnouncing = false
  }

  function countFollowers(): number {
    let count = 1
    for (const [key, { changedAt }] of seen)
      if (key.startsWith(FOLLOWERS) && key !== own && monotonicNow() - changedAt < LEASE_MS) count++
    return count
  }

  /** Whether a partition is free, or its holder has not renewed it. The own id is that of a write without an answer. */
  function isFree(partition: number): boolean {
    const last = seen.get(keyOf(partition))
    return (
      last?.holder === undefined ||
      last.holder.id === id ||
      monotonicNow() - last.changedAt >= LEASE_MS
    )
  }

  const isAble = (partition: number): boolean =>
    monotonicNow() >= (refused.get(partition)?.until ?? 0) && canHold(partition)

  const mayTake = (partition: number): boolean =>
    !held.has(partition) && !taking.has(partition) && isFree(partition) && isAble(partition)

  /** Removes the keys of followers that have ended long ago. */
  function forgetFollowers(): void {
    for (const [key, { changedAt, revision }] of seen)
      if (key.startsWith(FOLLOWERS) && key !== own && monotonicNow() - changedAt > FORGET_MS) {
        seen.delete(key)
        bucket.delete(key, { previousSeq: revision }).catch(() => {})
      }
  }

  function round(): void {
    if (stopping.signal.aborted) return
    for (const [partition, lease] of held) {
      const age = since(lease.renewedAt)
      if (lease.losing) continue
      if (age >= FENCE_MS) void lose(partition, lease)
      else if (age >= RENEW_MS && !lease.renewing) lease.renewing = renew(partition, lease)
    }
    if (!isWatching) return
    checkWatch()
    if (monotonicNow() - announcedAt >= RENEW_MS && !isAnnouncing && all.every(isAble))
      void announce()
    forgetFollowers()
    // Not before the others have seen the announcement, and this one theirs.
    if (announcedAt < 0) return
    const share = Math.ceil(partitions / countFollowers())
    const kept = [...held].filter(([, { losing }]) => !losing)
    for (const [partition] of kept.slice(share)) void giveUp(partition)
    let free = share - held.size - taking.size
    const first = Math.floor(Math.random() * partitions)
    for (let i = 0; i < partitions && free > 0; i++) {
      const partition = (first + i) % partitions
      if (!mayTake(partition)) continue
      free--
      void take(partition)
    }
  }

  const watching = watch()
  const timer = setInterval(round, ROUND_MS)

  return {
    isHeld(partition) {
      const lease = held.get(partition)
      return lease !== undefined && !lease.losing && since(lease.renewedAt) < FENCE_MS
    },
    followers: countFollowers,
    async release(partition) {
      const before = refused.get(partition)
      const isRecent = before && monotonicNow() < before.until + MAX_REFUSE_MS
      const pause = isRecent ? Math.min(MAX_REFUSE_MS, before.pause * 2) : REFUSE_MS
      refused.set(partition, { until: monotonicNow() + pause, pause })
      await giveUp(partition)
      // The others do not count this one meanwhile. Otherwise the partition is in nobody's share.
      const last = seen.get(own)
      if (last) await remove(own, last.revision)
    },
    async close() {
      clearInterval(timer)
      stopping.abort()
      watched?.stop()
      await Promise.all([...held.keys()].map(giveUp))
      const last = seen.get(own)
      if (last) await remove(own, last.revision)
      await watching
    },
  }
}

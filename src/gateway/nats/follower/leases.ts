import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { KV, KvWatchEntry } from '@nats-io/kv'

/*
 * Exactly one follower holds a partition. The bucket has one key for each partition, whose value names the holder. It
 * is changed by compare-and-set of its revision, and the holder renews it. Another follower takes it when its revision
 * has not changed for LEASE_MS by the own monotonic clock. So no clocks are compared.
 *
 * A holder counts from the moment before it has sent its last successful renewal, and gives up after FENCE_MS. Others
 * count from the moment at which they have seen it, which is later. So it has LEASE_MS - FENCE_MS to stop its tasks.
 *
 * Every follower also has a key of its own, so that all know among how many the partitions are shared.
 */

/** The partitions that this follower holds. */
export type Leases = {
  /** Whether the partition is held at this moment, by the clock: a process may have been suspended. */
  isHeld(partition: number): boolean
  /** Followers that are alive, with this one. */
  followers(): number
  /** Makes the partition free for others, such as when its tasks can not be started here. It is not taken for a while. */
  release(partition: number): Promise<void>
  /** Makes all partitions free after `onLost` has resolved for each. */
  close(): Promise<void>
}

export type LeaseOptions = {
  readonly bucket: KV
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
/** Time in which a partition is not taken again after `release`, ms. It doubles up to the second one. */
const REFUSE_MS = 1_000
const MAX_REFUSE_MS = 60_000
/** Time after which the key of a follower that has ended is deleted, ms. */
const FORGET_MS = 60_000
/** Time until a watch that has ended is started again, ms. */
const WATCH_RETRY_MS = 500

/** "wrong last sequence" */
const WRONG_REVISION = 10071
const PASSING = /^(TimeoutError|NoRespondersError|RequestError|ClosedConnectionError)$/

const keyOf = (partition: number): string => `partition.${partition}`
const FOLLOWERS = 'follower.'

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
  isRenewing: boolean
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
  const { bucket, partitions, canHold, onHeld, onLost, onError, monotonicNow, now } = options
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

  function see(entry: KvWatchEntry): void {
    const { key, revision, operation } = entry
    let holder: Holder | undefined
    try {
      if (operation === 'PUT') holder = entry.json<Holder>()
    } catch {
      // Somebody else has written it. It expires.
    }
    learn(key, revision, holder)
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
        const entries = await bucket.watch()
        const stop = () => entries.stop()
        stopping.signal.addEventListener('abort', stop)
        if (stopping.signal.aborted) stop()
        isWatching = true
        for await (const entry of entries) see(entry)
        stopping.signal.removeEventListener('abort', stop)
      } catch (error) {
        if (!isWatching) onError(error)
      }
      await delay(WATCH_RETRY_MS, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  /**
   * Writes the own name with compare-and-set.
   *
   * @returns The new revision. Undefined if somebody else was faster, or if that is not known.
   */
  async function write(key: string, text: string, number: number): Promise<number | undefined> {
    const revision = seen.get(key)?.revision ?? 0
    try {
      const next = await bucket.put(key, text, { previousSeq: revision, timeout: UPDATE_MS })
      learn(key, next, { id, name, attempt: number })
      fault = undefined
      return next
    } catch (error) {
      report(error as Error)
      return undefined
    }
  }

  /**
   * Somebody else was faster, or the broker is away: the watch shows what is true, and the write is repeated. Anything
   * else is reported once, such as rights that are missing.
   */
  function report(error: Error & { code?: unknown }): void {
    if (error.code === WRONG_REVISION || PASSING.test(error.name) || error.message === fault) return
    fault = error.message
    onError(error)
  }

  async function renew(partition: number, lease: Held): Promise<void> {
    lease.isRenewing = true
    const sentAt = moment()
    const { attempt: number, text } = value()
    lease.sent.set(number, sentAt)
    if (await write(keyOf(partition), text, number)) {
      lease.renewedAt = sentAt
      lease.sent.clear()
    }
    lease.isRenewing = false
  }

  async function take(partition: number): Promise<void> {
    const sentAt = moment()
    const { attempt: number, text } = value()
    const lease: Held = {
      renewedAt: sentAt,
      isRenewing: true,
      sent: new Map([[number, sentAt]]),
      losing: undefined,
    }
    const before = seen.get(keyOf(partition))?.holder
    taking.add(partition)
    const revision = await write(keyOf(partition), text, number)
    taking.delete(partition)
    if (revision === undefined) return
    lease.isRenewing = false
    lease.sent.clear()
    if (stopping.signal.aborted || since(sentAt) >= FENCE_MS) return void free(partition)
    held.set(partition, lease)
    onHeld(partition, before !== undefined && before.id !== id)
  }

  function lose(partition: number, lease: Held, isGivenUp = false): Promise<void> {
    lease.losing ??= onLost(partition, isGivenUp).finally(() => held.delete(partition))
    return lease.losing
  }

  /** Makes a partition free, if it is still the own one. */
  async function free(partition: number): Promise<void> {
    const key = keyOf(partition)
    const last = seen.get(key)
    if (last?.holder?.id !== id) return
    await remove(key, last.revision)
  }

  /** Deletes a key, if it is still the same. If the broker is away, it expires. */
  async function remove(key: string, revision: number): Promise<void> {
    const removed = bucket.delete(key, { previousSeq: revision }).catch(() => {})
    const late = new AbortController()
    await Promise.race([
      removed,
      delay(UPDATE_MS, undefined, { signal: late.signal }).catch(() => {}),
    ])
    late.abort()
  }

  async function giveUp(partition: number): Promise<void> {
    const lease = held.get(partition)
    if (!lease) return
    await lose(partition, lease, true)
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

  const mayTake = (partition: number): boolean =>
    !held.has(partition) &&
    !taking.has(partition) &&
    monotonicNow() >= (refused.get(partition)?.until ?? 0) &&
    isFree(partition) &&
    canHold(partition)

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
      else if (age >= RENEW_MS && !lease.isRenewing) void renew(partition, lease)
    }
    if (!isWatching) return
    if (monotonicNow() - announcedAt >= RENEW_MS && !isAnnouncing && all.every(canHold))
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
      const pause = Math.min(MAX_REFUSE_MS, (refused.get(partition)?.pause ?? REFUSE_MS / 2) * 2)
      refused.set(partition, { until: monotonicNow() + pause, pause })
      await giveUp(partition)
    },
    async close() {
      clearInterval(timer)
      stopping.abort()
      await Promise.all([...held.keys()].map(giveUp))
      const last = seen.get(own)
      if (last) await remove(own, last.revision)
      await watching
    },
  }
}

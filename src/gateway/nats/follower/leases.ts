import { allPartitions } from '../names.ts'
import { type Holder, LEASE_MS, type LeaseBucketOptions, openLeaseBucket } from './leaseBucket.ts'

/*
 * Exactly one follower holds a partition. The bucket has one key for each partition, whose value names the holder. It
 * is changed by compare-and-set of its revision, and the holder renews it. Another follower takes it when its revision
 * has not changed for LEASE_MS by the own monotonic clock. So no clocks are compared.
 *
 * A holder counts from the moment before it has sent its last successful renewal, and gives up after FENCE_MS. Others
 * count from the moment at which they have seen it, which is later. So it has LEASE_MS - FENCE_MS to stop its tasks.
 *
 * The server checks a revision when a write arrives, not when it is stored: writes that arrive together are all stored,
 * and all are acknowledged (seen with nats-server 2.9.10). The last one counts. So a follower that takes a partition then
 * writes another key, which is stored after all of them, and holds the partition only if its write is still the last one.
 *
 * Every follower also has a key of its own, so that all know among how many the partitions are shared.
 */

/** The partitions that this follower holds. */
export type Leases = {
  /** Whether the partition is held at this moment, by the clock: a process may have been suspended. */
  isHeld(partition: number): boolean
  /** Followers that are alive, with this one. */
  followers(): number
  /**
   * Makes the partition free for others, such as when its tasks can not be started here. It is not taken again for a
   * while, in which the others may take more than their share.
   */
  release(partition: number): Promise<void>
  /** Makes all partitions free after `onLost` has resolved for each. */
  close(): Promise<void>
}

export type LeaseOptions = {
  readonly broker: LeaseBucketOptions['broker']
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
/** Time between two rounds, ms. */
const ROUND_MS = 500
/**
 * Time in which a partition is not taken again after `release`, ms. It doubles up to the second one, after which it begins
 * again.
 */
const REFUSE_MS = 1_000
const MAX_REFUSE_MS = 60_000
/** Attempts to make a partition free. */
const FREE_ATTEMPTS = 3

const keyOf = (partition: number): string => `partition.${partition}`

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
  const bucket = openLeaseBucket({ broker, onLearnt, onError, monotonicNow })
  const { id, own } = bucket
  const all = allPartitions(partitions)
  const held = new Map<number, Held>()
  const taking = new Set<number>()
  const refused = new Map<number, { until: number; pause: number }>()
  let isStopped = false
  let announcedAt = Number.NEGATIVE_INFINITY
  let isAnnouncing = false

  const moment = (): Moment => ({ monotonic: monotonicNow(), wall: now() })
  /** A clock that is set forward makes it longer, which is harmless. One that is set back does not make it shorter. */
  const since = ({ monotonic, wall }: Moment): number =>
    Math.max(monotonicNow() - monotonic, now() - wall)

  /** Compares what the bucket says of a held partition with what this follower knows of it. */
  function onLearnt(key: string, holder: Holder | undefined): void {
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

  async function renew(partition: number, lease: Held): Promise<void> {
    const sentAt = moment()
    const attempt = bucket.nextAttempt()
    lease.sent.set(attempt, sentAt)
    if (await bucket.write(keyOf(partition), attempt)) {
      lease.renewedAt = sentAt
      lease.sent.clear()
    }
    lease.renewing = undefined
  }

  async function take(partition: number): Promise<void> {
    const sentAt = moment()
    const attempt = bucket.nextAttempt()
    const lease: Held = {
      renewedAt: sentAt,
      renewing: undefined,
      sent: new Map([[attempt, sentAt]]),
      losing: undefined,
    }
    const before = bucket.find(keyOf(partition))?.holder
    taking.add(partition)
    const revision = await bucket.write(keyOf(partition), attempt)
    const isLast = revision !== undefined && (await bucket.isLast(keyOf(partition), revision))
    taking.delete(partition)
    if (!isLast) return
    lease.sent.clear()
    if (isStopped || since(sentAt) >= FENCE_MS) return void free(partition)
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
    for (let tries = 0; tries < FREE_ATTEMPTS; tries++) {
      const last = bucket.find(key)
      if (last?.holder?.id !== id || (await bucket.remove(key, last.revision))) return
      // A renewal whose answer was lost may have been stored.
      await bucket.look(key)
    }
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
    if (await bucket.write(own, bucket.nextAttempt())) announcedAt = sentAt
    isAnnouncing = false
  }

  /** Whether a partition is free, or its holder has not renewed it. The own id is that of a write without an answer. */
  function isFree(partition: number): boolean {
    const last = bucket.find(keyOf(partition))
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

  function round(): void {
    if (isStopped) return
    for (const [partition, lease] of held) {
      const age = since(lease.renewedAt)
      if (lease.losing) continue
      if (age >= FENCE_MS) void lose(partition, lease)
      else if (age >= RENEW_MS && !lease.renewing) lease.renewing = renew(partition, lease)
    }
    if (!bucket.isWatching()) return
    bucket.checkWatch()
    if (monotonicNow() - announcedAt >= RENEW_MS && !isAnnouncing && all.every(isAble))
      void announce()
    bucket.forgetFollowers()
    // Not before the others have seen the announcement, and this one theirs.
    if (announcedAt < 0) return
    const share = Math.ceil(partitions / bucket.countFollowers())
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

  const timer = setInterval(round, ROUND_MS)

  return {
    isHeld(partition) {
      const lease = held.get(partition)
      return lease !== undefined && !lease.losing && since(lease.renewedAt) < FENCE_MS
    },
    followers: bucket.countFollowers,
    async release(partition) {
      const before = refused.get(partition)
      const isRecent = before && monotonicNow() < before.until + MAX_REFUSE_MS
      const pause = isRecent ? Math.min(MAX_REFUSE_MS, before.pause * 2) : REFUSE_MS
      refused.set(partition, { until: monotonicNow() + pause, pause })
      await giveUp(partition)
      // The others do not count this one meanwhile. Otherwise the partition is in nobody's share.
      const last = bucket.find(own)
      if (last) await bucket.remove(own, last.revision)
    },
    async close() {
      clearInterval(timer)
      isStopped = true
      bucket.stop()
      await Promise.all([...held.keys()].map(giveUp))
      const last = bucket.find(own)
      if (last) await bucket.remove(own, last.revision)
      await bucket.ended
    },
  }
}

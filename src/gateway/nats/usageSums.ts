import { dayOf, type Usage } from '../customers/usage.ts'
import type { UsageReport } from './usageMessage.ts'

/** An event that this gateway has stored. */
export type StoredEvent = {
  readonly customer: string
  /** ms since 1970. */
  readonly receivedAt: number
  /** See Usage. */
  readonly isServer: boolean
  /** Of the payload, UTF-8. */
  readonly bytes: number
  /** Its position in its partition. */
  readonly seq: number
}

/** How much customers have stored today and yesterday, as far as this gateway knows. */
export type UsageSums = {
  /** Adds what this gateway has stored in a partition. Returns the new sums. */
  count(partition: number, events: readonly StoredEvent[]): readonly Usage[]
  /** Takes what the follower of a partition has counted. Returns the sums that have changed. */
  learn(partition: number, report: UsageReport): readonly Usage[]
  /** All of them. */
  all(): readonly Usage[]
}

/** What a follower has counted, and what this gateway has stored that the follower has not counted yet. */
type Sum = {
  readonly customer: string
  readonly day: number
  readonly isServer: boolean
  counted: { readonly events: number; readonly bytes: number }
  ownEvents: number
  ownBytes: number
}

/** Events of this gateway that the follower has not counted yet, all at or before a position. */
type Own = {
  readonly seq: number
  readonly sum: Sum
  readonly events: number
  readonly bytes: number
}

/**
 * Own events of a partition that are remembered one by one: some seconds of a busy gateway. Above this number those of a
 * customer are summed up, and the sum is dropped when the follower has counted the last of them.
 */
const MAX_OWN = 20_000
const NOTHING = { events: 0, bytes: 0 }

/**
 * Adds up without counting anything twice: a follower says up to which position it has counted, and of the own events
 * only those after it are added.
 */
export function createUsageSums(maxOwn = MAX_OWN): UsageSums {
  /** By day, then of pages and of servers by customer. */
  const days = new Map<number, Record<'pages' | 'servers', Map<string, Sum>>>()
  let newest = 0
  /** By partition. */
  const owns: Own[][] = []
  /** Positions of the last reports, by partition. */
  const positions: number[] = []

  function sumOf(customer: string, day: number, isServer: boolean): Sum {
    let ofDay = days.get(day)
    if (!ofDay) {
      ofDay = { pages: new Map(), servers: new Map() }
      days.set(day, ofDay)
      newest = Math.max(newest, day)
      // Yesterday stays, in case the clock is set back over midnight.
      for (const old of days.keys()) if (old < newest - 1) days.delete(old)
    }
    const sums = isServer ? ofDay.servers : ofDay.pages
    let sum = sums.get(customer)
    if (!sum) {
      sum = { customer, day, isServer, counted: NOTHING, ownEvents: 0, ownBytes: 0 }
      sums.set(customer, sum)
    }
    return sum
  }

  const toUsage = ({ customer, day, isServer, counted, ownEvents, ownBytes }: Sum): Usage => ({
    customer,
    day,
    isServer,
    events: counted.events + ownEvents,
    bytes: counted.bytes + ownBytes,
  })

  function summedUp(own: readonly Own[]): Own[] {
    const bySum = new Map<Sum, Own>()
    for (const { seq, sum, events, bytes } of own) {
      const before = bySum.get(sum)
      bySum.set(sum, {
        seq: Math.max(seq, before?.seq ?? 0),
        sum,
        events: events + (before?.events ?? 0),
        bytes: bytes + (before?.bytes ?? 0),
      })
    }
    return [...bySum.values()]
  }

  return {
    count(partition, events) {
      const changed = new Set<Sum>()
      let own = owns[partition] ?? []
      for (const { customer, receivedAt, isServer, bytes, seq } of events) {
        const sum = sumOf(customer, dayOf(receivedAt), isServer)
        changed.add(sum)
        // The follower was faster than the acknowledgement.
        if (seq <= (positions[partition] ?? 0)) continue
        sum.ownEvents++
        sum.ownBytes += bytes
        own.push({ seq, sum, events: 1, bytes })
      }
      if (own.length > maxOwn) own = summedUp(own)
      owns[partition] = own
      return [...changed].map(toUsage)
    },
    learn(partition, { position, usages }) {
      const changed = new Set<Sum>()
      for (const { customer, day, isServer, events, bytes } of usages) {
        const sum = sumOf(customer, day, isServer)
        sum.counted = { events, bytes }
        changed.add(sum)
      }
      const left: Own[] = []
      for (const own of owns[partition] ?? []) {
        if (own.seq > position) {
          left.push(own)
          continue
        }
        own.sum.ownEvents -= own.events
        own.sum.ownBytes -= own.bytes
        changed.add(own.sum)
      }
      owns[partition] = left
      positions[partition] = position
      return [...changed].map(toUsage)
    },
    all: () =>
      [...days.values()].flatMap(({ pages, servers }) =>
        [...pages.values(), ...servers.values()].map(toUsage),
      ),
  }
}

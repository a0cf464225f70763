/**
 * The data of the live view, without the DOM: the newest events, counts, devices, funnel. Each event is counted once,
 * when it arrives.
 */
import type { LiveEvent } from '../operator/feed.ts'
import type { Kind } from '../operator/kinds.ts'
import { dropFirst } from './dropFirst.ts'
import { FUNNEL, kindOf, pathOf } from './kinds.ts'
import { createLast } from './last.ts'
import { createOrderDevices } from './orderDevices.ts'

/** Events that stay searchable. */
export const MAX_EVENTS = 5000
/** Bound on the total length of their JSON, UTF-16 units: a usual event has 700, the largest one shown has 17,000. */
export const MAX_LENGTH = 8_000_000
/** Events shown at once. */
export const MAX_ROWS = 500
/** Ids that are remembered, so that no event is shown twice after a reconnection. */
const MAX_IDS = 20_000
/** Devices that are remembered. Above this number, the one without events for longest is forgotten. */
const MAX_DEVICES = 2000
/** Distinct devices that are counted, in total and at each step of the funnel. Above it, the count has a plus sign. */
export const MAX_COUNTED = 50_000
/** Arrivals that are remembered for the last minute: a bound for the case that a clock is set back. */
const MAX_ARRIVALS = 200_000
/** The number of kinds in a device's trail. */
const TRAIL = 16
const MINUTE_MS = 60_000

/** An event as the view shows it. */
export type Shown = LiveEvent & { readonly kind: Kind; readonly path: string }

export type Device = {
  readonly did: string
  /** Number of its events. */
  readonly count: number
  /** The kinds of its newest events, oldest first. */
  readonly trail: readonly Kind[]
}

export type Filter = {
  /** Empty for all. */
  readonly kinds: ReadonlySet<string>
  /** '' for every device. */
  readonly did: string
  /** In lower case; '' for all. */
  readonly words: string
}

export type Model = ReturnType<typeof createModel>

/** @param now Clock of this browser, ms. */
export function createModel(now: () => number = Date.now) {
  const ids = new Set<string>()
  /** The gateway's clock minus this browser's, ms. */
  let skewMs = 0
  let seen = createCounts()

  function createCounts() {
    return {
      events: createLast<Shown>(MAX_EVENTS, MAX_LENGTH),
      total: 0,
      kinds: new Map<Kind, number>(),
      devices: new Map<string, Device>(),
      devicesEver: createDistinct(),
      funnel: FUNNEL.map((step) => ({ ...step, events: 0, dids: createDistinct() })),
      /** Numbers of orders: a later version of an order is the same order. */
      orders: createDistinct(),
      deviceOfOrder: createOrderDevices(),
      /** Arrivals of the last minute, oldest first, ms of the gateway's clock. */
      arrivals: [] as number[],
    }
  }

  /**
   * @param length Length of the event's JSON, UTF-16 units.
   * @returns The event's record; undefined if the event is already known.
   */
  function add(event: LiveEvent, length: number): Shown | undefined {
    if (ids.has(event.id)) return undefined
    ids.add(event.id)
    if (ids.size > MAX_IDS) dropFirst(ids)
    const kind = kindOf(event)
    const at = +new Date(event.at)
    const receivedAt = +new Date(event.receivedAt)
    const record = { ...event, kind, at, receivedAt, path: pathOf(event) }
    seen.events.add(record, length)
    seen.total++
    seen.kinds.set(kind, (seen.kinds.get(kind) ?? 0) + 1)
    addToFunnel(record)
    if (event.did) addDevice(event.did, kind)
    seen.arrivals.push(receivedAt)
    if (seen.arrivals.length > MAX_ARRIVALS * 1.2)
      seen.arrivals = seen.arrivals.slice(-MAX_ARRIVALS)
    return record
  }

  function addToFunnel(record: Shown) {
    const { kind, did, payload } = record
    const ordering = seen.deviceOfOrder(record)
    if (kind === 'saveOrder') seen.orders.add(String(payload.number ?? record.id))
    for (const step of seen.funnel) {
      if (step.kind === 'saveOrder') {
        step.events = seen.orders.count().count
        if (ordering !== undefined) step.dids.add(ordering)
      } else if (step.kind === kind) {
        step.events++
        step.dids.add(String(did))
      }
    }
  }

  function addDevice(did: string, kind: Kind) {
    const known = seen.devices.get(did)
    // Deleted and set again, so that the Map's order of insertion is the order of the newest event.
    seen.devices.delete(did)
    const trail = [...(known?.trail ?? []).slice(1 - TRAIL), kind]
    seen.devices.set(did, { did, count: (known?.count ?? 0) + 1, trail })
    seen.devicesEver.add(did)
    if (seen.devices.size > MAX_DEVICES) dropFirst(seen.devices)
  }

  /** The remembered events that pass `filter`, newest first, at most MAX_ROWS. */
  function find(filter: Filter): Shown[] {
    const found: Shown[] = []
    for (const record of seen.events.newestFirst()) {
      if (passes(record, filter)) found.push(record)
      if (found.length === MAX_ROWS) break
    }
    return found
  }

  /** Events of the last minute, in `bars` slots, oldest first. */
  function lastMinute(bars: number): { readonly count: number; readonly slots: number[] } {
    const end = now() + skewMs
    seen.arrivals = seen.arrivals.filter((at) => at > end - MINUTE_MS)
    const slots = new Array<number>(bars).fill(0)
    for (const at of seen.arrivals) {
      const slot = Math.floor(((at - end + MINUTE_MS) / MINUTE_MS) * bars)
      const index = Math.min(bars - 1, Math.max(0, slot))
      slots[index] = (slots[index] ?? 0) + 1
    }
    return { count: seen.arrivals.length, slots }
  }

  return {
    add,
    find,
    lastMinute,
    get(id: string): Shown | undefined {
      for (const record of seen.events.newestFirst()) if (record.id === id) return record
      return undefined
    },
    total: (): number => seen.total,
    count: (kind: Kind): number => seen.kinds.get(kind) ?? 0,
    /** Distinct devices; `isMore` if there are more than MAX_COUNTED. */
    deviceTotal: () => seen.devicesEver.count(),
    /** The devices with the newest events, newest first. */
    devices: (most: number): Device[] => [...seen.devices.values()].slice(-most).reverse(),
    /**
     * For each step: events (of the last one: orders), distinct devices, and their share of the first step's devices
     * (null if unknown).
     */
    funnel() {
      const first = seen.funnel[0]?.dids.count() ?? { count: 0, isMore: false }
      return seen.funnel.map(({ kind, name, one, events, dids }) => {
        const { count, isMore } = dids.count()
        const isKnown = first.count > 0 && !first.isMore
        return {
          kind,
          name,
          one,
          events,
          isMore,
          devices: count,
          share: isKnown ? count / first.count : null,
        }
      })
    },
    setServerClock: (serverNow: number): void => {
      skewMs = serverNow - now()
    },
    /** Forgets everything except ids, so that a cleared event does not come back. */
    clear: (): void => {
      seen = createCounts()
    },
    /** Forgets ids too, for another customer. */
    reset: (): void => {
      ids.clear()
      seen = createCounts()
    },
  }
}

/** Counts distinct texts, up to MAX_COUNTED. */
function createDistinct() {
  const known = new Set<string>()
  let isMore = false
  return {
    add(text: string): void {
      if (known.size < MAX_COUNTED) known.add(text)
      else isMore ||= !known.has(text)
    },
    count: () => ({ count: known.size, isMore }),
  }
}

/** The searchable text of a record, made at its first search: most events are never searched. */
const texts = new WeakMap<Shown, string>()

export function passes(record: Shown, { kinds, did, words }: Filter): boolean {
  if (kinds.size > 0 && !kinds.has(record.kind)) return false
  if (did && record.did !== did) return false
  if (!words) return true
  let text = texts.get(record)
  if (text === undefined) {
    text = JSON.stringify([record.id, record.operation, record.payload]).toLowerCase()
    texts.set(record, text)
  }
  return text.includes(words)
}

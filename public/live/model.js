/**
 * What the live view remembers, without the page: the last events, counts, devices, funnel. Everything
 * is counted as it arrives, so that a thousand events cost a thousand additions and no second look.
 */
import { FUNNEL, kindOf, pathOf } from './kinds.js'
import { createLast } from './last.js'

/** Events that stay searchable, newest first in what `find` answers. */
export const MAX_EVENTS = 5000
/** The same of large ones, UTF-16 units of their JSON: usual events have 700, the largest shown 17,000. */
export const MAX_LENGTH = 8_000_000
/** Events shown at once. */
export const MAX_ROWS = 500
/** Ids remembered, so that a reconnection shows nothing twice. */
const MAX_IDS = 20_000
/** Devices remembered; above it the one not seen for longest is forgotten. */
const MAX_DEVICES = 2000
/** Distinct devices that are counted, in all and at each step of the funnel; beyond it is `or more`. */
export const MAX_COUNTED = 50_000
/** Arrivals remembered, for the last minute: more than a view gets in one, should a clock go back. */
const MAX_ARRIVALS = 200_000
/** The last kinds a device's trail shows. */
const TRAIL = 16
const MINUTE_MS = 60_000

export function createModel(now = Date.now) {
  const ids = new Set()
  /** Server clock minus ours, ms. */
  let skewMs = 0
  let seen = createCounts()

  function createCounts() {
    return {
      events: createLast(MAX_EVENTS, MAX_LENGTH),
      total: 0,
      /** @type {Map<string, number>} */
      kinds: new Map(),
      /** @type {Map<string, {did: string, count: number, last: number, trail: string[]}>} */
      devices: new Map(),
      devicesEver: createDistinct(),
      funnel: FUNNEL.map(({ kind, name }) => ({ kind, name, events: 0, dids: createDistinct() })),
      /** Arrivals of the last minute, oldest first, ms of the server's clock. */
      arrivals: [],
    }
  }

  /**
   * Takes one event; answers its record, or nothing where it is known already.
   *
   * @param {number} length Of its JSON, UTF-16 units.
   */
  function add(event, length) {
    if (ids.has(event.id)) return
    ids.add(event.id)
    if (ids.size > MAX_IDS) ids.delete(ids.values().next().value)
    const kind = kindOf(event)
    const at = +new Date(event.at)
    const receivedAt = +new Date(event.receivedAt)
    const record = { ...event, kind, at, receivedAt, path: pathOf(event), text: '' }
    seen.events.add(record, length)
    seen.total++
    seen.kinds.set(kind, (seen.kinds.get(kind) ?? 0) + 1)
    for (const step of seen.funnel)
      if (step.kind === kind) {
        step.events++
        step.dids.add(event.did)
      }
    if (event.did) addDevice(event.did, kind, receivedAt)
    seen.arrivals.push(receivedAt)
    if (seen.arrivals.length > MAX_ARRIVALS * 1.2)
      seen.arrivals = seen.arrivals.slice(-MAX_ARRIVALS)
    return record
  }

  function addDevice(did, kind, last) {
    const known = seen.devices.get(did) ?? { did, count: 0, last: 0, trail: [] }
    // Deleted and set again: a Map keeps the order of insertion, so the last is the newest.
    seen.devices.delete(did)
    const trail = [...known.trail.slice(1 - TRAIL), kind]
    seen.devices.set(did, { did, count: known.count + 1, last, trail })
    seen.devicesEver.add(did)
    if (seen.devices.size > MAX_DEVICES) seen.devices.delete(seen.devices.keys().next().value)
  }

  /** Which of the remembered events pass `filter`, newest first, at most MAX_ROWS. */
  function find(filter) {
    const found = []
    for (const record of seen.events.newestFirst()) {
      if (passes(record, filter)) found.push(record)
      if (found.length === MAX_ROWS) break
    }
    return found
  }

  /** Events of the last minute, in `bars` slots, oldest first. */
  function lastMinute(bars) {
    const end = now() + skewMs
    seen.arrivals = seen.arrivals.filter((at) => at > end - MINUTE_MS)
    const slots = new Array(bars).fill(0)
    for (const at of seen.arrivals) {
      const slot = Math.floor(((at - end + MINUTE_MS) / MINUTE_MS) * bars)
      slots[Math.min(bars - 1, Math.max(0, slot))]++
    }
    return { count: seen.arrivals.length, slots }
  }

  return {
    add,
    find,
    lastMinute,
    get(id) {
      for (const record of seen.events.newestFirst()) if (record.id === id) return record
    },
    total: () => seen.total,
    count: (kind) => seen.kinds.get(kind) ?? 0,
    /** Distinct devices; `isMore` where they are more than are counted. */
    deviceTotal: () => seen.devicesEver.count(),
    /** The devices heard of last, newest first. */
    devices: (most) => [...seen.devices.values()].slice(-most).reverse(),
    /** Each step: events, distinct devices, and its share of the first step's devices (null: unknown). */
    funnel() {
      const first = seen.funnel[0].dids.count()
      return seen.funnel.map(({ kind, name, events, dids }) => {
        const { count, isMore } = dids.count()
        const isKnown = first.count > 0 && !first.isMore
        return {
          kind,
          name,
          events,
          devices: count,
          isMore,
          share: isKnown ? count / first.count : null,
        }
      })
    },
    setServerClock: (/** @type {number} */ serverNow) => {
      skewMs = serverNow - now()
    },
    /** Forgets what is shown; ids stay known, so that nothing cleared comes back. */
    clear: () => {
      seen = createCounts()
    },
    /** Another customer: forgets ids too. */
    reset: () => {
      ids.clear()
      seen = createCounts()
    },
  }
}

/** Counts distinct texts, up to MAX_COUNTED. */
function createDistinct() {
  const known = new Set()
  let isMore = false
  return {
    add(/** @type {string} */ text) {
      if (known.size < MAX_COUNTED) known.add(text)
      else isMore ||= !known.has(text)
    },
    count: () => ({ count: known.size, isMore }),
  }
}

/** `kinds` empty means all; `did` empty means every device; `words` is lower case. */
export function passes(record, { kinds, did, words }) {
  if (kinds.size > 0 && !kinds.has(record.kind)) return false
  if (did && record.did !== did) return false
  if (!words) return true
  // The text is made when first looked for: most events are never searched.
  record.text ||= JSON.stringify([record.id, record.operation, record.payload]).toLowerCase()
  return record.text.includes(words)
}

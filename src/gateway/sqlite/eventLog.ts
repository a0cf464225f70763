import type { EventLog, LogEvent, NewsListener } from '../collect/eventLog.ts'
import { toCells } from './cells.ts'
import type { SqliteThread } from './thread.ts'
import { createUsageWatch } from './usageWatch.ts'

/** How often it is looked whether another process has written, while somebody listens, ms. */
const LOOK_MS = 500

/**
 * The log over one SQLite file in a worker thread: each append is one transaction. Several
 * gateways of one machine may share the file (a new one starts before the old one ends): each stores, and
 * each hears of the other's events within half a second.
 *
 * @param thread Closed with the log.
 */
export function createSqliteLog({ call, fault, close }: SqliteThread): EventLog {
  const listeners = new Set<NewsListener>()

  function notifyListeners(customers?: ReadonlySet<string>): void {
    for (const listener of listeners) listener(customers)
  }

  const usageWatch = createUsageWatch(call)

  async function store(events: readonly LogEvent[]): Promise<readonly number[]> {
    try {
      const { positions, usage } = await call('append', toCells(events))
      usageWatch.report(usage)
      return positions
    } catch (error) {
      isUnsure = true
      usageWatch.doubt()
      throw error
    }
  }

  let timer: NodeJS.Timeout | undefined
  let isLooking = false
  /** Of the file, as it was seen last; undefined before the first look. */
  let version: unknown
  /** Whether something may have been stored that nobody heard of: a thread may end behind a commit. */
  let isUnsure = false
  /** The first look of a listener only learns where things stand; who listens reads once by itself. */
  function look(): void {
    if (isLooking) return
    isLooking = true
    call('version')
      .then(
        (seen) => {
          const isNews = version !== undefined && seen !== version
          if (isNews || isUnsure) notifyListeners()
          version = seen
          isUnsure = false
        },
        // Whoever asks for something is told; the next look may find it mended.
        () => {
          isUnsure = true
        },
      )
      .finally(() => {
        isLooking = false
      })
  }

  return {
    async append(events) {
      const positions = await store(events)
      if (listeners.size > 0 && positions.some((seq) => seq > 0))
        notifyListeners(new Set(events.map(({ customer }) => customer)))
      return positions.map((seq) => (seq > 0 ? 'stored' : 'duplicate'))
    },
    has: (customer, ids) => call('has', customer, ids),
    read: (range) => call('read', range),
    findTail: (customer, max) => call('findTail', customer, max),
    subscribe(listener) {
      listeners.add(listener)
      if (listeners.size === 1) {
        look()
        timer = setInterval(look, LOOK_MS)
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) clearInterval(timer)
      }
    },
    watchUsage: usageWatch.start,
    probe: () => call('probe'),
    health() {
      const reason = fault()
      return reason === undefined ? { writable: true } : { writable: false, reason }
    },
    close() {
      clearInterval(timer)
      usageWatch.stop()
      return close()
    },
  }
}

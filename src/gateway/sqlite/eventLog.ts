import type { EventLog, LogEvent, NewsListener } from '../collect/eventLog.ts'
import { toCells } from './cells.ts'
import type { SqliteThread } from './thread.ts'
import { createUsageWatch } from './usageWatch.ts'

/** Time between two checks whether another process has written, while there are listeners, ms. */
const CHECK_MS = 500

/**
 * The log in one SQLite file, in a worker thread. Each append is one transaction. Several gateways of one machine may
 * share the file (a new one starts before the old one ends): all of them store events, and each gets the events of the
 * others within half a second.
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
  let isChecking = false
  /** Version of the file at the last check. Undefined before the first one. */
  let version: unknown
  /** Whether events may have been stored without a report: a thread may end after a commit. */
  let isUnsure = false
  /** The first check only gets the version: a new listener reads the log itself. */
  function check(): void {
    if (isChecking) return
    isChecking = true
    call('version')
      .then(
        (seen) => {
          const isNews = version !== undefined && seen !== version
          if (isNews || isUnsure) notifyListeners()
          version = seen
          isUnsure = false
        },
        // Callers get the error. The next check may succeed.
        () => {
          isUnsure = true
        },
      )
      .finally(() => {
        isChecking = false
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
        check()
        timer = setInterval(check, CHECK_MS)
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

import type { EventLog, LogRecord, NewsListener, Tail } from '../eventLog.ts'
import { toCells } from './cells.ts'
import type { SqliteThread } from './thread.ts'

/** How often it is looked whether another process has written, while somebody listens, ms. */
const LOOK_MS = 500

/**
 * The log over one SQLite file in a worker thread: each append is one transaction. Several
 * gateways of one machine may share the file (a new one starts before the old one ends): each stores, and
 * each hears of the other's events within half a second.
 *
 * @param thread Closed with the log.
 */
export function createSqliteLog({ ask, lost, close }: SqliteThread): EventLog {
  const listeners = new Set<NewsListener>()

  function tellListeners(customers?: ReadonlySet<string>): void {
    for (const listener of listeners) listener(customers)
  }

  let looking: NodeJS.Timeout | undefined
  let version: unknown
  /** The first look of a listener only learns where things stand; who listens reads once by itself. */
  function look(): void {
    ask({ kind: 'version' }).then(
      (seen) => {
        if (version !== undefined && seen !== version) tellListeners()
        version = seen
      },
      // The thread is gone: whoever asks it for something is told so.
      () => clearInterval(looking),
    )
  }

  return {
    async append(events) {
      const positions = (await ask({ kind: 'append', cells: toCells(events) })) as readonly number[]
      if (listeners.size > 0 && positions.some((seq) => seq > 0))
        tellListeners(new Set(events.map(({ customer }) => customer)))
      return positions.map((seq) => (seq > 0 ? 'stored' : 'duplicate'))
    },
    has: (customer, ids) =>
      ask({ kind: 'hasEvents', customer, ids }) as Promise<readonly boolean[]>,
    read: (range) => ask({ kind: 'read', range }) as Promise<readonly LogRecord[]>,
    findTail: (customer, max) => ask({ kind: 'findTail', customer, max }) as Promise<Tail>,
    subscribe(listener) {
      listeners.add(listener)
      if (listeners.size === 1) {
        look()
        looking = setInterval(look, LOOK_MS)
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) clearInterval(looking)
      }
    },
    probe: () => ask({ kind: 'probe' }) as Promise<void>,
    health() {
      const reason = lost()
      return reason ? { writable: false, reason: reason.message } : { writable: true }
    },
    close() {
      clearInterval(looking)
      return close()
    },
  }
}

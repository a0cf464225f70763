import type { TrackNotice } from './global.d.ts'
import { now } from './lib/now.ts'

export type Notice = TrackNotice
export type Kind = 'accepted' | 'sent' | 'delivered' | 'held' | 'dropped'
type Listener = (notice: Notice) => void
/** `at` is when it was emitted, ms since 1970. */
export type Seen = readonly [kind: Kind | 'consent', notice: Notice, at: number]

export type Notices = {
  /** Receives every notice while debug mode loads the inspector (debug.ts). */
  seen?: Seen[] | undefined
  /** Counts dropped events (problems.ts). The consent part replaces it. */
  count?: (notice: Notice) => unknown
  /** Calls the listeners, in a later microtask, so that none of them delays an event. */
  emit(kind: Kind, notice: Notice): void
  /** Adds a listener. Returns a function that removes it. */
  on(kind: Kind, listener: Listener): () => void
}

export function createNotices(): Notices {
  const all = new Set<readonly [Kind, Listener]>()
  const notices: Notices = {
    emit(kind, notice) {
      if (kind === 'dropped') notices.count?.(notice)
      const later = Promise.resolve(notice)
      // Listeners are looked up in the microtask, so a part that starts after an early call is notified too.
      later.then(() => {
        notices.seen?.push([kind, notice, now()])
        for (const [listened, listener] of all)
          if (listened === kind)
            // An error of the shop's listener must not become an unhandled rejection.
            later.then(listener).catch(() => {})
      })
    },
    on(kind, listener) {
      const entry = [kind, listener] as const
      all.add(entry)
      return () => void all.delete(entry)
    },
  }
  return notices
}

import type { TrackNotice } from './global.d.ts'

export type Notice = TrackNotice
export type Kind = 'accepted' | 'delivered' | 'held' | 'dropped'
type Listener = (notice: Notice) => void

export type Notices = {
  /** Calls the listeners, in a later microtask, so that none of them delays an event. */
  emit(kind: Kind, notice: Notice): void
  /** Adds a listener. Returns a function that removes it. */
  on(kind: Kind, listener: Listener): () => void
}

export function createNotices(): Notices {
  const all = new Set<readonly [Kind, Listener]>()
  return {
    emit(kind, notice) {
      const later = Promise.resolve(notice)
      // Listeners are looked up in the microtask, so a part that starts after an early call is notified too.
      later.then(() => {
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
}

import type { TrackNotice } from './global.d.ts'

export type Notice = TrackNotice
export type Kind = 'accepted' | 'delivered' | 'held' | 'dropped'
export type Listener = (notice: Notice) => void

/** Tells those who listen. Told in a task of its own, so that no listener delays or breaks an event. */
export type Notices = {
  tell(kind: Kind, notice: Notice): void
  /** Answers its own undo. */
  on(kind: Kind, listener: Listener): () => void
}

export function createNotices(): Notices {
  const all = new Set<readonly [Kind, Listener]>()
  return {
    tell(kind, notice) {
      const said = Promise.resolve(notice)
      // Who listens is looked at then: a part that starts after an early call hears of it.
      said.then(() => {
        for (const [told, listener] of all)
          if (told === kind)
            // A listener is the shop's: what it throws must not become a rejection of ours.
            said.then(listener).catch(() => {})
      })
    },
    on(kind, listener) {
      const entry = [kind, listener] as const
      all.add(entry)
      return () => void all.delete(entry)
    },
  }
}

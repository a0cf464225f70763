import type { DropReason } from '../contract/delivery.ts'
import type { ValidationException } from '../contract/errors.ts'
import type { TrackingOperation } from '../contract/events.ts'

/** What became of an event, or of something seen that did not become one. */
export type Notice = {
  /** The event's id; absent for what never became an event. */
  readonly id?: string
  /** The tracking key it went to. */
  readonly key?: string
  readonly operation?: TrackingOperation | string
  /** The payload as it was sent, or as it was given where it was dropped. */
  readonly payload?: unknown
  /** Why it was dropped. */
  readonly reason?: DropReason
  /** For reason `invalid`: every fault. */
  readonly error?: ValidationException
  /** A short code of what was wrong with something seen (see the README's list). */
  readonly code?: string
  /** Where it was seen: the element, or the push. */
  readonly where?: unknown
  /** For reason `refused`: the gateway's status and words. */
  readonly status?: number
  readonly message?: string | undefined
}

export type Kind = 'accepted' | 'delivered' | 'dropped'
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
      for (const [told, listener] of all)
        if (told === kind)
          // A listener is the shop's: what it throws must not become a rejection of ours.
          Promise.resolve(notice)
            .then(listener)
            .catch(() => {})
    },
    on(kind, listener) {
      const entry = [kind, listener] as const
      all.add(entry)
      return () => void all.delete(entry)
    },
  }
}

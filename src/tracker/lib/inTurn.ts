import { now } from './now.ts'
import type { Store } from './storage.ts'

/** What the turn is called: the lock, and the lease where there are no locks. */
const NAME = 'track.turn'
/** A lease is believed for so long, ms: a little longer than an attempt may take. */
const LEASE_MS = 40_000

/** The part of the Web Locks API that is used. */
export type Locks = {
  request(
    name: string,
    options: { ifAvailable: true },
    callback: (lock: unknown) => Promise<void>,
  ): Promise<unknown>
}

/**
 * One page of the origin at a time. Under a Web Lock, which a closed or crashed tab gives back by
 * itself; on pages served by http, where there is none, under a lease in storage.
 *
 * @returns `false` where another page has the turn: nothing was run.
 */
export const createInTurn =
  (locks: Locks | undefined, store: Store) =>
  async (run: () => Promise<unknown>): Promise<boolean> => {
    let ran = true
    if (locks)
      try {
        await locks.request(NAME, { ifAvailable: true }, async (lock) => {
          ran = !!lock
          if (lock) await run()
        })
        return ran
      } catch {
        // Refused where storage is blocked: this page has only its own memory, and no rival.
      }
    const leaseMs = Number(store.get(NAME)) - now()
    if (leaseMs > 0 && leaseMs <= LEASE_MS) return false
    store.set(NAME, `${now() + LEASE_MS}`)
    await run()
    store.remove(NAME)
    return true
  }

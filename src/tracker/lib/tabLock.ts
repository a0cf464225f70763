import { now } from './now.ts'
import type { Store } from './storage.ts'

/** Name of the Web Lock, and in localStorage of the lease that replaces it. */
const NAME = 'track.turn'
/** A lease is valid for this time, a little longer than a request may take. */
const LEASE_MS = 40_000
/** A lock manager that has not answered after this time is considered broken. */
const SILENCE_MS = 15_000
/**
 * A page that was refused the lock this long ago runs without it. It asks again 4 to 8 s after each refusal, so it
 * waits for at most 15 s.
 */
const PATIENCE_MS = 7000

/** The used part of the Web Locks API (https://www.w3.org/TR/web-locks/). */
export type Locks = {
  request(
    name: string,
    options: { ifAvailable: true },
    callback: (lock: unknown) => unknown,
  ): Promise<unknown>
}

/**
 * Lets one page of the origin run at a time: with a Web Lock, which the browser releases if the tab is closed or
 * crashes, or on pages served by http, which have none, with a lease in localStorage.
 *
 * A frozen tab may hold the lock for long, and a broken browser may never answer. So a page runs without the lock after
 * 15 s at most. Then two pages may send the same event, which the gateway stores once.
 *
 * @param locks Called only when the lock is needed, because the first access takes time.
 * @returns Runs a function. Resolves when it has ended, or with `false` at once if another page holds the lock.
 */
export const createTabLock = (locks: () => Locks | undefined, store: Store) => {
  /** When the lock was refused for the first time since it was last granted, by performance.now. */
  let refused: number | undefined

  return (run: () => Promise<unknown>) =>
    new Promise<boolean>((resolve) => {
      let running: Promise<unknown> | undefined
      const end = () => resolve(true)
      /** Runs if the lock was granted, or refused for too long. The lock is held until the returned promise settles. */
      const begin = (isGranted: unknown) => {
        clearTimeout(timer)
        const time = performance.now()
        refused ??= time
        if (isGranted || time - refused >= PATIENCE_MS) running ??= run()
        if (running) refused = undefined
        else resolve(false)
        return running
      }
      const timer = setTimeout(() => begin(true)?.then(end), SILENCE_MS)
      const lease = async () => {
        const leaseMs = Number(store.get(NAME)) - now()
        const isFree = !(leaseMs > 0 && leaseMs <= LEASE_MS)
        if (isFree) store.set(NAME, `${now() + LEASE_MS}`)
        await begin(isFree)
        if (isFree) store.remove(NAME)
        end()
      }
      // Rejects if there is no lock manager, or if storage is blocked.
      const lock = async () => (locks() as Locks).request(NAME, { ifAvailable: true }, begin)
      lock().then(end, lease)
    })
}

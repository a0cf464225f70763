import { now } from './now.ts'
import type { Store } from './storage.ts'

/** What the turn is called: the lock, and the lease where there are no locks. */
const NAME = 'track.turn'
/** A lease is believed for so long, ms: a little longer than an attempt may take. */
const LEASE_MS = 40_000
/** A lock manager that does not answer for so long never will, ms. */
const SILENCE_MS = 15_000
/**
 * A page that was refused a turn so long ago goes on without one, ms. It asks again 4 to 8 s after each
 * refusal, so it waits for at most 15 s.
 */
const PATIENCE_MS = 7000

/** The part of the Web Locks API that is used. */
export type Locks = {
  request(
    name: string,
    options: { ifAvailable: true },
    callback: (lock: unknown) => unknown,
  ): Promise<unknown>
}

/**
 * One page of the origin at a time. Under a Web Lock, which a closed or crashed tab gives back by
 * itself; on pages served by http, where there is none, under a lease in storage.
 *
 * A frozen tab may keep a turn, and a broken browser may never answer. After 15 s at most a page goes on
 * without a turn: two pages at once send some events twice, and the gateway stores them once.
 *
 * @returns `false` where another page has the turn: nothing was run.
 */
export const createTabLock = (locks: Locks | undefined, store: Store) => {
  /** When a turn was first refused since the last one was given, by performance.now. */
  let refused: number | undefined

  return (run: () => Promise<unknown>) =>
    new Promise<boolean>((resolve) => {
      let running: Promise<unknown> | undefined
      const end = () => resolve(true)
      /** Runs where the turn is ours. Answers the run, which ends the turn. */
      const begin = (isMine: unknown) => {
        clearTimeout(timer)
        const time = performance.now()
        refused ??= time
        if (isMine || time - refused >= PATIENCE_MS) running ??= run()
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
      // Without a lock manager it throws, and where storage is blocked it rejects.
      const lock = async () => (locks as Locks).request(NAME, { ifAvailable: true }, begin)
      lock().then(end, lease)
    })
}

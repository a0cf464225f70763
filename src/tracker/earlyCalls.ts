import { UUID } from '../contract/uuid.ts'

/**
 * A call made before the script was there, as the snippet's stub records it: the helper's name, its
 * arguments, the page's address, the moment (ms since 1970), an id of its own, and what settles the
 * promise that the caller holds.
 */
type EarlyCall = [
  name: string,
  given: unknown[],
  url: string,
  at: number,
  id: string,
  settle?: (outcome: unknown) => void,
]

/**
 * Replays, in order, the calls that stubs kept in storage when a page was left before its script
 * arrived, then those of this page's stub. Each keeps its own id, so that two tabs which replay the
 * same call make one event.
 *
 * @param kept What storage held of earlier pages' calls, JSON each, or anybody's junk.
 * @param stub What stood at `window.track`: the snippet's stub, an element, or nothing.
 * @param helpers What stands there now.
 */
export function replayEarlyCalls(kept: readonly string[], stub: unknown, helpers: object): void {
  const { q } = (stub ?? {}) as { q?: unknown }
  for (const call of [...kept, ...(Array.isArray(q) ? q.splice(0) : [])])
    try {
      const [name, [first, second], url, at, id, settle]: EarlyCall =
        typeof call === 'string' ? JSON.parse(call) : call
      const helper = (helpers as { [name: string]: (...all: unknown[]) => unknown })[name]
      const outcome = UUID.test(id) && helper?.(first, second ?? { url, at, id })
      settle?.(outcome)
    } catch {
      // Junk of somebody else's under our name.
    }
}

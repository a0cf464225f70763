import { UUID } from '../contract/uuid.ts'
import { landingUrl } from './lib/landingUrl.ts'
import { schemas } from './schemas.ts'
import type { Sighting } from './track.ts'

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
 * The calls that stubs kept in storage when a page was left before its script arrived, then those of
 * this page's stub, in order. Each keeps its own id, so that two tabs which replay the same call make
 * one event. Calls of this page carry the address that the visitor came by, since the page may have cleaned
 * the campaign out of its address before they were made.
 *
 * @param kept What storage held of earlier pages' calls, JSON each, or anybody's junk.
 * @param stub What stood at `window.track`: the snippet's stub, an element, or nothing.
 * @param helpers What stands there now.
 * @returns Replays them: for every key on the page, or for one that joins later.
 */
export function takeEarlyCalls(
  kept: readonly string[],
  stub: unknown,
  helpers: object,
): (only?: Sighting['only']) => void {
  const { q } = (stub ?? {}) as { q?: unknown }
  const early: readonly unknown[] = Array.isArray(q) ? q.splice(0) : []
  const replay = (
    calls: readonly unknown[],
    only?: Sighting['only'],
    addressOf: (url: string) => string = String,
  ) => {
    for (const call of calls)
      try {
        const [name, [first, second], url, at, id, settle]: EarlyCall =
          typeof call === 'string' ? JSON.parse(call) : call
        const helper = (helpers as { [name: string]: (...all: unknown[]) => unknown })[name]
        // What is no event (`on` and its listener) is for the page, not for each key.
        const outcome =
          UUID.test(id) &&
          (name in schemas
            ? helper?.(first, { url: addressOf(url), at, id, only })
            : only || helper?.(first, second))
        settle?.(outcome)
      } catch {
        // Junk of somebody else's under our name.
      }
  }
  // A page may go on calling by a reference to the stub that it has kept.
  if (Array.isArray(q)) q.push = (...later) => replay(later) as never
  return (only) => {
    replay(kept, only)
    replay(early, only, landingUrl)
  }
}

import { UUID } from '../contract/uuid.ts'
import { landingUrl } from './lib/landingUrl.ts'
import { schemas } from './schemas.ts'
import type { TrackOptions } from './track.ts'

/**
 * A call made before the script has loaded, as the stub of the snippet records it: the helper's name, its arguments,
 * the page's URL, the time (ms since 1970), an event id, and the function that resolves the promise of the caller.
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
 * Takes over the calls that were made before the script has loaded: those of earlier pages, which their stubs have
 * stored, then those of this page. A call has its own event id, so if two tabs replay it, it is one event. Calls of
 * this page get the URL that the visitor came by, because the page may have removed the campaign from its address.
 *
 * @param stored Stored values, expected to be calls as JSON. Others are ignored.
 * @param stub The previous value of `window.track`: the stub, an element, or nothing.
 * @param helpers Its new value.
 * @returns Replays the calls: for every key on the page, or only for a key that joins later.
 */
export function takeEarlyCalls(
  stored: readonly string[],
  stub: unknown,
  helpers: object,
): (only?: TrackOptions['only']) => void {
  const { q } = (stub ?? {}) as { q?: unknown }
  const early: readonly unknown[] = Array.isArray(q) ? q.splice(0) : []
  const replay = (
    calls: readonly unknown[],
    only?: TrackOptions['only'],
    toUrl: (url: string) => string = String,
  ) => {
    for (const call of calls)
      try {
        const [name, [first, second], url, at, id, settle]: EarlyCall =
          typeof call === 'string' ? JSON.parse(call) : call
        const helper = (helpers as { [name: string]: (...all: unknown[]) => unknown })[name]
        // Calls such as `on` are replayed once, not for each key.
        const outcome =
          UUID.test(id) &&
          (name in schemas
            ? helper?.(first, { url: toUrl(url), at, id, only })
            : only || helper?.(first, second))
        settle?.(outcome)
      } catch {
        // Not a call.
      }
  }
  // The page may still have a reference to the stub.
  if (Array.isArray(q)) q.push = (...later) => replay(later) as never
  return (only) => {
    replay(stored, only)
    replay(early, only, landingUrl)
  }
}

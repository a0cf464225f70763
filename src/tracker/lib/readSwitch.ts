import { landingUrl } from './landingUrl.ts'
import type { Store } from './storage.ts'

/**
 * A switch that the address sets for this page and later ones: `?track_debug=1` is on, `0` is off. The address
 * is the one that the visitor came by, since the page may have cleaned it.
 *
 * @param name Of what is kept, `track.debug`. The parameter has the same name; the pattern lets any character
 * stand for the dot.
 * @param store Where it is kept.
 * @returns 1 if it is on, else 0 or NaN.
 */
export function readSwitch(name: string, store: Store): number {
  const [, value = store.get(name)] = landingUrl(location.href).split(RegExp(`[?&]${name}=(\\d)`))
  if (value) store.set(name, value)
  return Number(value)
}

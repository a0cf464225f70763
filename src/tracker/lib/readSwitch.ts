import { landingUrl } from './landingUrl.ts'
import type { Store } from './storage.ts'

/**
 * A switch that a parameter of the landing URL sets for this page and later ones: `?track_debug=1` is on, `0` is off.
 *
 * @param name Storage name, `track.debug`. In the URL any character may replace the dot.
 * @param store Where the switch is stored.
 * @returns 1 if it is on, else 0 or NaN.
 */
export function readSwitch(name: string, store: Store): number {
  const [, value = store.get(name)] = landingUrl(location.href).split(RegExp(`[?&]${name}=(\\d)`))
  if (value) store.set(name, value)
  return Number(value)
}

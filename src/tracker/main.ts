import { GLOBAL } from '../contract/settings.ts'
import { type Config, readConfig } from './config.ts'
import { deviceCookie } from './deviceCookie.ts'
import type { TrackApi } from './global.d.ts'
import { guard } from './lib/guard.ts'
import type { Parts } from './parts.ts'
import { type Join, runTracker } from './tracker.ts'

declare global {
  interface Performance {
    /**
     * In `performance`, because elements with this name or id would shadow a property of `document` or `window`, and the
     * page may overwrite the helpers.
     */
    shoptrail?: Join
  }
}
/** A global variable of the page, or the helpers. */
type Global = TrackApi & { readonly q?: unknown }
declare const window: Window & { [name: string]: Global | undefined }
/** Whether the build makes a script with deviceCookie.ts. A constant, so that the others contain nothing of it. */
declare const __deviceCookie__: boolean
/** As the code of the page resolves this name. */
declare const track: unknown

function start(config: Config, parts: Parts): Join {
  let name = config.global ?? GLOBAL
  const stub = window[name]
  if (
    // A `const` or `class` of a page's script is not a property of window, and shadows one.
    (!config.global && guard(() => track) !== stub) ||
    // An element with this id is not an own property of window. The stub is an object with the property `q`. A function
    // of the page may have such a property too.
    (stub &&
      // biome-ignore lint/suspicious/noPrototypeBuiltins: browsers of 2020 have no Object.hasOwn.
      (window as Window).hasOwnProperty(name) &&
      !(stub.q && typeof stub === 'object'))
  ) {
    name = 'shoptrail'
  }
  const keep = __deviceCookie__ ? deviceCookie : undefined
  return runTracker(config, parts, window, name, () => localStorage, keep)
}

/**
 * Starts the script, or adds its key to the copy that already runs on this page. The build writes the call, with a set
 * of parts.
 *
 * @param served The key's settings, as the gateway wrote them.
 * @param parts The parts of this script, in the order in which they start.
 */
export function main(served: Config, parts: Parts): void {
  try {
    const config = readConfig(served, document)
    performance.shoptrail ??= start(config, parts)
    performance.shoptrail(config, parts)
  } catch {
    // The script can not start on this page. That must not cause an error.
  }
}

import { readSwitch } from './lib/readSwitch.ts'
import type { Store } from './lib/storage.ts'

/** In sessionStorage, so that debug mode lasts as long as the tab. */
const NAME = 'track.debug'

/**
 * Debug mode: the inspector, a script of its own, says in the console what was seen on the page and not
 * sent, and why. Switched on by `?track_debug=1` once a tab, or by `track.debug(true)`.
 *
 * @param base The gateway's address, which serves the inspector.
 * @returns Switches it; off takes effect on the next page.
 */
export function createDebug(base: string, session: Store): (isOn: boolean) => void {
  const debug = (isOn: boolean) => {
    if (isOn) {
      session.set(NAME, '1')
      // A page whose policy forbids the inspector goes on without it; the browser says so.
      import(`${base}/t/i.js`).catch(() => {})
    } else session.remove(NAME)
  }
  if (readSwitch(NAME, session)) debug(true)
  return debug
}

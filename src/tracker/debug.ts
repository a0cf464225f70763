import type { Store } from './lib/storage.ts'

/** Name in sessionStorage: debug mode lasts as long as the tab. */
export const DEBUG = 'track.debug'

/**
 * Starts debug mode if `?track_debug=1` is, or was, in the address of a page of this tab. Debug mode loads the
 * inspector, a script that lists in the console what the page reported but was not sent.
 *
 * @param base The gateway's address.
 * @returns `track.debug`, which switches debug mode. Off takes effect on the next page.
 */
export function createDebug(base: string, session: Store): (isOn: boolean) => void {
  const debug = (isOn: boolean) => {
    if (isOn) {
      session.set(DEBUG, '1')
      // If the page's Content-Security-Policy forbids the inspector, the browser reports it.
      import(`${base}/t/i.js`).catch(() => {})
    } else session.remove(DEBUG)
  }
  return debug
}

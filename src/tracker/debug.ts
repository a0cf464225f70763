import type { Config } from './config.ts'
import type { TrackApi } from './global.d.ts'
import type { Store } from './lib/storage.ts'
import type { Notices, Seen } from './notices.ts'
import type { Outbox } from './outbox.ts'
import type { Parts } from './parts.ts'

/** Name in sessionStorage: debug mode lasts as long as the tab. */
export const DEBUG = 'track.debug'

/** What the inspector gets of the script. */
export type InspectorState = {
  /** `window.track`, also if the page has overwritten it. */
  readonly helpers: TrackApi
  /** The configuration of each key on this page; one may join later. */
  readonly configs: ReadonlyMap<string, Config>
  readonly outbox: Outbox
  /**
   * Every notice since debug mode began, oldest first, with those of early calls and page views. If `start` subscribes
   * with `helpers.on` before its first `await`, it neither misses nor repeats one.
   */
  readonly seen: readonly Seen[]
}

/**
 * Starts debug mode if `?track_debug=1` is, or was, in the address of a page of this tab. Debug mode loads the
 * inspector, a module with a part that shows what the script does on this page.
 *
 * @param base The gateway's address.
 * @param startParts Called with the module when it has loaded. A part that is started already is not started again.
 * @returns `track.debug`, which switches debug mode. Off takes effect on the next page.
 */
export const createDebug =
  (base: string, session: Store, notices: Notices, startParts: (parts: Parts) => void) =>
  (isOn: boolean): void => {
    if (isOn) {
      session.set(DEBUG, '1')
      notices.seen ??= []
      // The comments are for bundlers of pages that use createTracker.
      import(/* @vite-ignore */ /* webpackIgnore: true */ `${base}/t/i.js`)
        .then(startParts)
        .catch(() => {
          // If the page's Content-Security-Policy forbids the inspector, the browser reports it.
          notices.seen = undefined
        })
    } else session.remove(DEBUG)
  }

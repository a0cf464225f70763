import { PAGE_VIEW_EVENT } from '../../contract/settings.ts'
import type { Config } from '../config.ts'
import { guard } from '../lib/guard.ts'
import { landingUrl } from '../lib/landingUrl.ts'
import { listen } from '../lib/listen.ts'
import { now } from '../lib/now.ts'
import type { Part } from '../parts.ts'
import type { TrackOptions } from '../track.ts'

/** A page is reported this long after its address was set, so that the page can still replace it. */
const SETTLE_MS = 200

/**
 * Reports each page that is shown as a viewHomepage with the event name of page views: pages that are loaded, shown by a
 * router, or restored from the back/forward cache. A page in a background tab is reported when it is loaded, a
 * prerendered page when it is shown (`whenShown` in tracker.ts).
 *
 * A page is identified by its path, and with the settings pageViewQuery and pageViewHash also by its query and fragment.
 * `#/` counts as no fragment, because routers add it on load. If an address is replaced shortly after it was set, only
 * the last one is reported. If it is pushed instead, the history has two pages and both are reported.
 *
 * The event id is made when the page is shown, so that the view sorts before calls made in the meantime.
 *
 * @returns Reports the current page for a key that has not reported it.
 */
export const pageViews: Part = (track, configs, _notices, _readers, _reports, newId) => {
  /** The page that each key has reported last. */
  const last = new Map<Config, string>()
  /** The page that is not reported yet, because its address may be replaced. */
  let pending: (TrackOptions & { readonly url: string }) | undefined
  let timer = 0
  /** Makes the URL of a key's first view. */
  let toUrl = landingUrl

  const settle = () => {
    const { url, ...options } = pending ?? {}
    pending = undefined
    if (!url) return
    for (const config of configs.values()) {
      const { pageViews, pageViewEvent, eventPrefix = '' } = config
      const page = url
        .replace(config.pageViewQuery ? '' : /\?[^#]*/g, '')
        .replace(config.pageViewHash ? /#!?\/?$/ : /#.*/, '')
      const before = last.get(config)
      last.set(config, page)
      if (pageViews !== 'off' && page !== before && (pageViews !== 'load' || !before))
        track(
          'viewHomepage',
          { event: eventPrefix + (pageViewEvent ?? PAGE_VIEW_EVENT) },
          {
            ...options,
            from: 'pageView',
            url: before ? url : toUrl(url),
            only: (other) => other === config,
          },
        )
    }
  }

  const change = (isReplaced: boolean) => {
    if (!isReplaced) settle()
    const at = now()
    pending = { at, id: newId(at), ...pending, url: location.href }
    clearTimeout(timer)
    timer = setTimeout(settle, SETTLE_MS)
  }

  listen(self, 'pagehide', settle)
  listen(self, 'pageshow', (event) => {
    if (!(event as PageTransitionEvent).persisted) return
    change(false)
    last.clear()
    // Going back is not a new visit from the campaign.
    toUrl = String
  })
  // The page may have frozen `history`.
  guard(() => watchAddress(change))
  return () => change(true)
}

/**
 * Calls after each change of the address without a load. Uses the Navigation API. If the browser has none, or the page
 * has something else of that name, wraps `history`; others may wrap it before or after.
 *
 * @param changed Called with whether the entry in the history was replaced.
 */
function watchAddress(changed: (isReplaced: boolean) => void): void {
  const { navigation } = self as { navigation?: EventTarget & { currentEntry?: unknown } }
  if (navigation?.currentEntry)
    listen(navigation, 'currententrychange', (event) =>
      changed((event as Event & { navigationType?: string }).navigationType === 'replace'),
    )
  else {
    listen(self, 'popstate hashchange', () => changed(false))
    for (const name of ['pushState', 'replaceState'] as const) {
      const wrapped = history[name]
      history[name] = function (...all) {
        const answer = wrapped.apply(this, all)
        changed(name !== 'pushState')
        return answer
      }
    }
  }
}

import { PAGE_VIEW_EVENT } from '../../contract/settings.ts'
import type { Config } from '../config.ts'
import { guard } from '../lib/guard.ts'
import { landingUrl } from '../lib/landingUrl.ts'
import { listen } from '../lib/listen.ts'
import { now } from '../lib/now.ts'
import type { Part } from '../parts.ts'
import type { Sighting } from '../track.ts'

/** A page is counted so long after its address came, ms: time for a redirect. */
const SETTLE_MS = 200

/**
 * Counts a viewHomepage, under the key's event name for page views, once for each page that is shown:
 * loaded, shown by a router, or restored from the back/forward cache. A tab opened in the background
 * counts when it is loaded, a prerendered page when it is shown (`whenShown` of main.ts).
 *
 * A page is its path, and where the key says so also its query or its fragment; a fragment router's
 * home, `#/`, is the page without a fragment, since the router writes it there on load. Of a redirect, also one
 * of the page that was loaded, only the last address counts: the one that replaced the others shortly after
 * they came. A redirect that pushes leaves two pages in the history, and both count.
 *
 * The id is made when the page comes, so that the view sorts before the calls made while its address settles.
 *
 * @returns Counts the page for a key that has not counted it.
 */
export const pageViews: Part = (track, configs, _notices, _readers, _reports, newId) => {
  /** The page each key counted last; none before its first. */
  const last = new Map<Config, string>()
  /** The page whose address may still be replaced, or none. */
  let seen: (Sighting & { readonly url: string }) | undefined
  let timer = 0
  /** The address that a key's first view carries. */
  let addressOf = landingUrl

  const settle = () => {
    const { url, ...sighting } = seen ?? {}
    seen = undefined
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
            ...sighting,
            from: 'pageView',
            url: before ? url : addressOf(url),
            only: (other) => other === config,
          },
        )
    }
  }

  const change = (isReplaced: boolean) => {
    if (!isReplaced) settle()
    const at = now()
    seen = { at, id: newId(at), ...seen, url: location.href }
    clearTimeout(timer)
    timer = setTimeout(settle, SETTLE_MS)
  }

  listen(window, 'pagehide', settle)
  listen(window, 'pageshow', (event) => {
    if (!(event as PageTransitionEvent).persisted) return
    change(false)
    last.clear()
    // A return is no new visit of the campaign.
    addressOf = String
  })
  // The page may have frozen its history.
  guard(() => watchAddress(change))
  return () => change(true)
}

/**
 * Calls after each change of the address without a load. By the Navigation API, which nobody has to
 * wrap; where there is none (or something of the page's own, an element even, under its name) history
 * is wrapped, in a way that others may wrap it before and after.
 *
 * @param changed Is told whether the entry in the history was replaced.
 */
function watchAddress(changed: (isReplaced: boolean) => void): void {
  const { navigation } = window as { navigation?: EventTarget & { currentEntry?: unknown } }
  if (navigation?.currentEntry)
    listen(navigation, 'currententrychange', (event) =>
      changed((event as Event & { navigationType?: string }).navigationType === 'replace'),
    )
  else {
    listen(window, 'popstate hashchange', () => changed(false))
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

import { guard } from './guard.ts'

/**
 * Identifies the page of a URL: without query, without a trailing slash, without differences in case and encoding, and
 * without the fragment, unless a router uses it (`#/p/1`).
 */
const pageOf = (url: string) =>
  unescape(url.replace(/\/?(\?[^#]*|#(?!!?\/.).*|$)/g, '')).toLowerCase()

/**
 * The URL that the browser loaded, if `url` is the same page. Shops and consent tools remove `utm_…` from the address
 * before the script has loaded.
 *
 * @param url A URL of the current document.
 */
export const landingUrl = (url: string): string =>
  guard(
    () =>
      (
        performance
          .getEntriesByType('navigation')
          .find(({ name }) => pageOf(name) === pageOf(url)) as PerformanceEntry
      ).name,
    url,
  )

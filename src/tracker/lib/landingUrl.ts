import { guard } from './guard.ts'

/**
 * What an address says of the page: without its query, its fragment (unless a router keeps its page there,
 * `#/p/1`), a slash at its end, and differences in case and encoding.
 */
const pageOf = (url: string) =>
  unescape(url.replace(/\/?(\?[^#]*|#(?!!?\/.).*|$)/g, '')).toLowerCase()

/**
 * The address that the visitor came by, where the page has changed no more of it than its query, its
 * fragment or its spelling: shops and consent tools clean `utm_…` away before the script is there.
 *
 * @param url An address of this page.
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

import type { TrackApi } from '../global.d.ts'
import { readSettings, tagOf } from './readSettings.ts'

const isHelpers = (there: unknown): there is TrackApi =>
  typeof (there as Partial<TrackApi> | null | undefined)?.version === 'string' &&
  typeof (there as Partial<TrackApi>).on === 'function'

/**
 * The helpers of the script on this page: the global variable that the tag or the key's settings name, else `track` or
 * `shoptrail`. Undefined if the page has overwritten it.
 *
 * @param print Receives a text if the page has a `track` of its own.
 * @param get `fetch`, for the key's settings. Used only if the helpers are not found otherwise.
 */
export async function findHelpers(
  page: Window,
  print: (text: string) => void,
  get: typeof fetch = fetch,
): Promise<TrackApi | undefined> {
  const at = (name = 'track') => {
    const there = (page as unknown as { readonly [name: string]: unknown })[name]
    return isHelpers(there) ? there : undefined
  }
  const wanted = tagOf(page)?.dataset.global
  const there = at(wanted)
  if (there) return there
  const other = at('shoptrail')
  if (other) {
    print(
      `track: the page has a \`${wanted ?? 'track'}\` of its own, which stays as it is: the helpers are at \`shoptrail\`\n  fix: Call \`shoptrail.addToCart(…)\`, or give them another name: data-global="…" on the script's tag.`,
    )
    return other
  }
  const chosen = wanted ? undefined : at((await readSettings(page, get))?.global)
  if (!chosen)
    print(
      'track: the page has overwritten the helpers. Attributes, page views and delivery work, but debug mode can not list what is not sent\n  fix: Give the helpers another name: data-global="…" on the script\'s tag.',
    )
  return chosen
}

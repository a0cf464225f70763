import { readSettings, tagOf } from './readSettings.ts'

/** How often the page's array is looked at, ms. */
const LOOK_MS = 1000

/** Names that mean a purchase's way and nothing else: `search` or `page_view` may be anybody's. */
const NAMES =
  /^(view_item|add_to_cart|remove_from_cart|add_to_wishlist|remove_from_wishlist|begin_checkout)$/

/**
 * Says once that GA4 or Universal Analytics pushes are seen while no key on the page reads them. The
 * settings are asked for only where there is such a push.
 *
 * @param page Where the array is.
 * @param say Told one text, at most once.
 * @param get The browser's `fetch`.
 * @returns Stops it.
 */
export function watchGa4(
  page: Window,
  say: (text: string) => void,
  get: typeof fetch = fetch,
): () => void {
  const { ga4: ownGa4, dataLayerName: ownName } = tagOf(page)?.dataset ?? {}
  const look = async () => {
    const layer = (page as unknown as { [name: string]: unknown })[ownName ?? 'dataLayer']
    const name = Array.isArray(layer) ? layer.map(nameOf).find(Boolean) : undefined
    if (!name) return
    stop()
    const config =
      ownGa4 === undefined ? await readSettings(page, get) : { ga4: ownGa4 !== 'false' }
    if (config && !config.ga4)
      say(
        `track: a GA4 push was seen (${name}); ga4 is off for this key\n  why: GA4 and Universal Analytics pushes are read where the key's setting ga4 says so.\n  fix: npx shoptrail customer set ID --config '{"ga4":true}', unless the shop reports its events in another way.`,
      )
  }
  const timer = setInterval(look, LOOK_MS)
  const stop = () => clearInterval(timer)
  look()
  return stop
}

/** What a push of GA4 or Universal Analytics tells of the way to a purchase; none of any other push. */
function nameOf(push: unknown): string | undefined {
  if (!push || typeof push !== 'object') return
  if (Object.prototype.toString.call(push) === '[object Arguments]') {
    const [command, name] = push as unknown as unknown[]
    return command === 'event' && NAMES.test(`${name}`) ? `${name}` : undefined
  }
  const { event, ecommerce } = push as { readonly event?: unknown; readonly ecommerce?: object }
  if (!ecommerce) return
  if (typeof event === 'string' && NAMES.test(event)) return event
  return ['detail', 'add', 'remove', 'checkout'].find((key) => Object.keys(ecommerce).includes(key))
}

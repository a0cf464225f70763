import type { InspectorState } from '../debug.ts'
import { guard } from '../lib/guard.ts'

/** The time between two looks into the page's array. */
const LOOK_MS = 1000

/** Names that only GA4 uses. Others, such as `search`, may be from something else. */
const NAMES =
  /^(view_item|add_to_cart|remove_from_cart|add_to_wishlist|remove_from_wishlist|begin_checkout)$/

/**
 * Reports once that the page pushes GA4 or Universal Analytics events while no key reads them.
 *
 * @param print Receives the text.
 * @returns Stops watching.
 */
export function watchGa4(
  page: Window,
  configs: InspectorState['configs'],
  print: (text: string) => void,
): () => void {
  const look = () => {
    const all = [...configs.values()]
    if (all.some(({ ga4 }) => ga4)) return
    const layer = (page as unknown as { [name: string]: unknown })[
      all[0]?.dataLayerName ?? 'dataLayer'
    ]
    // What the page has pushed may have getters that throw.
    const name = Array.isArray(layer)
      ? layer.map((push) => guard(() => nameOf(push))).find(Boolean)
      : undefined
    if (!name) return
    stop()
    print(
      `track: a GA4 push was seen (${name}); ga4 is off for this key\n  why: GA4 and Universal Analytics pushes are read only if the key's setting ga4 is on.\n  fix: npx shoptrail customer set ID --config '{"ga4":true}', unless the shop reports its events in another way.`,
    )
  }
  const timer = setInterval(look, LOOK_MS)
  const stop = () => clearInterval(timer)
  look()
  return stop
}

/** The event name of a GA4 push, or the key of Universal Analytics. Undefined for other pushes. */
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

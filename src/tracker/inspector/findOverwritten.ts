import { GLOBAL } from '../../contract/settings.ts'
import type { InspectorState } from '../debug.ts'

/**
 * Says if the helpers are not where a page expects them: it has a variable of that name, or has overwritten them.
 *
 * @returns Undefined if they are there.
 */
export function findOverwritten(
  page: object,
  { helpers, configs }: Pick<InspectorState, 'helpers' | 'configs'>,
): string | undefined {
  const at = (name: string) => (page as { readonly [name: string]: unknown })[name]
  const [first] = configs.values()
  const wanted = first?.global || GLOBAL
  if (at(wanted) === helpers) return undefined
  if (at('shoptrail') === helpers)
    return `track: the page has a \`${wanted}\` of its own, which stays as it is: the helpers are at \`shoptrail\`\n  fix: Call \`shoptrail.addToCart(…)\`, or give them another name: data-global="…" on the script's tag.`
  // A tracker that the page has bundled makes no variable.
  if (at(wanted) === undefined) return undefined
  return 'track: the page has overwritten the helpers, or its own code has made them. Attributes, page views and delivery work\n  fix: If the page calls them, give them another name: data-global="…" on the script\'s tag.'
}

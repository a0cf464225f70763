import { guard } from './guard.ts'
import { listen } from './listen.ts'

/**
 * Calls a function at once or, on a prerendered page, when the page is shown. A page that is never shown stores and sends
 * nothing (https://wicg.github.io/nav-speculation/prerendering.html).
 */
export function whenShown(call: () => void): void {
  if (guard(() => (document as Document & { prerendering?: boolean }).prerendering))
    listen(document, 'prerenderingchange', call)
  else call()
}

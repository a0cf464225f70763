import { listen } from './listen.ts'

/**
 * Calls at once, or when a prerendered page is shown (`prerenderingchange`), in the order of asking.
 * A page that is never shown never calls, so it stores and sends nothing.
 */
export function whenShown(call: () => void): void {
  if ((document as Document & { prerendering?: boolean }).prerendering)
    listen(document, 'prerenderingchange', call)
  else call()
}

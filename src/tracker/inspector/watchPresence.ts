import { PRESENT } from '../lib/trackedElements.ts'

/**
 * Tries to load the script for `load` and `visible` elements when the page has such an element. The page's policy or a
 * proxy may block it.
 *
 * @param base The gateway's address.
 * @param onBlocked Called with the first such element, if the script can not be loaded.
 * @param load `import`.
 */
export function watchPresence(
  page: Window,
  base: string,
  onBlocked: (where: HTMLElement) => void,
  load: (address: string) => Promise<unknown>,
): void {
  const look = () => {
    const where = page.document.querySelector<HTMLElement>(PRESENT)
    if (!where) return
    changes.disconnect()
    load(`${base}/t/p.js`).catch(() => onBlocked(where))
  }
  const changes = new MutationObserver(look)
  changes.observe(page.document, {
    childList: true,
    subtree: true,
    attributeFilter: ['data-track-on'],
  })
  look()
}

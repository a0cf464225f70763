import { PRESENT } from '../lib/trackedElements.ts'
import { tagOf } from './readSettings.ts'

/**
 * Tries, at the first element that reports by being there, to load what reads these, and tells where that can
 * not be loaded: the page's policy or a proxy may know the script's own address only.
 *
 * @param page Where the script's tag is; where there is none nothing is tried.
 * @param tell Told of the element.
 */
export function watchPresence(
  page: Window,
  tell: (where: HTMLElement) => void,
  load: (address: string) => Promise<unknown>,
): void {
  const base = tagOf(page)?.src.match(/(.*)\/t\/j\//)?.[1]
  const look = () => {
    const where = page.document.querySelector<HTMLElement>(PRESENT)
    if (!base || !where) return
    changes.disconnect()
    load(`${base}/t/p.js`).catch(() => tell(where))
  }
  const changes = new MutationObserver(look)
  changes.observe(page.document, {
    childList: true,
    subtree: true,
    attributeFilter: ['data-track-on'],
  })
  look()
}

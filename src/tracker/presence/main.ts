import type { Config } from '../config.ts'
import { guard } from '../lib/guard.ts'
import { listen } from '../lib/listen.ts'
import { PRESENT } from '../lib/trackedElements.ts'
import { createWatch } from './createWatch.ts'

/** What has come to the page is looked for at most so often, ms. */
const LOOK_MS = 100

/** What makes an element say something else. */
const SAYING = ['', '-on', '-product-id', '-variation-id', '-variation-sku', '-search-term']

/** What the attributes part hands over. Scripts of an older version may: what is here is only added to. */
type Report = (where: HTMLElement, payload: object) => unknown
type ReadPayload = (element: HTMLElement) => object
type Configs = ReadonlyMap<string, Pick<Config, 'pageViewHash'>>

let isStarted = false

/**
 * Reports elements that say something by being there: `data-track-on="load"` as soon as they are, `visible`
 * once a visitor has seen one. Also those that come later or say something else later, but the same thing
 * once a page, however often a framework or a carousel makes it anew. Also inside open shadow roots: one
 * that is attached to an element of the page, without anything changing around it, is found at the page's
 * next change.
 *
 * A script of its own, which the attributes part imports once a page has such an element.
 *
 * @returns That it runs.
 */
export function start(report: Report, readPayload: ReadPayload, configs: Configs): true {
  if (isStarted) return true
  isStarted = true
  const told = new Set<string>()
  /** Elements that have been read and have not changed since: a page may change at every frame. */
  let read = new WeakSet<Element>()
  const watches = new WeakMap<Element, () => void>()
  const awaited = new Set<string>()
  let page = ''

  /** The page as page views count it: an anchor that the visitor jumps to is none of its own. */
  const turn = () => {
    let here = location.pathname
    for (const { pageViewHash } of configs.values()) if (pageViewHash) here += location.hash
    if (page === here) return
    page = here
    told.clear()
    read = new WeakSet()
  }

  const tell = (element: HTMLElement) =>
    guard(() => {
      turn()
      if (read.has(element)) return
      read.add(element)
      const payload = readPayload(element)
      const text = element.dataset.track + JSON.stringify(payload)
      if (!told.has(text)) report(element, payload)
      told.add(text)
    })

  const watch = (element: HTMLElement) => {
    const watching = watches.get(element) ?? createWatch(element, () => tell(element))
    watches.set(element, watching)
    watching()
  }

  const lookInto = (root: Document | ShadowRoot) => {
    changes.observe(root, {
      childList: true,
      subtree: true,
      attributeFilter: SAYING.map((name) => `data-track${name}`),
    })
    for (const element of root.querySelectorAll<HTMLElement>(PRESENT))
      if (!read.has(element)) (element.dataset.trackOn === 'load' ? tell : watch)(element)
    // An element that is defined later gets its shadow root then, which changes nothing around it.
    for (const { localName } of root.querySelectorAll(':not(:defined)')) {
      if (awaited.has(localName)) continue
      awaited.add(localName)
      customElements.whenDefined(localName).then(lookSoon, () => {})
    }
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT)
    while (walker.nextNode()) {
      const { shadowRoot } = walker.currentNode as Element
      if (shadowRoot) lookInto(shadowRoot)
    }
  }

  let timer = 0
  const look = () =>
    guard(() => {
      timer = 0
      turn()
      lookInto(document)
    })
  // Not at every change: a page that animates its elements changes them at every frame.
  const lookSoon = () => {
    if (!timer) timer = setTimeout(look, LOOK_MS)
  }
  const changes = new MutationObserver((records) => {
    if (records.some(({ type }) => type === 'attributes')) read = new WeakSet()
    lookSoon()
  })
  listen(window, 'pageshow', (event) => {
    if ((event as PageTransitionEvent).persisted) page = ''
    look()
  })
  look()
  return true
}

import type { Config } from '../config.ts'
import { guard } from '../lib/guard.ts'
import { listen } from '../lib/listen.ts'
import { PRESENT } from '../lib/trackedElements.ts'
import { createWatch } from './createWatch.ts'

/** The shortest time between two searches. */
const SEARCH_MS = 100

/** Attributes (`data-track…`) whose change may change what an element reports. */
const ATTRIBUTES = ['', '-on', '-product-id', '-variation-id', '-variation-sku', '-search-term']

// Parameters of `start`. The attributes part of an older version may call it, so they may only be extended.
type Report = (where: HTMLElement, payload: object) => unknown
type ReadPayload = (element: HTMLElement) => object
type Configs = ReadonlyMap<string, Pick<Config, 'pageViewHash'>>

let isStarted = false

/**
 * Reports elements with `data-track-on="load"` as soon as they are on the page, and those with `visible` once the visitor
 * has seen them, also if they are added or changed later, and inside open shadow roots. The same event is reported once a
 * page, however often a framework or a carousel creates its element again. A shadow root that is attached to an existing
 * element, without another change on the page, is found at the page's next change.
 *
 * This is a separate script. The attributes part imports it when a page has such an element.
 *
 * @returns `true`: it runs.
 */
export function start(report: Report, readPayload: ReadPayload, configs: Configs): true {
  if (isStarted) return true
  isStarted = true
  const reported = new Set<string>()
  /** Elements that were read and have not changed since. A page may change at every frame. */
  let read = new WeakSet<Element>()
  const watches = new WeakMap<Element, () => void>()
  /** Names of custom elements that are not defined yet. */
  const awaited = new Set<string>()
  let page = ''

  /** Clears `reported` if a router shows another page. With pageViewHash, another fragment is another page too. */
  const checkPage = () => {
    let here = location.pathname
    for (const { pageViewHash } of configs.values()) if (pageViewHash) here += location.hash
    if (page === here) return
    page = here
    reported.clear()
    read = new WeakSet()
  }

  const reportOnce = (element: HTMLElement) =>
    guard(() => {
      checkPage()
      if (read.has(element)) return
      read.add(element)
      const payload = readPayload(element)
      const text = element.dataset.track + JSON.stringify(payload)
      if (!reported.has(text)) report(element, payload)
      reported.add(text)
    })

  const watch = (element: HTMLElement) => {
    const watching = watches.get(element) ?? createWatch(element, () => reportOnce(element))
    watches.set(element, watching)
    watching()
  }

  const searchIn = (root: Document | ShadowRoot) => {
    changes.observe(root, {
      childList: true,
      subtree: true,
      attributeFilter: ATTRIBUTES.map((name) => `data-track${name}`),
    })
    for (const element of root.querySelectorAll<HTMLElement>(PRESENT))
      if (!read.has(element)) (element.dataset.trackOn === 'load' ? reportOnce : watch)(element)
    // A custom element that is defined later gets its shadow root then, which the observer does not see.
    for (const { localName } of root.querySelectorAll(':not(:defined)')) {
      if (awaited.has(localName)) continue
      awaited.add(localName)
      customElements.whenDefined(localName).then(searchSoon, () => {})
    }
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT)
    while (walker.nextNode()) {
      const { shadowRoot } = walker.currentNode as Element
      if (shadowRoot) searchIn(shadowRoot)
    }
  }

  let timer = 0
  const search = () =>
    guard(() => {
      timer = 0
      checkPage()
      searchIn(document)
    })
  // Not at every change: an animated page changes at every frame.
  const searchSoon = () => {
    if (!timer) timer = setTimeout(search, SEARCH_MS)
  }
  const changes = new MutationObserver((records) => {
    if (records.some(({ type }) => type === 'attributes')) read = new WeakSet()
    searchSoon()
  })
  listen(window, 'pageshow', (event) => {
    if ((event as PageTransitionEvent).persisted) page = ''
    search()
  })
  search()
  return true
}

import type { TrackingOperation } from '../../contract/payloads.ts'
import { ATTRIBUTES } from '../../contract/settings.ts'
import type { Config } from '../config.ts'
import { guard } from '../lib/guard.ts'
import { listen } from '../lib/listen.ts'
import {
  around,
  DISABLED,
  find,
  PRESENT,
  readAround,
  readField,
  triggerOf,
  whenUsed,
} from '../lib/trackedElements.ts'
import type { Part } from '../parts.ts'
import { schemas } from '../schemas.ts'

/** Form fields that are read without an attribute, if a form with `data-track` is submitted. */
const EMAIL_FIELD = '[type=email],[name=email]:not([type=hidden])'
const SEARCH_FIELD = '[type=search],[name=q]:not([type=hidden]),[name=s]:not([type=hidden])'

/** The shortest time between two searches of a changing page. A search takes 1 ms, on a slow phone 5. */
const SEARCH_MS = 300

/**
 * Reports elements with `data-track`, which names the helper. The fields of the payload are in the attributes
 * `data-track-…` of the element or of the nearest ancestor that has them. `data-track-on` is the time of the report.
 *
 * One action of the visitor is one event. If such elements are nested, only the innermost is reported. A consequence of
 * the action (a click made by a listener, the submit of a clicked button) is reported only with another helper. The DOM
 * events are not prevented, delayed or repeated.
 *
 * Disabled controls, and forms whose submit the page prevents, are not reported. The inspector finds these by itself.
 */
export const attributes: Part = (track, configs) => {
  const only = ({ attributes = ATTRIBUTES }: Config) => attributes
  /** The DOM event of the last reported action, and what was reported: the helper, and the element's path. */
  let last: Event | undefined
  let about: readonly unknown[] = []
  /** Reports of submits that the page may still prevent. */
  const submits: (() => void)[] = []

  const report = (where: HTMLElement, payload: object) =>
    track(helperOf(where), payload, { from: 'attribute', where, only })

  /** Whether the script for `load` and `visible` elements runs. */
  let isLoaded = false
  const settle = () => {
    for (const submit of submits.splice(0)) guard(submit)
  }

  whenUsed((element, event, path) => {
    const helper = helperOf(element)
    if (
      find(path, DISABLED) ||
      (about.includes(helper) && (last?.eventPhase || about.includes(event.submitter)))
    )
      return
    const payload = readPayload(element)
    if (event.type === 'submit' && readAround(around(element), 'prevented') !== 'count') {
      submits.push(() => event.defaultPrevented || report(element, payload))
      setTimeout(settle)
      return
    }
    const outcome = report(element, payload)
    // Or a duplicate: the action was reported in another way.
    if (outcome.ok || outcome.error === 'duplicate') {
      last = event
      about = [helper, ...path]
    }
  })
  listen(self, 'pagehide', () => {
    settle()
    // If the page is left before that script has loaded, `load` elements are reported here.
    if (!isLoaded)
      for (const element of document.querySelectorAll<HTMLElement>('[data-track-on=load]'))
        report(element, readPayload(element))
  })

  /** Searches for a `load` or `visible` element, also in open shadow roots, and loads the script for these. */
  const search = () => {
    const roots = new Set<Node>([document])
    for (const root of roots) {
      observer.observe(root, { childList: true, subtree: true, attributeFilter: ['data-track-on'] })
      // 1: elements only. Three times as fast as querySelectorAll.
      const nodes = document.createTreeWalker(root, 1)
      for (let node: Node | null = root; node; node = nodes.nextNode())
        roots.add((node as Element).shadowRoot ?? root)
      if ((root as Document).querySelector(PRESENT)) {
        observer.disconnect()
        // From the gateway of the first key.
        for (const { base } of configs.values())
          return void import(/* @vite-ignore */ /* webpackIgnore: true */ `${base}/t/p.js`)
            .then(({ start }) => (isLoaded = start(report, readPayload, configs)))
            // If the page's Content-Security-Policy forbids it, the browser reports it.
            .catch(() => {})
      }
    }
  }
  // Disconnected until the next search, so that a page with many changes costs no more.
  const observer = new MutationObserver(() => {
    observer.disconnect()
    setTimeout(search, SEARCH_MS)
  })
  // Also when the page is parsed, and when it has loaded.
  listen(document, 'readystatechange', search)
  search()
  return undefined
}

const helperOf = ({ dataset }: HTMLElement) => dataset.track as TrackingOperation

/** The payload for the element's helper. A product without variations is its own variation. */
function readPayload(element: HTMLElement): { readonly [name: string]: unknown } {
  const path = around(element)
  const read = (name: string) => readAround(path, name)
  const quantity = read('quantity') ?? '1'
  const id = read('variation_id')
  const sku = read('variation_sku')
  const own = (id ?? sku) ? undefined : read('product_id')
  // Without a prototype, because pages extend it with `toJSON`.
  const payload: { [name: string]: unknown } = {
    __proto__: null,
    variation: { __proto__: null, id: id ?? own, sku: sku ?? own },
    quantity: /\D/.test(quantity) ? quantity : +quantity,
  }
  for (const name in schemas[helperOf(element)]?.entries) {
    const selector = /^email/.test(name) ? EMAIL_FIELD : name === 'search_term' && SEARCH_FIELD
    payload[name] ??=
      read(name) ??
      (triggerOf(element) === 'submit' && selector ? readField([element], selector) : undefined)
  }
  return payload
}

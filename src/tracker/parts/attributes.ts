import type { TrackingOperation } from '../../contract/events.ts'
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

/** The fields that are read unasked: of a form that is marked, these. */
const EMAIL_FIELD = '[type=email],[name=email]:not([type=hidden])'
const SEARCH_FIELD = '[type=search],[name=q]:not([type=hidden]),[name=s]:not([type=hidden])'

/** How often a changing page is looked through at most, ms: a look takes one, on a slow phone five. */
const LOOK_MS = 300

/**
 * Reports what attributes say: `data-track` names the helper, `data-track-…` of the element or of the
 * nearest around it the fields of its payload, and `data-track-on` says when.
 *
 * One action of a visitor is one event: of marked elements in one another the innermost counts, and
 * what an action sets off in turn (a click made by a click's listener, the submit of a clicked button)
 * counts only for another helper. Nothing is prevented, delayed or repeated.
 *
 * What is disabled, and a submit that the page prevents, is passed over without a word: the inspector
 * sees it by itself.
 */
export const attributes: Part = (track, configs) => {
  const only = ({ attributes = ATTRIBUTES }: Config) => attributes
  /** The last action that became an event, and what it was about: its helper and its elements. */
  let last: Event | undefined
  let about: readonly unknown[] = []
  /** Submits whose dispatch is not over. */
  const submits: (() => void)[] = []

  const report = (where: HTMLElement, payload: object) =>
    track(helperOf(where), payload, { from: 'attribute', where, only })

  /** Whether what reports elements by their presence runs. */
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
    // A duplicate too: somebody else was quicker to report this very action.
    if (outcome.ok || outcome.error === 'duplicate') {
      last = event
      about = [helper, ...path]
    }
  })
  listen(window, 'pagehide', () => {
    settle()
    // A page that is left before that has come reports what has been there.
    if (!isLoaded)
      for (const element of document.querySelectorAll<HTMLElement>('[data-track-on=load]'))
        report(element, readPayload(element))
  })

  /** Looks for an element that reports by being there, also in open shadow roots, and loads what reports it. */
  const look = () => {
    const roots = new Set<Node>([document])
    for (const root of roots) {
      observer.observe(root, { childList: true, subtree: true, attributeFilter: ['data-track-on'] })
      // Elements only. Three times as fast as a list of them all.
      const nodes = document.createTreeWalker(root, 1)
      for (let node: Node | null = root; node; node = nodes.nextNode())
        roots.add((node as Element).shadowRoot ?? root)
      if ((root as Document).querySelector(PRESENT)) {
        observer.disconnect()
        // Of the first key's gateway; another key's has the same.
        for (const { base } of configs.values())
          return void import(`${base}/t/p.js`)
            .then(({ start }) => (isLoaded = start(report, readPayload, configs)))
            // A page whose policy forbids it goes on without it; the browser says so.
            .catch(() => {})
      }
    }
  }
  // After a change it does not listen until it has looked: a busy page costs no more than that.
  const observer = new MutationObserver(() => {
    observer.disconnect()
    setTimeout(look, LOOK_MS)
  })
  // When the page has been parsed and when it has loaded, beside its changes.
  listen(document, 'readystatechange', look)
  look()
  return undefined
}

const helperOf = ({ dataset }: HTMLElement) => dataset.track as TrackingOperation

/** The payload of the element's helper. A product without variations is its own. */
function readPayload(element: HTMLElement): { readonly [name: string]: unknown } {
  const path = around(element)
  const read = (name: string) => readAround(path, name)
  const quantity = read('quantity') ?? '1'
  const id = read('variation_id')
  const sku = read('variation_sku')
  const own = (id ?? sku) ? undefined : read('product_id')
  // Without a prototype, whose toJSON would be the page's.
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

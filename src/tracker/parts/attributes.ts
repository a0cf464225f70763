import type { TrackingOperation } from '../../contract/events.ts'
import type { Config } from '../config.ts'
import { attempt } from '../lib/attempt.ts'
import { listen } from '../lib/listen.ts'
import { isDisabled, type Path, readAround, readField, triggerOf, whenUsed } from '../lib/marks.ts'
import type { Part } from '../parts.ts'
import { schemas } from '../schemas.ts'
import type { Track } from '../track.ts'

/** The fields that are read unasked: of a form that is marked, these. */
const EMAIL_FIELD = '[type=email],[name=email]:not([type=hidden])'
const SEARCH_FIELD = '[type=search],[name=q]:not([type=hidden]),[name=s]:not([type=hidden])'

/** An element of which half is on screen for so long was seen, ms. */
const SEEN_MS = 1000

/** What has come to the page is looked for at most so often, ms. */
const LOOK_MS = 50

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
  const only = ({ attributes = true }: Config) => attributes
  /** The last action that became an event. */
  let last: Event | undefined
  let lastPath: Path = []
  let lastHelper = ''
  /** Submits whose dispatch is not over. */
  const submits: (() => void)[] = []

  const report: Report = (where, payload) =>
    track(helperOf(where), payload, { from: 'attribute', where, only })

  const settle = () => {
    for (const submit of submits.splice(0)) attempt(submit)
  }

  whenUsed((element, event, path) => {
    const helper = helperOf(element)
    if (
      isDisabled(path) ||
      (helper === lastHelper &&
        (last?.eventPhase || lastPath.includes(event.submitter as HTMLElement)))
    )
      return
    const payload = readPayload(element)
    if (event.type === 'submit' && readAround(element).track_prevented !== 'count') {
      submits.push(() => event.defaultPrevented || report(element, payload))
      setTimeout(settle)
      return
    }
    const outcome = report(element, payload)
    // A duplicate too: somebody else was quicker to report this very action.
    if (outcome.ok || outcome.error === 'duplicate') {
      last = event
      lastPath = path
      lastHelper = helper
    }
  })
  listen(window, 'pagehide', settle)
  startTelling(configs, report)
  return undefined
}

type Report = (where: HTMLElement, payload: object) => ReturnType<Track>

/**
 * Elements that say something by being there: `data-track-on="load"` as soon as they are, `visible`
 * once half of one was on screen for a second. Also those that come later or say something else later,
 * but the same thing once a page, however often a framework or a carousel makes it anew. Those inside
 * shadow roots are not found.
 */
function startTelling(configs: ReadonlyMap<string, Config>, report: Report): void {
  const told = new Set<string>()
  /** Elements that have been read and have not changed since: a page may change at every frame. */
  let read = new WeakSet<Element>()
  const timers = new WeakMap<Element, number>()
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
    attempt(() => {
      turn()
      if (read.has(element)) return
      read.add(element)
      const payload = readPayload(element)
      const text = helperOf(element) + JSON.stringify(payload)
      if (!told.has(text)) report(element, payload)
      told.add(text)
    })

  const screen = new IntersectionObserver(
    (entries) => {
      for (const { target, intersectionRatio } of entries) {
        if (intersectionRatio < 0.5) clearTimeout(timers.get(target))
        else timers.set(target, setTimeout(tell, SEEN_MS, target as HTMLElement))
      }
    },
    { threshold: 0.5 },
  )

  let timer = 0
  const look = () => {
    timer = 0
    document.querySelectorAll<HTMLElement>('[data-track-on=load]').forEach(tell)
    for (const element of document.querySelectorAll('[data-track-on=visible]'))
      screen.observe(element)
  }
  // Not at every change: a page that animates its elements changes them at every frame.
  new MutationObserver((changes) => {
    if (changes.some(({ type }) => type === 'attributes')) read = new WeakSet()
    if (!timer) timer = setTimeout(look, LOOK_MS)
  }).observe(document, {
    childList: true,
    subtree: true,
    attributeFilter: [
      'data-track',
      'data-track-on',
      'data-track-product-id',
      'data-track-search-term',
    ],
  })
  listen(window, 'pageshow', (event) => {
    if (!(event as PageTransitionEvent).persisted) return
    page = ''
    look()
  })
  look()
}

const helperOf = ({ dataset }: HTMLElement) => dataset.track as TrackingOperation

/** The payload of the element's helper. A product without variations is its own. */
function readPayload(element: HTMLElement): { readonly [name: string]: unknown } {
  const said = readAround(element)
  const {
    track_product_id,
    track_quantity: quantity = '1',
    track_variation_id: id,
    track_variation_sku: sku,
  } = said
  const own = (id ?? sku) ? undefined : track_product_id
  // Without a prototype, whose toJSON would be the page's.
  const payload: { [name: string]: unknown } = {
    __proto__: null,
    variation: { __proto__: null, id: id ?? own, sku: sku ?? own },
  }
  for (const name in schemas[helperOf(element)]?.entries) {
    const selector = /^email/.test(name) ? EMAIL_FIELD : name === 'search_term' && SEARCH_FIELD
    payload[name] ??=
      said[`track_${name}`] ??
      (triggerOf(element) === 'submit' && selector ? readField([element], selector) : undefined)
  }
  payload.quantity = /\D/.test(quantity) ? quantity : +quantity
  return payload
}

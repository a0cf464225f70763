import type { Config } from '../config.ts'
import { attempt } from '../lib/attempt.ts'
import { listen } from '../lib/listen.ts'
import type { PartApi } from '../parts.ts'
import { schemas } from '../schemas.ts'

type Helper = keyof typeof schemas

/** Elements that wait for an action of the visitor; the others say something by being there. */
const WAITING = '[data-track]:not([data-track-on=load],[data-track-on=visible])'
/** Fields act at `change`, unless they say otherwise. */
const FIELD = 'select,textarea,input:not([type=submit],[type=button],[type=image])'
/** The fields that are read unasked: of a form that is marked, these. */
const EMAIL_FIELD = '[type=email],[name=email]:not([type=hidden])'
const FORM_FIELDS: { readonly [name: string]: string } = {
  // What the page puts into Object.prototype names no field.
  __proto__: null as never,
  search_term: '[type=search],[name=q]:not([type=hidden]),[name=s]:not([type=hidden])',
  email_address: EMAIL_FIELD,
  email: EMAIL_FIELD,
}
/** What is never read, asked or not: nobody's business, and choices that were not made. */
const UNREAD =
  '[type=password],[autocomplete*=cc-],[type=radio]:not(:checked),[type=checkbox]:not(:checked)'
/** An element of which half is on screen for so long was seen, ms. */
const SEEN_MS = 1000

/** What has come to the page is looked for at most so often, ms. */
const LOOK_MS = 50

/** A node and what is around it, innermost first, over the borders of open shadow roots. */
type Path = readonly Element[]

/**
 * Reports what attributes say: `data-track` names the helper, `data-track-…` of the element or of the
 * nearest around it the fields of its payload, and `data-track-on` says when.
 *
 * One action of a visitor is one event: of marked elements in one another the innermost counts, and
 * what an action sets off in turn (a click made by a click's listener, the submit of a clicked button)
 * counts only for another helper. Nothing is prevented, delayed or repeated.
 *
 * Codes of what was seen and not sent: `disabled` (a control), `prevented` (a submit), `helper` (there is
 * none of that name). What is wrong in a value `track` tells.
 */
export function attributes(api: PartApi): undefined {
  const { track, notices } = api
  const only = ({ attributes = true }: Config) => attributes
  /** The last action that became an event. */
  let last: Event | undefined
  let lastPath: Path = []
  let lastHelper = ''
  /** Submits whose dispatch is not over. */
  const submits: (() => void)[] = []
  const roots = new WeakSet<Node>()

  const drop = (where: Element, code: string) =>
    notices.tell('dropped', { operation: helperOf(where), reason: 'invalid', code, where })

  const report = (where: Element, payload: object) =>
    schemas[helperOf(where)]?.entries
      ? track(helperOf(where), payload, { from: 'attribute', where, only })
      : drop(where, 'helper')

  const act = (event: Event) => {
    const { type, button, submitter } = event as MouseEvent & SubmitEvent
    const around = complete(event.composedPath().filter((node) => node !== window) as Element[])
    const find = (selector: string) => around.findIndex((node) => node.matches?.(selector))
    // Submit and change do not leave a shadow root, so they are listened to inside, from the first
    // event on that does: to submit or change something a visitor has to click or focus it.
    for (const root of around)
      if (root instanceof ShadowRoot && !roots.has(root)) {
        roots.add(root)
        listen(root, 'submit change', act, true)
      }

    const start = find(WAITING)
    const path = around.slice(start)
    const [element] = path
    const label = around[find('label')] as HTMLLabelElement | undefined
    if (
      !element ||
      start < 0 ||
      triggerOf(element) !== type.replace('aux', '') ||
      // The middle button opens links and does nothing else, those after it do not activate.
      button > 1 ||
      (button && find('[href]') < 0) ||
      // A label's click is followed by one of its control, and that one counts if it is seen here.
      (label?.control && element.contains(label.control) && !around.includes(label.control))
    )
      return
    if (find(':disabled:not(fieldset),[aria-disabled=true]') >= 0) return drop(element, 'disabled')
    const helper = helperOf(element)
    if (helper === lastHelper && (last?.eventPhase || lastPath.includes(submitter as Element)))
      return

    const payload = readPayload(path)
    if (type === 'submit' && read(path, 'prevented') !== 'count') {
      submits.push(() =>
        event.defaultPrevented ? drop(element, 'prevented') : report(element, payload),
      )
      setTimeout(settle)
      return
    }
    const outcome = report(element, payload)
    // A duplicate too: somebody else was quicker to report this very action.
    if (outcome?.ok || outcome?.error === 'duplicate') {
      last = event
      lastPath = around
      lastHelper = helper
    }
  }

  const settle = () => {
    for (const submit of submits.splice(0)) attempt(submit)
  }

  listen(window, 'click auxclick submit change focusin', act, true)
  listen(window, 'pagehide', settle)
  startTelling(api, report)
}

/**
 * Elements that say something by being there: `data-track-on="load"` as soon as they are, `visible`
 * once half of one was on screen for a second. Also those that come later or say something else later,
 * but the same thing once a page, however often a framework or a carousel makes it anew. Those inside
 * shadow roots are not found.
 */
function startTelling(api: PartApi, report: (element: Element, payload: object) => void): void {
  const told = new Set<string>()
  /** Elements that have been read and have not changed since: a page may change at every frame. */
  let read = new WeakSet<Element>()
  const timers = new WeakMap<Element, number>()
  let page = ''

  /** The page as page views count it: an anchor that the visitor jumps to is none of its own. */
  const turn = () => {
    const isHashed = [...api.configs.values()].some(({ pageViewHash }) => pageViewHash)
    const here = location.pathname + (isHashed ? location.hash : '')
    if (page === here) return
    page = here
    told.clear()
    read = new WeakSet()
  }

  const tell = (element: Element) =>
    attempt(() => {
      turn()
      if (read.has(element)) return
      read.add(element)
      const payload = readPayload(complete([element]))
      const text = helperOf(element) + JSON.stringify(payload)
      if (!told.has(text)) report(element, payload)
      told.add(text)
    })

  const screen = new IntersectionObserver(
    (entries) => {
      for (const { target, intersectionRatio } of entries) {
        clearTimeout(timers.get(target))
        if (intersectionRatio >= 0.5)
          timers.set(
            target,
            setTimeout(() => tell(target), SEEN_MS),
          )
      }
    },
    { threshold: 0.5 },
  )

  let timer = 0
  const look = () => {
    timer = 0
    for (const element of document.querySelectorAll('[data-track-on=load]')) tell(element)
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

const helperOf = (element: Element) => element.getAttribute('data-track') as Helper

const triggerOf = (element: Element) =>
  element.getAttribute('data-track-on') ??
  (element.matches('form') ? 'submit' : element.matches(FIELD) ? 'change' : 'click')

/** The path, on to the document. */
function complete(path: Element[]): Path {
  const outer = (node?: Node) => node?.parentNode ?? (node as ShadowRoot | undefined)?.host
  for (let node = outer(path[path.length - 1]); node; node = outer(node)) path.push(node as Element)
  return path
}

/** What is said of a field: by the nearest attribute, or in the form field it names. */
function read(path: Path, name: string): string | undefined {
  const attribute = `data-track-${name.replace('_', '-')}`
  for (const node of path) {
    const selector = node.getAttribute?.(`${attribute}-from`)
    const value = (selector && readField(path, selector)) ?? node.getAttribute?.(attribute)
    if (value != null) return value.trim()
  }
  return
}

/** The value of the nearest field of that name: of the one in the same card, before those elsewhere. */
function readField(scopes: Path, selector: string): string | undefined {
  try {
    for (const scope of scopes)
      for (const field of scope.querySelectorAll<HTMLInputElement>(selector))
        if (!field.matches(UNREAD)) return field.value
  } catch {
    // No selector: the field is missing.
  }
  return
}

/** The payload of the element's helper. A product without variations is its own. */
function readPayload(path: Path): { readonly [name: string]: unknown } {
  const [element] = path as [Element]
  const operation = helperOf(element)
  const payload: { [name: string]: unknown } = { __proto__: null }
  for (const name of Object.keys(schemas[operation]?.entries ?? {})) {
    const selector = triggerOf(element) === 'submit' && FORM_FIELDS[name]
    payload[name] =
      read(path, name) ?? (selector ? readField([element], selector)?.trim() : undefined)
  }
  const { product_id, quantity = 1 } = payload
  const id = read(path, 'variation-id')
  const sku = read(path, 'variation-sku')
  const own = (id ?? sku) == null ? product_id : undefined
  payload.quantity = /\D/.test(`${quantity}`) ? quantity : +`${quantity}`
  payload.variation = { __proto__: null, id: id ?? own, sku: sku ?? own }
  return payload
}

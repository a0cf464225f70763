import { guard } from './guard.ts'
import { listen } from './listen.ts'

/*
 * What the attributes part and the inspector both know of elements marked with `data-track`: which of
 * them an event speaks for, and what is said around it.
 */

/** Elements that report by being there; the others wait for an action of the visitor. */
export const PRESENT = '[data-track-on=load],[data-track-on=visible]'
/** Fields act at `change`, unless they say otherwise. */
const FIELD = 'select,textarea,input:not([type=submit],[type=button],[type=image])'
/** What a visitor can not use. */
export const DISABLED = ':disabled:not(fieldset),[aria-disabled=true]'
/** What is never read, asked or not: nobody's business, and choices that were not made. */
export const UNREAD =
  '[type=password],[autocomplete*=cc-],[type=radio]:not(:checked),[type=checkbox]:not(:checked)'

/** An element and what is around it up to the document, innermost first, over the borders of open shadow roots. */
export type Path = readonly HTMLElement[]

export function around(inner: EventTarget | undefined): Path {
  const path: HTMLElement[] = []
  for (
    let node = inner as Element & ShadowRoot;
    node;
    node = (node.assignedSlot ?? node.parentNode ?? node.host) as typeof node
  )
    path.push(node as Element as HTMLElement)
  return path
}

/** The innermost that a selector matches. */
export const find = (path: Path, selector: string): HTMLElement | undefined =>
  path.find((node) => node.matches?.(selector))

export const triggerOf = (element: HTMLElement): string =>
  element.dataset.trackOn ??
  (element.matches('form') ? 'submit' : element.matches(FIELD) ? 'change' : 'click')

/**
 * What `data-track-…` says of a field, the nearest element of a path first: of `product_id` the attribute
 * `data-track-product-id`, or before it the form field that `data-track-product-id-from` selects.
 */
export function readAround(path: Path, name: string): string | undefined {
  const attribute = `data-track-${name.replace(/_/g, '-')}`
  let said: string | undefined
  for (const node of path) {
    const selector = node.getAttribute?.(`${attribute}-from`)
    said ??= (selector && readField(path, selector)) ?? node.getAttribute?.(attribute)?.trim()
  }
  return said
}

/**
 * The value of a field that a selector finds: in the nearest scope that has one, so of the one in the same
 * card before those elsewhere. Of several a visible one, then one that is filled: forms have decoys that only
 * robots see. Where the browser can not tell what is visible, the first that is filled.
 */
export function readField(scopes: Path, selector: string): string | undefined {
  const rank = (field: HTMLInputElement) =>
    ((field.checkVisibility?.({ checkOpacity: true, checkVisibilityCSS: true }) ?? true) ? 2 : 0) +
    (field.value ? 1 : 0)
  // What is no selector, or selects no field, reads nothing.
  return guard(() => {
    for (const scope of scopes) {
      const fields = [...scope.querySelectorAll<HTMLInputElement>(selector)]
      // Of a single one nothing is asked: to see what is visible, the browser computes its style.
      for (const field of fields.sort((a, b) => rank(b) - rank(a)))
        if (!field.matches(UNREAD)) return field.value.trim()
    }
    return
  })
}

/** Calls when a visitor does what a marked element waits for, before anything of the page hears of it. */
export function whenUsed(
  use: (element: HTMLElement, event: MouseEvent & SubmitEvent, path: Path) => void,
): void {
  const roots = new WeakSet<Node>()
  const act = (event: Event) => {
    const { type, button } = event as MouseEvent
    const path = around(event.composedPath()[0])
    // Submit and change do not leave a shadow root, so they are listened to inside, from the first
    // event on that does: to submit or change something a visitor has to click or focus it.
    for (const root of path)
      if ((root as Node) instanceof ShadowRoot && !roots.has(root)) {
        roots.add(root)
        listen(root, 'submit change', act, true)
      }

    const element = find(path, `[data-track]:not(${PRESENT})`)
    const control = (find(path, 'label') as HTMLLabelElement | undefined)?.control
    if (
      element &&
      triggerOf(element) === type.replace('aux', '') &&
      // The middle button opens links and does nothing else, those after it do not activate.
      (!button || (button < 2 && find(path, '[href]'))) &&
      // A label's click is followed by one of its control, and that one counts if it is seen here.
      !(control && element.contains(control) && !path.includes(control))
    )
      use(element, event as MouseEvent & SubmitEvent, path)
  }
  listen(window, 'click auxclick submit change focusin', act, true)
}

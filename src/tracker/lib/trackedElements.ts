import { guard } from './guard.ts'
import { listen } from './listen.ts'

/*
 * Elements with `data-track`, for the attributes part and the inspector: which of them a DOM event is about, and which
 * fields their attributes give.
 */

/** Elements that are reported when they are on the page or on screen. The others are reported at an action. */
export const PRESENT = '[data-track-on=load],[data-track-on=visible]'
/** Form fields, which are reported at `change` by default. */
const FIELD = 'select,textarea,input:not([type=submit],[type=button],[type=image])'
/** Controls that the visitor can not use. */
export const DISABLED = ':disabled:not(fieldset),[aria-disabled=true]'
/** Form fields that are never read: passwords, card numbers, and unchecked choices. */
export const UNREAD =
  '[type=password],[autocomplete*=cc-],[type=radio]:not(:checked),[type=checkbox]:not(:checked)'

/** An element and its ancestors up to the document, innermost first. Those outside an open shadow root too. */
type Path = readonly HTMLElement[]

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

/** The innermost element that a selector matches. */
export const find = (path: Path, selector: string): HTMLElement | undefined =>
  path.find((node) => node.matches?.(selector))

export const triggerOf = (element: HTMLElement): string =>
  element.dataset.trackOn ??
  (element.matches('form') ? 'submit' : element.matches(FIELD) ? 'change' : 'click')

/**
 * The value of a payload's field from the attributes of the nearest element of a path: for `product_id` that of the
 * form field that `data-track-product-id-from` selects, else the value of `data-track-product-id`.
 */
export function readAround(path: Path, name: string): string | undefined {
  const attribute = `data-track-${name.replace(/_/g, '-')}`
  let value: string | undefined
  for (const node of path) {
    const selector = node.getAttribute?.(`${attribute}-from`)
    value ??= (selector && readField(path, selector)) ?? node.getAttribute?.(attribute)?.trim()
  }
  return value
}

/**
 * The value of a form field that a selector matches, in the innermost scope that has one: in the same product card
 * before others. If several match, prefers a visible one, then one with a value: forms have hidden fields to detect
 * robots. In a browser without `checkVisibility`, the first with a value.
 */
export function readField(scopes: Path, selector: string): string | undefined {
  const rank = (field: HTMLInputElement) =>
    ((field.checkVisibility?.({ checkOpacity: true, checkVisibilityCSS: true }) ?? true) ? 2 : 0) +
    (field.value ? 1 : 0)
  // An invalid selector throws.
  return guard(() => {
    for (const scope of scopes) {
      const fields = [...scope.querySelectorAll<HTMLInputElement>(selector)]
      // For a single field, `sort` does not call `rank`, which makes the browser compute styles.
      for (const field of fields.sort((a, b) => rank(b) - rank(a)))
        if (!field.matches(UNREAD)) return field.value.trim()
    }
    return
  })
}

/** Calls `use` at each action that an element with `data-track` reports, before the page's own listeners. */
export function whenUsed(
  use: (element: HTMLElement, event: MouseEvent & SubmitEvent, path: Path) => void,
): void {
  const roots = new WeakSet<Node>()
  const act = (event: Event) => {
    const { type, button } = event as MouseEvent
    const path = around(event.composedPath()[0])
    // The events submit and change do not leave a shadow root, so they are listened to inside it. The visitor has to
    // click or focus something there first, and these events do leave it.
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
      // The middle button only opens links, and further buttons do nothing.
      (!button || (button < 2 && find(path, '[href]'))) &&
      // A click of a label is followed by a click of its control. If that is inside the element too, it counts.
      !(control && element.contains(control) && !path.includes(control))
    )
      use(element, event as MouseEvent & SubmitEvent, path)
  }
  listen(self, 'click auxclick submit change focusin', act, true)
}

import { listen } from './listen.ts'

/*
 * What the attributes part and the inspector both know of elements marked with `data-track`: which of
 * them an event speaks for, and what is said around it.
 */

/** Elements that wait for an action of the visitor; the others say something by being there. */
const WAITING = '[data-track]:not([data-track-on=load],[data-track-on=visible])'
/** Fields act at `change`, unless they say otherwise. */
const FIELD = 'select,textarea,input:not([type=submit],[type=button],[type=image])'
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
 * What `data-track-…` attributes say on an element and around it, the nearest first: `track_product_id`
 * by `data-track-product-id`, or as the form field says that `data-track-product-id-from` selects.
 */
export function readAround(element: HTMLElement): { readonly [name: string]: string | undefined } {
  const said: { [name: string]: string | undefined } = { __proto__: null as never }
  const path = around(element)
  for (const { dataset } of path)
    for (const key in dataset) {
      const plain = key.replace(/From$/, '')
      const selector = dataset[`${plain}From`]
      said[plain.replace(/[A-Z]/g, '_$&').toLowerCase()] ??=
        (selector && readField(path, selector)) ?? dataset[plain]?.trim()
    }
  return said
}

/** The value of the nearest field of that name: of the one in the same card, before those elsewhere. */
export function readField(scopes: Path, selector: string): string | undefined {
  try {
    for (const scope of scopes)
      for (const field of scope.querySelectorAll<HTMLInputElement>(selector))
        if (!field.matches(UNREAD)) return field.value.trim()
  } catch {
    // No selector, or no field.
  }
  return
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

    const element = find(path, WAITING)
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

/** Whether the visitor could use it. */
export const isDisabled = (path: Path): boolean =>
  !!find(path, ':disabled:not(fieldset),[aria-disabled=true]')

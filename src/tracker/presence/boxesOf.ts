/**
 * The elements whose boxes show an element: itself, or where it is `display: contents` and so has no box,
 * those in its place, which are its children: of a host those of its open shadow root, of a slot what is put
 * into it.
 */
export function boxesOf(element: Element): Element[] {
  if (getComputedStyle(element).display !== 'contents') return [element]
  const assigned = element instanceof HTMLSlotElement ? element.assignedElements() : []
  const inside = assigned.length ? assigned : [...(element.shadowRoot ?? element).children]
  return inside.flatMap(boxesOf)
}

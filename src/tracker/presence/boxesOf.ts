/**
 * The elements whose boxes show an element: the element itself. If it is `display: contents` it has no box, and these are
 * its children, those of its open shadow root, or the elements assigned to a slot.
 */
export function boxesOf(element: Element): Element[] {
  if (getComputedStyle(element).display !== 'contents') return [element]
  const assigned = element instanceof HTMLSlotElement ? element.assignedElements() : []
  const inside = assigned.length ? assigned : [...(element.shadowRoot ?? element).children]
  return inside.flatMap(boxesOf)
}

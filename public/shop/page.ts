/** The static page that the shop's script fills. */
import { type ComponentChild, render } from 'preact'

/** The element that a page must have. */
export function $<E extends Element = HTMLElement>(selector: string): E {
  const found = document.querySelector<E>(selector)
  if (!found) throw new Error(`This page has no ${selector}`)
  return found
}

/** Fills an element, or changes what is in it; focus and selection stay where they are. */
export const fill = (selector: string, content: ComponentChild): void =>
  render(content, $(selector))

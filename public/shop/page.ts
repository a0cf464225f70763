/** Access to the static page that the shop's script fills. */
import { type ComponentChild, render } from 'preact'

/** @throws Error if the page has no such element. */
export function $<E extends Element = HTMLElement>(selector: string): E {
  const found = document.querySelector<E>(selector)
  if (!found) throw new Error(`This page has no ${selector}`)
  return found
}

/** Renders into an element. An update keeps focus and selection. */
export const fill = (selector: string, content: ComponentChild): void =>
  render(content, $(selector))

import { misspelledAttribute } from '../../contract/trackAttributes.ts'
import { around, UNREAD } from '../lib/trackedElements.ts'

/**
 * The attributes `data-track-…-from` of an element, and of those around it, that select no form field and for which there
 * is no other attribute. Their value is missing in the payload, or was replaced by a default.
 *
 * @returns The attributes as HTML.
 */
export function findMissing(element: Element): string[] {
  const path = around(element)
  const attributes = path.flatMap((node) => ('attributes' in node ? [...node.attributes] : []))
  const isFound = (selector: string) => {
    try {
      return path.some((scope) =>
        [...scope.querySelectorAll(selector)].some((field) => !field.matches(UNREAD)),
      )
    } catch {
      // The selector is invalid.
      return false
    }
  }
  return attributes
    .filter(({ name, value }) => /^data-track-.+-from$/.test(name) && !isFound(value))
    .filter(({ name }) => !attributes.some((other) => `${other.name}-from` === name))
    .map(({ name, value }) => `${name}="${value}"`)
}

/** The misspelled attributes of an element, and of those around it, each with the one that was probably meant. */
export function findMisspelled(element: Element): string[] {
  const names = around(element).flatMap((node) => node.getAttributeNames?.() ?? [])
  return [...new Set(names)].flatMap((name) => {
    const meant = misspelledAttribute(name)
    return meant ? [`${name} is not read. Did you mean ${meant}?`] : []
  })
}

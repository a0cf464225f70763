import { around, UNREAD } from '../lib/trackedElements.ts'

/**
 * The attributes `data-track-…-from`, of an element and those around it, that name no form field and
 * have no value in their place: what they should say was left out, or another value stood in.
 *
 * @returns Each as it is written.
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
      // No selector.
      return false
    }
  }
  return attributes
    .filter(({ name, value }) => /^data-track-.+-from$/.test(name) && !isFound(value))
    .filter(({ name }) => !attributes.some((other) => `${other.name}-from` === name))
    .map(({ name, value }) => `${name}="${value}"`)
}

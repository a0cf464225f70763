import type { GenericSchema } from 'valibot'
import { check } from './check.ts'
import type { Issue } from './errors.ts'
import { tagOf } from './fields.ts'

/*
 * Lists in payloads. They are for servers only: `check`, which the script contains, knows no lists. So a list is a
 * rule of its own, whose issues contain the path below it, and `unfoldIssue` moves that to the issue's path.
 */

/** The most faulty elements of one list that are reported. */
export const MAX_REPORTED = 20

/** Separates the path from the rule's name in a message. No rule's name contains it. */
const SEPARATOR = '\n'

/**
 * The schema of a list, see `elementsOf`. The path of an issue has the name that the element has where it was sent.
 *
 * @param item The schema of an element.
 * @param max The most elements.
 * @param what The rule in words, for a value that is not such a list.
 */
export const listOf = <I, O>(
  item: GenericSchema<I, O>,
  max: number,
  what: string,
): GenericSchema<readonly I[], O[]> =>
  schemaOf((value) => {
    const given = elementsOf(value, max)
    if (!given) return { issues: [{ path: '', message: what }] }
    const issues: Issue[] = []
    const elements: O[] = []
    let faulty = 0
    for (const [name, element] of given) {
      const checked = check(item, element)
      if (checked.ok) elements.push(checked.payload)
      else {
        for (const { path, message } of checked.error.issues)
          issues.push({
            path: path ? `${name}.${path}` : name,
            message: message.replace(/^Expected /, ''),
          })
        faulty++
        if (faulty === MAX_REPORTED) break
      }
    }
    return issues.length ? { issues } : { value: elements }
  })

/** What the rule of `schemaOf` returns: paths are below the value, and messages are the names of rules. */
export type Read<O> = { readonly value: O } | { readonly issues: readonly Issue[] }

/** A schema of a rule that reads a value with parts, and reports each faulty part by its path. */
export const schemaOf = <I, O>(read: (value: unknown) => Read<O>): GenericSchema<I, O> =>
  ({
    '~run': ({ value }: { value?: unknown }) => {
      const result = read(value)
      return 'value' in result
        ? { typed: true, value: result.value }
        : { issues: result.issues.map(fold) }
    },
  }) as unknown as GenericSchema<I, O>

const fold = ({ path, message }: Issue) => ({
  message: path ? path + SEPARATOR + message : message,
})

/** An issue of `check` with its whole path. */
export function unfoldIssue({ path, message }: Issue): Issue {
  const at = message.lastIndexOf(SEPARATOR)
  if (at < 0) return { path, message }
  const below = message.slice('Expected '.length, at)
  return { path: `${path}.${below}`, message: `Expected ${message.slice(at + 1)}` }
}

/**
 * The own elements of a list with their names, each read once. An object whose keys are all decimal numbers is a list
 * too, since PHP encodes a list with a gap as one, and so is an empty object.
 *
 * @returns Undefined if the value is no list, or has more than `max`.
 */
export function elementsOf(
  value: unknown,
  max: number,
): readonly (readonly [name: string, element: unknown])[] | undefined {
  if (Array.isArray(value)) {
    const { length } = value
    if (length > max) return undefined
    return Array.from({ length }, (_, index) => [
      `${index}`,
      Object.hasOwn(value, index) ? value[index] : undefined,
    ])
  }
  if (tagOf(value) !== 'Object') return undefined
  const names = Object.keys(value as object)
  return names.length <= max && names.every((name) => /^\d+$/.test(name))
    ? names.map((name) => [name, (value as { readonly [name: string]: unknown })[name]])
    : undefined
}

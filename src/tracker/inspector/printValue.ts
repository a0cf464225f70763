import { guard } from '../lib/guard.ts'
import { isElement, toText } from './explain.ts'

/** Bounds of a printed value: a page may push the whole window. */
const MAX_DEPTH = 5
const MAX_FIELDS = 40
const MAX_TEXT = 300
const MAX_CHARACTERS = 4_000

/**
 * A value of the page as indented text, close to JSON. It is bounded: long texts, many fields and deep objects are cut, and
 * what was cut is counted. Getters are not called, since that would run code of the page.
 */
export function printValue(value: unknown): string {
  let left = MAX_CHARACTERS
  const around = new Set<object>()

  const put = (text: string) => {
    left -= text.length
    return text
  }

  const print = (inner: unknown, indent: string): string => {
    if (left < 0) return '…'
    if (typeof inner === 'string') return put(JSON.stringify(cut(inner)))
    if (typeof inner === 'function') return put('(a function)')
    if (!inner || typeof inner !== 'object') return put(cut(String(inner)))
    if (isElement(inner)) return put(toText(inner))
    if (around.has(inner)) return put('(an object around it)')
    if (around.size >= MAX_DEPTH) return put('…')
    around.add(inner)
    const text = printFields(inner, indent)
    around.delete(inner)
    return text
  }

  const printFields = (object: object, indent: string) => {
    const isList = Array.isArray(object)
    const names = Object.keys(object)
    const lines = names.slice(0, MAX_FIELDS).flatMap((name) => {
      const field = Object.getOwnPropertyDescriptor(object, name)
      const isValue = field && 'value' in field
      // As in JSON.
      if (!isList && isValue && field.value === undefined) return []
      const inner = `${indent}  `
      const label = put(inner + (isList ? '' : `${JSON.stringify(cut(name))}: `))
      return label + (isValue ? print(field.value, inner) : put('(a getter)'))
    })
    if (names.length > MAX_FIELDS) lines.push(`${indent}  … ${names.length - MAX_FIELDS} more`)
    const [open, close] = isList ? '[]' : '{}'
    return lines.length ? `${open}\n${lines.join(',\n')}\n${indent}${close}` : `${open}${close}`
  }

  // A proxy of the page may throw.
  return guard(() => print(value, ''), '(unreadable)')
}

/** A text of at most 300 characters, which says how long it was. */
export const cut = (text: string): string =>
  text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text

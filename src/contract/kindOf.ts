import { lengthOf } from './characters.ts'

/** What came, told without showing it: it may be a secret, or half a megabyte. */
export const kindOf = (value: unknown): string => {
  if (typeof value === 'string') return `text of ${lengthOf(value)} characters`
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : typeof value
}

import type { BaseIssue, Config } from 'valibot'
import { lengthOf } from './fields.ts'

/** What came, told without showing it: it may be a secret, or half a megabyte. */
export const kindOf = (value: unknown): string => {
  if (typeof value === 'string') return `text of ${lengthOf(value)} characters`
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : typeof value
}

/**
 * The words where a schema has none of its own, which is where an object is expected or lacks a field
 * (only then valibot's issue has a path already).
 */
export const wording: Config<BaseIssue<unknown>> = {
  message: ({ path, input }) =>
    path ? 'Expected a value, received nothing' : `Expected an object, received ${kindOf(input)}`,
}

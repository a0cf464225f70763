import type { GenericSchema, ObjectEntries } from 'valibot'
import { type Checked, type Issue, ValidationException } from './errors.ts'

/**
 * Checks a value against a schema. Only own, enumerable fields count, and each is read once. valibot's own `object`
 * would also read inherited fields, so on a page that extends `Object.prototype` it would send fields that nobody
 * gave; therefore objects are walked here, and valibot checks only the values in them.
 *
 * An issue has the short name of the broken rule; `describeIssue` makes it a full sentence.
 *
 * @returns The payload with only the keys that the schema names, without those that are `null` or `undefined`. It has
 * no prototype, because pages add `toJSON` to `Object.prototype`.
 * @throws What a getter or a proxy in the value throws.
 */
export function check<T>(schema: GenericSchema<unknown, T>, value: unknown): Checked<T> {
  const issues: Issue[] = []
  const payload = walk(schema, value, '')
  return issues.length
    ? { ok: false, error: new ValidationException(issues) }
    : { ok: true, payload: payload as T }

  function walk(schema: GenericSchema & { entries?: ObjectEntries }, value: unknown, path: string) {
    const { entries } = schema
    if (!entries) {
      const checked = schema['~run']({ value }, {})
      for (const { message } of checked.issues ?? [])
        issues.push({ path, message: `Expected ${message}` })
      return checked.value
    }
    const fields: { [key: string]: unknown } = { __proto__: null }
    if ({}.toString.call(value) === '[object Object]')
      for (const key of Object.keys(entries)) {
        const field = walk(
          entries[key] as GenericSchema,
          {}.propertyIsEnumerable.call(value, key) ? (value as typeof fields)[key] : undefined,
          path ? `${path}.${key}` : key,
        )
        if (field !== null && field !== undefined) fields[key] = field
      }
    else issues.push({ path, message: 'Expected object' })
    return fields
  }
}

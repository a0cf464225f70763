import type { GenericSchema, ObjectEntries } from 'valibot'
import { type Issue, ValidationException } from './errors.ts'
import { tagOf } from './fields.ts'

/** What a check answers: the clean payload, or every fault. */
export type Checked<T> =
  | { readonly ok: true; readonly payload: T }
  | { readonly ok: false; readonly error: ValidationException }

/**
 * Checks a value against a schema. It walks the schema's objects itself and leaves their fields to
 * valibot, whose `object` takes inherited fields for the payload's own: on a page that extends
 * `Object.prototype` it would ask for and send what nobody gave. Here a field counts only where the
 * value has it itself, and each is read once.
 *
 * A fault names the rule shortly; `words.ts` tells it in full.
 *
 * Throws where the value does (a getter, a proxy).
 *
 * The payload answered holds only the keys the schema names, without those that are `null` or
 * `undefined`, and has no prototype, so that no `toJSON` of a page's is in its way.
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
    if (tagOf(value) === 'Object')
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

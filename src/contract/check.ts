import type { GenericSchema } from 'valibot'
import { ValidationException } from './errors.ts'

/** What a check answers: the clean payload, or every fault. */
export type Checked<T> =
  | { readonly ok: true; readonly payload: T }
  | { readonly ok: false; readonly error: ValidationException }

/**
 * Checks a value against a schema. The payload answered holds only the keys the schema names; those
 * that are `null` or `undefined` are left off, so that they never reach the wire.
 */
export function check<T>(schema: GenericSchema<unknown, T>, value: unknown): Checked<T> {
  const dataset = schema['~run']({ value }, {})
  if (dataset.issues)
    return {
      ok: false,
      error: new ValidationException(
        dataset.issues.map(({ path, message }) => ({
          path: path ? path.map(({ key }) => key).join('.') : '',
          message,
        })),
      ),
    }
  const payload = dataset.value as Record<string, unknown>
  for (const key in payload) payload[key] ?? delete payload[key]
  return { ok: true, payload: payload as T }
}

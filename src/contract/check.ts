import type { BaseIssue, Config, GenericSchema } from 'valibot'
import { ValidationException } from './errors.ts'

/** What a check answers: the clean payload, or every fault. */
export type Checked<T> =
  | { readonly ok: true; readonly payload: T }
  | { readonly ok: false; readonly error: ValidationException }

/**
 * Checks a value against a schema. The payload answered holds only the keys the schema names; those
 * that are `null` or `undefined` are left off, so that they never reach the wire.
 *
 * It takes inherited fields for the payload's own and lets a throwing getter through: `validate` and
 * the page copy what is own before they ask.
 *
 * @param config valibot's settings, such as words for its own messages. Default none.
 */
export function check<T>(
  schema: GenericSchema<unknown, T>,
  value: unknown,
  config: Config<BaseIssue<unknown>> = {},
): Checked<T> {
  const dataset = schema['~run']({ value }, config)
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

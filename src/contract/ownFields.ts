import type { GenericSchema } from 'valibot'
import type { Issue } from './errors.ts'

/** Taken before a payload can replace it; true only for a key that is both own and enumerable. */
const isOwn = Object.prototype.propertyIsEnumerable

/**
 * A copy of the fields that a schema names, as far as the value has them itself. valibot looks with
 * `in`, so under a polluted Object.prototype it would take `source` or `variation.id` from there.
 *
 * @param faults Receives an issue for each list that stands for an object and each field that can not
 * be read (a getter that throws). Such a field is left out of the copy.
 * @param path Where the value stands, dotted. Default: it is the payload itself.
 * @returns Objects of no prototype, each field read once; whatever is no object comes back as it is.
 */
export function copyOwnFields(
  schema: GenericSchema,
  value: unknown,
  faults: Issue[],
  path = '',
): unknown {
  if (!hasEntries(schema) || typeof value !== 'object' || value === null) return value
  const copy: { [field: string]: unknown } = Object.create(null)
  if (Array.isArray(value)) {
    faults.push({ path, message: 'Expected an object, received a list' })
    return copy
  }
  for (const [field, fieldSchema] of Object.entries(schema.entries)) {
    const at = path ? `${path}.${field}` : field
    try {
      if (isOwn.call(value, field))
        copy[field] = copyOwnFields(fieldSchema, (value as typeof copy)[field], faults, at)
    } catch {
      faults.push({ path: at, message: 'Expected a value that can be read, received an error' })
    }
  }
  return copy
}

type ObjectSchema = GenericSchema & {
  readonly entries: { readonly [field: string]: GenericSchema }
}

const hasEntries = (schema: GenericSchema): schema is ObjectSchema =>
  Object.hasOwn(schema, 'entries')

import { custom, type ObjectEntries, type ObjectIssue, type ObjectSchema } from 'valibot'

/** What kind of value came, without showing it: `Array`, `Null`, `String`. */
const tagOf = (value: unknown): string => ({}).toString.call(value).slice(8, -1)

const anyObject = custom<object>(
  (value) => tagOf(value) === 'Object',
  ({ input }) => `Expected an object, received ${tagOf(input)}`,
)

/**
 * An object of named fields, for valibot's `object`, which takes inherited fields for the payload's
 * own: on a page that extends `Object.prototype` it would ask for and send what nobody gave. Here a
 * field counts only where the value has it itself; each is read once, and one that can not be read is
 * a fault at its path. A missing field is told in the words of its own rule. (It also costs the script
 * some 150 bytes less, having no defaults or fallbacks.)
 */
export function object<const T extends ObjectEntries>(entries: T): ObjectSchema<T, undefined> {
  const schema: Pick<ObjectSchema<T, undefined>, 'entries' | '~run'> = {
    entries,
    '~run'(dataset, config) {
      const checked = anyObject['~run'](dataset, config)
      if (checked.issues) return checked as never
      const input = checked.value as Record<string, unknown>
      const issues: ObjectIssue[] = []
      // Without a prototype, so that neither a setter nor a `toJSON` of the page's is in the way.
      const output: Record<string, unknown> = Object.create(null)
      for (const key of Object.keys(entries)) {
        let value: unknown
        try {
          if ({}.propertyIsEnumerable.call(input, key)) value = input[key]
        } catch {
          value = new Error()
        }
        const field = entries[key]?.['~run']({ value }, config)
        output[key] = field?.value
        for (const issue of field?.issues ?? [])
          issues.push({ ...issue, path: [{ key }, ...(issue.path ?? [])] } as never)
      }
      return { typed: true, value: output, ...(issues.length && { typed: false, issues }) } as never
    },
  }
  return { ...anyObject, ...schema } as never
}

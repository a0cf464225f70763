import { type ObjectEntries, type StrictObjectSchema, strictObject } from 'valibot'
import { describeValue } from '../../contract/describeValue.ts'
import { suggest } from '../lib/suggest.ts'

/**
 * A schema of settings with these names and no others. Its messages name what is missing, or the name that was
 * probably meant.
 */
export const settingsObject = <const Entries extends ObjectEntries>(
  entries: Entries,
): StrictObjectSchema<Entries, (issue: SettingsIssue) => string> =>
  strictObject(entries, ({ expected, input, path }: SettingsIssue) => {
    const [item] = path ?? []
    if (!item) return `Expected an object, received ${describeValue(input, true)}`
    if (expected !== 'never') return 'It is missing'
    const known = Object.keys(entries)
    return `There is no such setting. Known are ${known.join(', ')}.${suggest(String(item.key), known)}`
  })

type SettingsIssue = {
  readonly expected: string | null
  readonly input: unknown
  readonly path?: readonly { readonly key: unknown }[] | undefined
}

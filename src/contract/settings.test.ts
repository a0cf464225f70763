import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, expectTypeOf, test } from 'vitest'
import { type KeySettings, SETTINGS, type Setting } from './settings.ts'

type Settings = { readonly [name: string]: Setting }

const root = fileURLToPath(new URL('../../', import.meta.url))
const docs = readFileSync(`${root}docs/settings.md`, 'utf8')

const row = ([name, setting]: readonly [string, Setting]): string => {
  const value = setting.default === undefined ? 'none' : `\`${JSON.stringify(setting.default)}\``
  return `| \`${name}\` | ${value} | ${setting.doc} |`
}

/** The settings in a setting; those of a field that is an object itself follow it. */
const rowsOf = (settings: Settings, parent = ''): string[] =>
  Object.entries(settings).flatMap(([name, setting]) => [
    row([parent + name, setting]),
    ...(parent || setting.schema ? [] : rowsOf(setting.fields ?? {}, `${name}.`)),
  ])

test.each([
  ['setting', Object.entries(SETTINGS).map(row)],
  ['field of `ga4`', rowsOf(SETTINGS.ga4.fields)],
  ['field of `adoptDid`', rowsOf(SETTINGS.adoptDid.fields)],
])('docs/settings.md has the table of each %s', (head, rows) => {
  expect(docs).toContain([`| ${head} | default | |`, '|---|---|---|', ...rows, ''].join('\n'))
})

test('the type of the settings follows from their schemas', () => {
  expectTypeOf<KeySettings['pageViews']>().toEqualTypeOf<'off' | 'load' | 'all' | undefined>()
  expectTypeOf<KeySettings['mask']>().toEqualTypeOf<string[] | undefined>()
  expectTypeOf<NonNullable<KeySettings['events']>['search']>().toEqualTypeOf<string | undefined>()
  expectTypeOf<NonNullable<KeySettings['ga4']>>().toExtend<boolean | { readonly sku?: string }>()
  expectTypeOf<KeySettings>().not.toHaveProperty('key')
})

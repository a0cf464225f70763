import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { SETTINGS } from '../settings.ts'
import { helpOf } from './help.ts'
import type { SettingsTable } from './kinds.ts'

const table: SettingsTable = SETTINGS
const root = fileURLToPath(new URL('../../../', import.meta.url))
const page = readFileSync(`${root}docs/gateway.md`, 'utf8')

test('every setting is in the help, with its default', () => {
  const help = helpOf(SETTINGS)
  for (const name of Object.keys(SETTINGS)) expect(help).toMatch(new RegExp(`^  ${name} `, 'm'))
  expect(help).toMatch(/^ {2}PORT +8787 +Port to listen on/m)
  expect(help).toMatch(/^ {2}PUBLIC_URL +none +The gateway/m)
  expect(help).toMatch(/^ {2}MAX_CONNECTIONS +2048 +Connections/m)
  for (const line of help.split('\n')) expect(line.length).toBeLessThanOrEqual(115)
})

test('docs/gateway.md has a row for each setting, with its default, in the same order', () => {
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| ([^|]+?) \| [^|]+ \|$/gm)].map(
    ([, name = '', value = '']) => [name, value.replace(/^`(.*)`$/, '$1')],
  )
  expect(rows).toEqual(
    Object.entries(table).map(([name, { default: value, otherwise }]) => [
      name,
      (value || otherwise) ?? 'none',
    ]),
  )
})

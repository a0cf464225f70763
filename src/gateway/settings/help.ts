import { wrap } from '../lib/wrap.ts'
import type { SettingsTable } from './kinds.ts'

const MAX_LINE_CHARACTERS = 71
const NAME_CHARACTERS = 28
const DEFAULT_CHARACTERS = 11

/** The settings of the gateway for the help of the command line: name, default and documentation. */
export const helpOf = (table: SettingsTable): string =>
  Object.entries(table)
    .map(([name, { doc, default: value, otherwise }]) => {
      const lines = wrap(doc, MAX_LINE_CHARACTERS)
      const indent = ' '.repeat(2 + NAME_CHARACTERS + 1 + DEFAULT_CHARACTERS + 1)
      const shown = (value || otherwise) ?? 'none'
      return `  ${name.padEnd(NAME_CHARACTERS)} ${shown.padEnd(DEFAULT_CHARACTERS)} ${lines.join(`\n${indent}`)}`
    })
    .join('\n')

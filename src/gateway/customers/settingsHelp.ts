import { SETTINGS, type Setting } from '../../contract/settings.ts'
import { wrap } from '../lib/wrap.ts'

const MAX_LINE_CHARACTERS = 80

/** The settings of a key for the help of the command line: name, default and documentation. */
export function settingsHelp(settings: { readonly [name: string]: Setting } = SETTINGS): string {
  return Object.entries(settings)
    .map(([name, setting]) => {
      const lines = wrap(setting.doc.replaceAll('`', ''), MAX_LINE_CHARACTERS)
      const value = setting.default === undefined ? 'none' : JSON.stringify(setting.default)
      return `  ${name.padEnd(18)} ${value.padEnd(11)} ${lines.join(`\n${' '.repeat(33)}`)}`
    })
    .join('\n')
}

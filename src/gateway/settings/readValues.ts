import { safeParse } from 'valibot'
import { nearest } from '../../contract/nearest.ts'
import { suggest } from '../lib/suggest.ts'
import type { Setting, SettingsTable, ValuesOf } from './kinds.ts'
import { readSettingsFile, type SettingsFile } from './settingsFile.ts'

/** The variable that names the settings file. It can not be in the file. */
const FILE_VARIABLE = 'SETTINGS_FILE'
const ENVIRONMENT = 'environment'
const DEFAULT = 'default'

export type Env = Readonly<Record<string, string | undefined>>

/** Where settings come from, in addition to the environment. */
export type GivenSettings = {
  /** Path of the settings file. Default: the variable SETTINGS_FILE. Without it there is no file. */
  readonly file?: string | undefined
  /** Settings of the command line, with the option that sets them. They win over the environment. */
  readonly options?: Readonly<Record<string, { readonly text: string; readonly where: string }>>
}

/** A setting as it takes effect. */
export type EffectiveSetting = {
  readonly name: string
  /** Printable: `(secret)` for a secret, undefined if it is absent and has no default. */
  readonly shown: string | undefined
  /** Such as `environment`, `/etc/shoptrail.env, line 3` or `default`. */
  readonly where: string
}

/** All faults of the settings, one a line. */
export type SettingsFault = { readonly ok: false; readonly message: string }

export type ReadValues<Table extends SettingsTable> =
  | {
      readonly ok: true
      readonly values: ValuesOf<Table>
      readonly effective: readonly EffectiveSetting[]
      /** What does not keep the gateway from starting, one sentence or two each. */
      readonly warnings: readonly string[]
    }
  | SettingsFault

/** A rule about several settings. Called if all of its settings are valid. */
export type Rule<Table extends SettingsTable> = {
  /** The setting that is reported, and those that it is compared with. */
  readonly names: readonly [keyof Table & string, ...(keyof Table & string)[]]
  readonly message: string
  readonly holds: (values: ValuesOf<Table>) => boolean
}

/**
 * Reads the settings of a table from the command line, the environment and a file, the first of which wins. An empty
 * value counts as absent.
 *
 * A name of the file that is not in the table is refused. The environment has names of every other program (an
 * orchestrator adds some for each of its services), so a similar one there is only a warning.
 */
export function readValues<Table extends SettingsTable>(
  table: Table,
  rules: readonly Rule<Table>[],
  env: Env,
  given: GivenSettings = {},
): ReadValues<Table> {
  const names = Object.keys(table)
  const path = given.file ?? (env[FILE_VARIABLE]?.trim() || undefined)
  let file: SettingsFile | undefined
  try {
    file = path === undefined ? undefined : readSettingsFile(path)
  } catch (error) {
    return settingsFault([(error as Error).message])
  }
  const inFile = (line: number) => `${path}, line ${line}`
  const faults = (file?.faults ?? []).map(({ line, message }) => `${inFile(line)}: ${message}`)
  for (const [name, { line }] of file?.values ?? [])
    if (!Object.hasOwn(table, name))
      faults.push(`${name} (${inFile(line)}): ${explainUnknown(name, names)}`)

  /** The text of a setting with its source. Undefined if it is absent everywhere. */
  function find(name: string): { readonly text: string; readonly where: string } | undefined {
    const option = given.options?.[name]
    if (option) return option
    const variable = env[name]
    if (variable?.trim()) return { text: variable, where: ENVIRONMENT }
    const inside = file?.values.get(name)
    return inside?.text ? { text: inside.text, where: inFile(inside.line) } : undefined
  }

  const values: Record<string, unknown> = {}
  const wrong = new Set<string>()
  const effective: EffectiveSetting[] = []
  for (const [name, setting] of Object.entries(table)) {
    const found = find(name)
    const text = found?.text ?? setting.default
    if (text === undefined) {
      values[name] = undefined
      effective.push({ name, shown: undefined, where: DEFAULT })
      continue
    }
    const { success, output, issues } = safeParse(setting.type, text)
    if (success) {
      values[name] = output
      effective.push({ name, shown: show(setting, output), where: found?.where ?? DEFAULT })
    } else {
      wrong.add(name)
      faults.push(`${name} (${found?.where ?? DEFAULT}): ${issues[0]?.message}`)
    }
  }
  const complete = values as ValuesOf<Table>
  for (const { names: compared, message, holds } of rules)
    if (!compared.some((name) => wrong.has(name)) && !holds(complete))
      faults.push(`${compared[0]} (${find(compared[0])?.where ?? DEFAULT}): ${message}`)
  if (faults.length > 0) return settingsFault(faults)
  return {
    ok: true,
    values: complete,
    effective,
    warnings: [...warnOfNames(env, names), ...warnOfFile(path, file, table)],
  }
}

const settingsFault = (faults: readonly string[]): SettingsFault => ({
  ok: false,
  message: `The settings are invalid:\n${faults.map((fault) => `  ${fault}`).join('\n')}`,
})

function explainUnknown(name: string, names: readonly string[]): string {
  if (name === FILE_VARIABLE) return 'A settings file can not name another one'
  return `There is no such setting.${suggest(name, names)}`
}

function show({ isSecret }: Setting, value: unknown): string {
  if (isSecret) return '(secret)'
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  return Array.isArray(value) ? value.join(', ') : `${value}`
}

/** Variables that are most likely misspelled settings. Short names, such as PORT, are similar to too many others. */
function warnOfNames(env: Env, names: readonly string[]): string[] {
  const known = [...names, FILE_VARIABLE].filter((name) => name.length >= 8)
  return Object.keys(env).flatMap((name) => {
    if (names.includes(name) || name === FILE_VARIABLE || !env[name]?.trim()) return []
    const meant = nearest(name, known, name.length >= 12 ? 2 : 1)
    return meant
      ? [`The variable ${name} of the environment is not a setting. Did you mean ${meant}?`]
      : []
  })
}

function warnOfFile(
  path: string | undefined,
  file: SettingsFile | undefined,
  table: SettingsTable,
): string[] {
  if (!file) return []
  const secrets = [...file.values.keys()].filter((name) => table[name]?.isSecret)
  return [
    ...(file.othersRead && secrets.length > 0
      ? [
          `Every user of this machine can read ${path}, which contains ${secrets.join(', ')}. Change its mode: chmod o= ${path}`,
        ]
      : []),
    ...(file.othersWrite
      ? [`Every user of this machine can change ${path}. Change its mode: chmod o= ${path}`]
      : []),
  ]
}

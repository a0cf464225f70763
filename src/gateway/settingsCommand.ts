import type { EffectiveSetting } from './settings/readValues.ts'

/** `settings`: the settings as they take effect, one a line, with their source. No secret is printed. */
export function listSettings(effective: readonly EffectiveSetting[]): readonly string[] {
  const rows = effective.map(({ name, shown = '(none)', where }) => ({
    setting: `${name}=${shown}`,
    where,
  }))
  const width = Math.min(60, Math.max(...rows.map(({ setting }) => setting.length)))
  return rows.map(({ setting, where }) => `${setting.padEnd(width)}  ${where}`)
}

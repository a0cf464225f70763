import { type Stats, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Level } from '../contract/setup.ts'
import { examine } from './doctor/doctor.ts'
import { type DoctorFinding, error, ok, warning } from './doctor/finding.ts'
import { printableJson } from './lib/printable.ts'
import type { readSettings } from './settings.ts'

export const DOCTOR_OPTIONS = ['json']

/** The bundle of doctor/probe.ts, in the folder of this bundle. */
const PROBE = new URL('./doctor-probe.js', import.meta.url)

/**
 * `doctor`: checks the installation, and prints what is wrong, where, and what to do.
 *
 * @returns What runs it. Its code is 0 without errors, and 1 with errors.
 */
export const prepareDoctor =
  (
    read: ReturnType<typeof readSettings>,
    { json }: { readonly json?: boolean | undefined },
    probeFile = PROBE,
  ) =>
  async (): Promise<{ readonly code: number; readonly lines: readonly string[] }> => {
    const findings: DoctorFinding[] = checkSettings(read)
    if (read.ok) {
      const dataDir = resolve(read.settings.dataDir)
      becomeOwner(dataDir)
      findings.push(...(await examine({ ...read.settings, dataDir }, probeFile)))
    }
    return {
      code: Number(findings.some(({ level }) => level === 'error')),
      lines: json
        ? JSON.stringify(findings, null, 2).split('\n').map(printableJson)
        : linesOf(findings),
    }
  }

function checkSettings(read: ReturnType<typeof readSettings>): DoctorFinding[] {
  const found = read.ok
    ? read.warnings.map((message) => warning(message))
    : read.message
        .split('\n')
        .slice(1)
        .map((fault) => error(fault.trim()))
  if (found.length === 0) found.push(ok('Every setting is valid: shoptrail settings prints them'))
  return found.map((one) => ({ check: 'settings', ...one }))
}

/**
 * The superuser may do what the gateway's user may not, and its files would lock the gateway out. So it becomes the
 * owner of the folder.
 */
function becomeOwner(dataDir: string): void {
  if (process.getuid?.() !== 0) return
  const owner = statOf(dataDir)
  if (!owner || owner.uid === 0) return
  process.setgroups?.([owner.gid])
  process.setgid?.(owner.gid)
  process.setuid?.(owner.uid)
}

/** Undefined if it can not be read. The check of the folder says why. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

const WORDS: Readonly<Record<Level, string>> = {
  error: 'ERROR',
  warning: 'WARNING',
  note: 'note',
  ok: 'ok',
}

function linesOf(findings: readonly DoctorFinding[]): readonly string[] {
  const width = Math.max(...findings.map(({ check }) => check.length)) + 2
  const count = (level: Level, word: string) => {
    const { length } = findings.filter((finding) => finding.level === level)
    return `${length} ${word}${length === 1 ? '' : 's'}`
  }
  return [
    ...findings.flatMap(({ check, level, message, fix }) => [
      `${WORDS[level].padEnd(9)}${check.padEnd(width)}${message}`,
      ...fix.map((line) => `${' '.repeat(9 + width + 2)}${line}`),
    ]),
    '',
    `${count('error', 'error')}, ${count('warning', 'warning')}, ${count('note', 'note')}.`,
  ]
}

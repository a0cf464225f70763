import { statSync } from 'node:fs'
import { join } from 'node:path'
import { isDiskFull } from '../sqlite/database.ts'
import { findPairFault } from '../sqlite/databasePair.ts'
import { error, type Found, note, ok } from './finding.ts'
import type { ProbedDatabase } from './probe.ts'
import { type ProbeFailure, runProbe } from './runProbe.ts'

/** Time for the check of one database, ms. A gigabyte takes some seconds. */
const TIMEOUT_MS = 30_000

/** The databases that doctor opens. The rest can be made again. */
const NAMES = ['customers.db', 'events.db', 'forward.db', 'reports.db'] as const

const RESTORE = 'Stop the gateway, and restore a backup of all databases'

export type Databases = {
  readonly found: readonly Found[]
  /** Undefined if it is missing or can not be read. */
  readonly events: ProbedDatabase | undefined
}

/** Opens the databases for reading, checks each, and whether they belong together. */
export async function checkDatabases(
  folder: string,
  probeFile: URL,
  timeoutMs = TIMEOUT_MS,
): Promise<Databases> {
  const found: Found[] = []
  const probed = new Map<string, ProbedDatabase>()
  let isUnknown = false
  for (const name of NAMES) {
    const file = join(folder, name)
    // SQLite treats a file of 0 or 1 bytes as a new database.
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) <= 1) continue
    const result = await runProbe<ProbedDatabase>(probeFile, ['check', file], timeoutMs)
    const fault = judge(file, result)
    if (fault) found.push(fault)
    if ('integrity' in result) probed.set(name, result)
    else isUnknown = true
  }
  const pair = isUnknown
    ? undefined
    : findPairFault(probed.get('customers.db')?.identity, probed.get('events.db')?.identity)
  if (pair) found.push(error(`${pair.message} (in ${folder})`))
  const names = [...probed.keys()]
  if (found.length === 0)
    found.push(
      names.length > 0
        ? ok(`${names.join(', ')}: can be read, no damage found`)
        : note(`There are no databases in ${folder} yet. The first start creates them`),
    )
  return { found, events: probed.get('events.db') }
}

function judge(file: string, result: ProbedDatabase | ProbeFailure): Found | undefined {
  if ('integrity' in result) {
    if (result.integrity !== 'ok') return error(`${file} is damaged: ${result.integrity}`, RESTORE)
    if (result.newer !== undefined) return error(result.newer)
    if (result.isCopy)
      return error(
        `${file} is a gateway's copy of a cluster, but ENGINE is sqlite. No gateway starts`,
        'Set ENGINE and the NATS_ settings as the gateway of this folder has them, or DATA_DIR to another folder',
      )
    return result.isOutdated
      ? note(`${file} is of an earlier version. The next start backs it up and upgrades it`)
      : undefined
  }
  if (result.late)
    return note(
      `${file} is too large to be checked in ${TIMEOUT_MS / 1_000} s`,
      `At a quiet time: sqlite3 -readonly ${file} 'PRAGMA quick_check'`,
    )
  if (isDiskFull(result))
    return error(
      `${file} can not be read while the disk is full`,
      'Make room, and run doctor again',
    )
  return /^SQLITE_(NOTADB|CORRUPT)/.test(result.code ?? '')
    ? error(`${file} is not a database, or is damaged: ${result.failed}`, RESTORE)
    : error(
        `${file} can not be read: ${result.failed}`,
        'Run doctor as the user of the gateway, and check the owner and the permissions of the file',
      )
}

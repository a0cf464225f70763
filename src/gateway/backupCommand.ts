import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Fault, misused } from './lib/command.ts'
import type { Settings } from './settings.ts'
import { createBackup } from './sqlite/backup/createBackup.ts'
import type { Manifest } from './sqlite/backup/manifest.ts'
import { databasesIn, restoreBackup } from './sqlite/backup/restoreBackup.ts'
import { upgradeData } from './sqlite/backup/upgrade.ts'
import { verifyBackup } from './sqlite/backup/verifyBackup.ts'
import { prepareDataFolder } from './sqlite/dataFolder.ts'

/** The result of a command that takes a while. `errors` are for stderr. */
export type Worked = {
  readonly code: number
  readonly lines: readonly string[]
  readonly errors?: readonly string[]
}

/** Runs a command that takes a while. An error is its message, and exit code 1. */
const working = (run: () => Promise<readonly string[]>) => async (): Promise<Worked> => {
  try {
    return { code: 0, lines: await run() }
  } catch (error) {
    return { code: 1, lines: [], errors: [(error as Error).message] }
  }
}

export const RESTORE_OPTIONS = ['yes']

/**
 * `backup DIR` copies the databases of a gateway, also while it runs. `backup verify DIR` checks such a copy.
 *
 * @param words The words after `backup`.
 * @returns What runs it.
 */
export function prepareBackup(
  words: readonly string[],
  { dataDir }: Settings,
): Fault | (() => Promise<Worked>) {
  const [first, second] = words
  if (!first || (first === 'verify' && !second))
    return misused(
      first ? 'Expected a backup: backup verify DIR' : 'Expected a new folder: backup DIR',
    )
  if (second && first !== 'verify')
    return misused(`backup takes no ${second}. To check a backup: backup verify DIR`)
  if (first === 'verify')
    return working(async () => {
      const folder = resolve(second as string)
      return [`${folder} is whole.`, ...contentOf(await verifyBackup(folder))]
    })
  return working(async () => {
    const folder = resolve(first)
    const source = resolve(dataDir)
    // Not while a restore is running. A wrong DATA_DIR is not created.
    if (existsSync(source)) prepareDataFolder(source)
    const manifest = await createBackup({ dataDir: source, folder, now: Date.now })
    return [`${source} was backed up to ${folder}.`, ...contentOf(manifest)]
  })
}

/** `restore DIR`: puts a backup in the place of the databases in DATA_DIR, which no gateway may have open. */
export function prepareRestore(
  [backup]: readonly string[],
  { yes }: { readonly yes?: boolean | undefined },
  { dataDir }: Settings,
): Fault | (() => Promise<Worked>) {
  if (!backup) return misused('Expected a backup: restore DIR')
  return working(async () => {
    const folder = resolve(dataDir)
    prepareDataFolder(folder)
    const there = databasesIn(folder)
    if (there.length > 0 && !yes)
      throw new Error(
        `${folder} has ${there.join(', ')}. The backup takes their place, and they are moved to a folder beside. To confirm, add --yes`,
      )
    const { manifest, aside } = await restoreBackup(backup, folder, Date.now)
    return [
      `${folder} has the databases of the backup.`,
      ...contentOf(manifest),
      ...(aside
        ? [`What was there is in ${join(folder, aside)}. Remove it when it is not needed.`]
        : []),
    ]
  })
}

function contentOf({ at, shoptrail, position, files }: Manifest): string[] {
  return [
    `  begun     ${at}, by shoptrail ${shoptrail}`,
    ...(position === null ? [] : [`  position  ${position}`]),
    ...files.map(
      ({ name, bytes, schema }) => `  ${name.padEnd(14)}${bytes} bytes, schema ${schema}`,
    ),
  ]
}

/** `data upgrade`: upgrades the databases without starting a gateway. */
export function prepareUpgrade({ dataDir, upgradeBackup }: Settings): () => Promise<Worked> {
  return working(async () => {
    const folder = resolve(dataDir)
    prepareDataFolder(folder)
    const steps: string[] = []
    const isUpgraded = await upgradeData({
      dataDir: folder,
      backup: upgradeBackup,
      now: Date.now,
      onStep: (step) => steps.push(step),
    })
    return isUpgraded ? steps : [`There is nothing to upgrade in ${folder}.`]
  })
}

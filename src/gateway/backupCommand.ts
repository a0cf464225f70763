import { resolve } from 'node:path'
import type { Settings } from './settings.ts'
import { upgradeData } from './sqlite/backup/upgrade.ts'
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

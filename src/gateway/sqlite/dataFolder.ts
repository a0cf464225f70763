import { accessSync, constants, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { finishRestore } from './backup/finishRestore.ts'

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this process may not write there',
  EEXIST: 'it is not a folder',
  EINVAL: 'no folder can be created there',
  ENOENT: 'no folder can be created there',
  ENOTDIR: 'it is not a folder',
  EPERM: 'this process may not write there',
  EROFS: 'nothing can be written there',
}

/**
 * Creates the folder of the databases if it is missing, readable only by its owner. Finishes a restore that was
 * interrupted.
 *
 * @throws Error that names the folder and the reason. InUse while a restore is running.
 */
export function prepareDataFolder(dataDir: string): void {
  try {
    const missing: string[] = []
    for (let folder = resolve(dataDir); !existsSync(folder); folder = dirname(folder))
      missing.unshift(folder)
    // One by one: node's `recursive` never returns below /proc.
    for (const folder of missing) makeFolder(folder)
    readdirSync(dataDir)
    accessSync(dataDir, constants.W_OK | constants.X_OK)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    throw new Error(
      `DATA_DIR ${dataDir} can not be used: ${REASONS[code] ?? message}. Choose another folder: DATA_DIR=./data`,
      { cause: error },
    )
  }
  finishRestore(dataDir)
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process has just created it. Reading it shows whether it is a folder.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

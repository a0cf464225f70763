import { accessSync, constants, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this process may not write there',
  EEXIST: 'something that is no folder is in its place',
  EINVAL: 'no folder can be made there',
  ENOENT: 'no folder can be made there',
  ENOTDIR: 'something that is no folder is in its place',
  EPERM: 'this process may not write there',
  EROFS: 'nothing can be written there',
}

/**
 * Makes the folder of the databases where it is missing, readable by nobody else.
 *
 * @throws Error that names the folder and says what is wrong with it.
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
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Somebody else was quicker; that it is a folder shows when it is read.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

import { resolve } from 'node:path'
import { type Done, done } from './lib/command.ts'
import type { Settings } from './settings.ts'
import { acceptPair, checkPair, DataMismatch } from './sqlite/databasePair.ts'
import { prepareDataFolder } from './sqlite/dataFolder.ts'

/** The verbs of `data`, each with its options. */
export const DATA_VERBS: ReadonlyMap<string, readonly string[]> = new Map([
  ['accept', []],
  ['upgrade', []],
])

/**
 * `data accept`: accepts databases that are not those of the last start. A gateway that waits for them opens them
 * within a second.
 *
 * @throws Error if the data can not be opened.
 */
export function acceptData({ dataDir }: Settings): Done {
  const folder = resolve(dataDir)
  prepareDataFolder(folder)
  const accepted = acceptPair(folder)
  if (!accepted) return done(`There is nothing to accept in ${folder}.`)
  return done(
    `In ${folder}: ${accepted}.`,
    'Accepted. The databases that are there now belong together. A missing one will be created.',
  )
}

/** Why the databases of a folder may not be changed. Undefined if they are those of the last start. */
export function findMismatch(folder: string): string | undefined {
  try {
    checkPair(folder)
    return undefined
  } catch (error) {
    if (error instanceof DataMismatch) return `${folder}: ${error.message}`
    throw error
  }
}

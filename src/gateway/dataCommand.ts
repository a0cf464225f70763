import { resolve } from 'node:path'
import { type Done, done } from './lib/command.ts'
import type { Settings } from './settings.ts'
import { acceptPair, checkPair, DataMismatch } from './sqlite/databasePair.ts'
import { prepareDataFolder } from './sqlite/dataFolder.ts'

/** What stands behind `data`, each with the options it takes. */
export const DATA_VERBS: ReadonlyMap<string, readonly string[]> = new Map([['accept', []]])

/**
 * `data accept`: goes on with databases that are not those of the last start. A gateway that waits for them
 * goes on within a second.
 *
 * @throws Error when the data can not be opened.
 */
export function acceptData({ dataDir }: Settings): Done {
  const folder = resolve(dataDir)
  prepareDataFolder(folder)
  const accepted = acceptPair(folder)
  if (!accepted) return done(`There is nothing to accept in ${folder}.`)
  return done(
    `In ${folder}: ${accepted}.`,
    'Accepted. What is there now belongs together, and what is missing is made.',
  )
}

/** Why nothing may be changed in a folder; undefined where it is as it was at the last start. */
export function findMismatch(folder: string): string | undefined {
  try {
    checkPair(folder)
    return undefined
  } catch (error) {
    if (error instanceof DataMismatch) return `${folder}: ${error.message}`
    throw error
  }
}

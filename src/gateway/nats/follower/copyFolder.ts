import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The files of a partition's copy. */
export type CopyFiles = {
  readonly folder: string
  readonly eventsFile: string
  readonly reportsFile: string
  readonly forwardFile: string
}

export function filesOfCopy(dataDir: string, partition: number): CopyFiles {
  const folder = join(dataDir, `partition-${partition}`)
  return {
    folder,
    eventsFile: join(folder, 'events.db'),
    reportsFile: join(folder, 'reports.db'),
    forwardFile: join(folder, 'forward.db'),
  }
}

/** Creates the folder of a copy, readable only by its owner. The data folder must exist. */
export function makeCopyFolder(folder: string): void {
  mkdirSync(folder, { mode: 0o700, recursive: true })
}

/** Deletes a copy. Everything in it is made again from the stream and from the buckets. */
export function deleteCopy(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}

/**
 * Moves a copy to `partition-N.old`, since it may be the last one of a log that is gone. Deletes one that was moved
 * there before.
 *
 * @returns The new path.
 */
export function moveCopyAside(folder: string): string {
  const aside = `${folder}.old`
  rmSync(aside, { recursive: true, force: true })
  if (existsSync(folder)) renameSync(folder, aside)
  return aside
}

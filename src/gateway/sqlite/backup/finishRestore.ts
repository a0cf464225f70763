import { existsSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isDamaged } from '../database.ts'
import { makePrivateFolder, syncPath } from './durable.ts'
import { holdLock, openAlone, refuseHeld } from './locks.ts'
import { MANIFEST, readManifest } from './manifest.ts'

/** The lock of a restore, in the data folder. */
const LOCK = 'restore.lock'
/** A backup that was copied and checked, and takes the place of the databases. Its moment is in its name. */
const READY = /^restored-(.+)$/
/** Begin of the name of a folder with what was there before a restore. */
const ASIDE = 'before-restore-'
/** Folder of the backups from before upgrades, in the data folder. */
export const UPGRADES = 'upgrades'
const RUNNING =
  'A backup is being restored into this folder. Wait until `shoptrail restore` has ended'

/** The folder of a backup that is ready to take the place of the databases. */
export const readyName = (stamp: string): string => `restored-${stamp}`

/**
 * Puts the databases of a restore in their place. The last step of a restore; after a crash in the middle of it, the
 * next command or gateway continues it. What was there is moved to `before-restore-…`.
 *
 * @returns The name of the folder with what was there. Undefined if there was nothing.
 * @throws InUse if a gateway has a database open.
 */
export function putInPlace(dataDir: string): string | undefined {
  const ready = readdirSync(dataDir).find((name) => READY.test(name))
  if (!ready) return undefined
  const from = join(dataDir, ready)
  const aside = `${ASIDE}${READY.exec(ready)?.[1]}`
  // The manifest goes last. Without it everything else is done.
  if (existsSync(join(from, MANIFEST))) {
    const { files } = readManifest(from)
    const names = files.map(({ name }) => name)
    const isLog = names.includes('events.db')
    // These follow the positions of the log. Reports are made again from it.
    const followers = isLog ? ['reports.db', 'forward.db'] : []
    const replaced = [...followers.filter((name) => !names.includes(name)), ...names]
    const waiting = replaced.filter((name) => !names.includes(name) || existsSync(join(from, name)))
    for (const name of waiting) refuseInUse(join(dataDir, name))
    for (const name of waiting) {
      for (const file of [`${name}-wal`, `${name}-shm`, name]) moveAside(dataDir, file, aside)
      if (names.includes(name)) renameSync(join(from, name), join(dataDir, name))
    }
    syncPath(dataDir)
    rmSync(join(from, MANIFEST))
  }
  rmdirSync(from)
  syncPath(dataDir)
  return existsSync(join(dataDir, aside)) ? aside : undefined
}

function moveAside(dataDir: string, name: string, aside: string): void {
  const file = join(dataDir, name)
  if (!existsSync(file)) return
  const folder = join(dataDir, aside)
  if (!existsSync(folder)) makePrivateFolder(folder)
  renameSync(file, join(folder, name))
}

/**
 * @throws InUse if another process has the database open. Else its -wal is empty when this returns, unless the file is
 * damaged.
 */
export function refuseInUse(file: string): void {
  if (!existsSync(file)) return
  try {
    const database = openAlone(file)
    try {
      database.pragma('wal_checkpoint(TRUNCATE)')
    } finally {
      database.close()
    }
  } catch (error) {
    // A damaged one is replaced all the more.
    if (!isDamaged(error)) throw error
  }
}

/** The folders in the data folder with databases of before: of upgrades and of restores. */
export const findOldData = (dataDir: string): readonly string[] =>
  readdirSync(dataDir).filter((name) => name === UPGRADES || name.startsWith(ASIDE))

/** Holds the lock of a restore. @throws InUse if another process holds it. */
export const holdRestore = (dataDir: string): (() => void) => holdLock(join(dataDir, LOCK), RUNNING)

/**
 * Continues a restore that was interrupted after everything was copied and checked. Call it before the databases are
 * opened.
 *
 * @throws InUse while a restore is running.
 */
export function finishRestore(dataDir: string): void {
  if (!readdirSync(dataDir).some((name) => READY.test(name))) {
    refuseHeld(join(dataDir, LOCK), RUNNING)
    return
  }
  const release = holdRestore(dataDir)
  try {
    putInPlace(dataDir)
  } finally {
    release()
  }
}

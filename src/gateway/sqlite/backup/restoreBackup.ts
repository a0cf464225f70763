import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DATABASES } from '../databases.ts'
import { makeFile } from '../files.ts'
import { makePrivateFolder, refuseTooLarge, stampOf, syncPath } from './durable.ts'
import { holdRestore, putInPlace, readyName, refuseInUse } from './finishRestore.ts'
import { hashFile, type Manifest, writeManifest } from './manifest.ts'
import { verifyBackup } from './verifyBackup.ts'

/** A backup that is being copied. What an interrupted restore has left there is removed by the next one. */
const COPY = 'restoring'

export type Restored = {
  readonly manifest: Manifest
  /** Folder with what was there. Undefined if there was nothing. */
  readonly aside: string | undefined
}

/** The databases of a folder, whose place a restore takes. */
export const databasesIn = (dataDir: string): readonly string[] =>
  DATABASES.map(({ name }) => name).filter((name) => existsSync(join(dataDir, name)))

/**
 * Restores a backup into a data folder that no gateway has open. Everything is checked and copied before anything is
 * put in place; what was there is kept in `before-restore-…`. Interrupted at any moment, the folder has the databases of
 * before, or the next command or gateway puts the new ones in place.
 *
 * @param dataDir It exists.
 * @param now The clock, ms since 1970.
 * @throws Error with the reason: nothing has changed then.
 */
export async function restoreBackup(
  backup: string,
  dataDir: string,
  now: () => number,
): Promise<Restored> {
  const from = resolve(backup)
  const manifest = await verifyBackup(from)
  const release = holdRestore(dataDir)
  try {
    for (const name of databasesIn(dataDir)) refuseInUse(join(dataDir, name))
    const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0)
    refuseTooLarge(dataDir, bytes, 'Make room, or choose another DATA_DIR')
    const copy = join(dataDir, COPY)
    rmSync(copy, { recursive: true, force: true })
    makePrivateFolder(copy)
    for (const { name, sha256 } of manifest.files) {
      const target = join(copy, name)
      makeFile(target)
      copyFileSync(join(from, name), target)
      syncPath(target)
      if ((await hashFile(target)) !== sha256)
        throw new Error(`${target} was not copied correctly. Check the disk, and try again`)
    }
    writeManifest(copy, manifest)
    const ready = join(dataDir, readyName(stampOf(now())))
    // From here on the restore will be finished.
    renameSync(copy, ready)
    syncPath(dataDir)
    return { manifest, aside: putInPlace(dataDir) }
  } finally {
    release()
  }
}

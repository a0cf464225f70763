import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Database } from 'better-sqlite3'
import { version } from '../../lib/version.ts'
import { explain, refuseForeign } from '../database.ts'
import { DATABASES } from '../databases.ts'
import { connect } from '../driver.ts'
import { makeFile } from '../files.ts'
import { readVersion } from '../schema.ts'
import { isEmptyFolder, makePrivateFolder, refuseTooLarge, sizeOf, syncPath } from './durable.ts'
import { type BackupFile, hashFile, type Manifest, writeManifest } from './manifest.ts'
import { findPairFaultIn } from './verifyBackup.ts'

/** Pages that are copied at a time, 1 MiB. In between the process does other work. */
const PAGES = 256

export type BackupOptions = {
  readonly dataDir: string
  /** Folder of the backup: a new one or an empty one. Its parent exists. */
  readonly folder: string
  /** Names of databases. Default all that are there. */
  readonly names?: readonly string[]
  /** What to do if there is not enough room. */
  readonly remedy?: string
  /** The clock, ms since 1970. */
  readonly now: () => number
}

/** A database, with a read transaction that is open until it is copied. */
type Snapshot = { readonly name: string; readonly file: string; readonly database: Database }

/**
 * Copies the databases while gateways write to them. Each copy is the state of one moment: a read transaction is held
 * while its pages are copied, so that a commit does not make SQLite begin again. Writers do not wait for it; the -wal
 * grows by what they write meanwhile.
 *
 * The manifest is written last, so a folder without one is not a backup.
 *
 * @throws Error with the reason and the remedy. The folder is left as it is then.
 */
export async function createBackup(options: BackupOptions): Promise<Manifest> {
  const { dataDir, names, now, remedy = 'Make room, or choose a folder on another disk' } = options
  const folder = resolve(options.folder)
  const sources = DATABASES.map(({ name, schema }) => ({
    name,
    schema,
    file: join(dataDir, name),
  })).filter(({ name, file }) => (names?.includes(name) ?? true) && sizeOf(file) > 1)
  if (sources.length === 0) throw new Error(`There are no databases in ${dataDir}. Check DATA_DIR`)
  if (!isEmptyFolder(folder))
    throw new Error(`${folder} is not empty. Choose a new folder for each backup`)
  if (!existsSync(dirname(folder)))
    throw new Error(`${dirname(folder)} is missing. Create it, or mount its disk`)
  makePrivateFolder(folder)
  const bytes = sources.reduce((sum, { file }) => sum + sizeOf(file) + sizeOf(`${file}-wal`), 0)
  refuseTooLarge(folder, bytes, remedy)

  const at = new Date(now()).toISOString()
  const snapshots: Snapshot[] = []
  try {
    // All of them before the first one is copied, which may take long.
    for (const { name, file, schema } of sources) {
      const database = explaining(file, () => connect(file, { timeout: 5_000 }))
      snapshots.push({ name, file, database })
      explaining(file, () => {
        refuseForeign(database, schema.probe)
        database.exec('BEGIN')
        database.prepare('SELECT count(*) FROM sqlite_schema').get()
      })
    }
    const events = snapshots.find(({ name }) => name === 'events.db')
    const position = events ? positionOf(events.database) : null
    const files: BackupFile[] = []
    for (const snapshot of snapshots) files.push(await copy(snapshot, folder))
    const fault = findPairFaultIn(folder)
    if (fault) throw new Error(`${dataDir}: ${fault}`)
    const manifest: Manifest = { format: 1, shoptrail: version, at, position, files }
    writeManifest(folder, manifest)
    return manifest
  } finally {
    for (const { database } of snapshots) database.close()
  }
}

async function copy({ name, file, database }: Snapshot, folder: string): Promise<BackupFile> {
  const target = join(folder, name)
  makeFile(target)
  try {
    await database.backup(target, { progress: () => PAGES })
    database.close()
  } catch (error) {
    throw new Error(explain(file, error), { cause: error })
  }
  const schema = explaining(target, () => settle(target))
  syncPath(target)
  syncPath(folder)
  return { name, bytes: sizeOf(target), sha256: await hashFile(target), schema }
}

/**
 * Makes the copy a file without a -wal, which can be opened from a medium that can not be written, and checks that it
 * is a whole database. Returns the version of its schema.
 */
function settle(target: string): number {
  const database = connect(target, {})
  try {
    database.pragma('journal_mode = DELETE')
    const found = database.pragma('quick_check(1)', { simple: true })
    if (found !== 'ok') throw Object.assign(new Error(String(found)), { code: 'SQLITE_CORRUPT' })
    return readVersion(database)
  } finally {
    database.close()
  }
}

const positionOf = (events: Database): number =>
  events
    .prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
    .pluck()
    .get() ?? 0

function explaining<Result>(file: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw new Error(explain(file, error), { cause: error })
  }
}

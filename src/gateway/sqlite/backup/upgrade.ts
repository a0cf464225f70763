import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../lib/version.ts'
import { explain, refuseForeign, setDurable } from '../database.ts'
import { DATABASES } from '../databases.ts'
import { connect } from '../driver.ts'
import { makePrivate } from '../files.ts'
import {
  isBreaking,
  isOutdated,
  migrate,
  readVersion,
  refuseNewer,
  type Schema,
} from '../schema.ts'
import { createBackup } from './createBackup.ts'
import { makePrivateFolder, stampOf } from './durable.ts'
import { UPGRADES } from './finishRestore.ts'
import { holdLock, InUse, openAlone } from './locks.ts'
import { MANIFEST } from './manifest.ts'

/** How many are kept, the newest ones: of those with the log, and of those without it. */
const MAX_BACKUPS = 2

/** A database and its schema. */
export type Upgradable = { readonly name: string; readonly schema: Schema }

export type UpgradeOptions = {
  readonly dataDir: string
  /** Whether the databases are backed up before. Default true. */
  readonly backup?: boolean | undefined
  /** Default DATABASES. */
  readonly databases?: readonly Upgradable[]
  /** The clock, ms since 1970. */
  readonly now: () => number
  /** Called before it begins, and with each result. */
  readonly onStep?: ((text: string) => void) | undefined
}

/** What one database needs. */
type Need = Upgradable & { readonly file: string; readonly from: number; readonly breaks: boolean }

/**
 * Brings the databases of a folder to the schema of this version. Backs them up before, with `createBackup`.
 *
 * Gateways of the version before may run over the folder meanwhile if everything is only added. Otherwise they have to
 * be stopped first.
 *
 * @returns Whether there was anything to do.
 * @throws InUse if another process does the same, or has a database open that must be changed alone. Error with the
 * reason and the remedy otherwise. Each database then has its old form or its new one.
 */
export async function upgradeData(options: UpgradeOptions): Promise<boolean> {
  const { dataDir, backup = true, databases = DATABASES, now, onStep = () => {} } = options
  const find = () => databases.flatMap((one) => findNeed(dataDir, one))
  if (find().length === 0) return false
  const release = holdLock(
    join(dataDir, 'upgrade.lock'),
    'Another gateway is upgrading the databases of this folder. This one waits for it',
  )
  try {
    // Again, since the other one may have just ended.
    const needs = find()
    if (needs.length === 0) return false
    for (const { file, breaks } of needs) if (breaks) refuseOpen(file)
    if (backup) await backUp(needs, dataDir, now, onStep)
    for (const need of needs) {
      upgrade(need, now)
      onStep(`${need.name} was upgraded to schema ${versionIn(need.file)}`)
    }
    return true
  } finally {
    release()
  }
}

function findNeed(dataDir: string, { name, schema }: Upgradable): Need[] {
  const file = join(dataDir, name)
  // Anything else than a file is reported when it is opened.
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats?.isFile() || stats.size <= 1) return []
  return opening(file, (database) => {
    refuseForeign(database, schema.probe)
    refuseNewer(database, schema)
    return isOutdated(database, schema)
      ? [{ name, schema, file, from: readVersion(database), breaks: isBreaking(database, schema) }]
      : []
  })
}

/** The smaller databases are always in it, so that it can be restored. The log only if it changes: it may be huge. */
async function backUp(
  needs: readonly Need[],
  dataDir: string,
  now: () => number,
  onStep: (text: string) => void,
): Promise<void> {
  const folder = join(dataDir, UPGRADES)
  makePrivateFolder(folder)
  removeBroken(folder)
  const name = `${stampOf(now())}-before-${version}`
  const changed = needs.map((need) => need.name)
  onStep(`Backing up the databases to ${UPGRADES}/${name} before their upgrade`)
  await createBackup({
    dataDir,
    folder: join(folder, name),
    names: DATABASES.map((one) => one.name).filter(
      (one) => one !== 'events.db' || changed.includes(one),
    ),
    remedy:
      'Make room. Or, if you have a backup of your own, start without one: UPGRADE_BACKUP=off',
    now,
  })
  removeOldest(folder)
}

/** Removes backups that were broken off, by a crash or a full disk. */
function removeBroken(folder: string): void {
  for (const name of readdirSync(folder))
    if (!existsSync(join(folder, name, MANIFEST)))
      rmSync(join(folder, name), { recursive: true, force: true })
}

/** Those of the log are counted apart, so that restarts after a failure do not push them out. */
function removeOldest(folder: string): void {
  const backups = readdirSync(folder).sort()
  const isOfLog = (name: string) => existsSync(join(folder, name, 'events.db'))
  for (const group of [backups.filter(isOfLog), backups.filter((name) => !isOfLog(name))])
    for (const old of group.slice(0, -MAX_BACKUPS)) rmSync(join(folder, old), { recursive: true })
}

function upgrade({ name, file, schema, breaks }: Need, now: () => number): void {
  const open = () => (breaks ? openAlone(file) : connect(file, { timeout: 5_000 }))
  try {
    const database = open()
    try {
      setDurable(database, file)
      migrate(database, schema, now)
    } finally {
      database.close()
    }
    makePrivate(file)
  } catch (error) {
    if (error instanceof InUse) throw needsAlone(name)
    throw new Error(explain(file, error), { cause: error })
  }
}

/** @throws InUse if another process has the file open. */
function refuseOpen(file: string): void {
  try {
    openAlone(file).close()
  } catch (error) {
    if (error instanceof InUse) throw needsAlone(file)
    throw new Error(explain(file, error), { cause: error })
  }
}

const needsAlone = (file: string): InUse =>
  new InUse(
    `${file.replace(/^.*[\\/]/, '')} is in use by another gateway, and this version changes its form. Stop the other one first; this one waits for it`,
  )

const versionIn = (file: string): number => opening(file, readVersion)

function opening<Result>(
  file: string,
  read: (database: ReturnType<typeof connect>) => Result,
): Result {
  let database: ReturnType<typeof connect> | undefined
  try {
    database = connect(file, { timeout: 5_000 })
    return read(database)
  } catch (error) {
    throw new Error(explain(file, error), { cause: error })
  } finally {
    database?.close()
  }
}

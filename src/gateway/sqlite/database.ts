import type { Database } from 'better-sqlite3'
import { connect } from './driver.ts'
import { makeFile, makePrivate } from './files.ts'
import { Outdated, openSchema, type Schema } from './schema.ts'

/**
 * Opens a SQLite file so that a commit is on the disk when it returns, and only the owner can read the file.
 *
 * better-sqlite3 is built with `DEFAULT_WAL_SYNCHRONOUS=1`: a WAL database opens with NORMAL, which
 * loses the last commits in a power cut. So FULL is set on every open and read back; `fullfsync` is what
 * makes an fsync reach the disk on macOS and does nothing elsewhere.
 *
 * @param schema Default none: tables are neither checked nor created.
 * @throws Outdated for a file of an earlier version. Error that names the file, when it can not be opened, belongs to
 * another application or a newer version, or does not take these settings.
 */
export function openDatabase(file: string, schema?: Schema): Database {
  let database: Database | undefined
  try {
    makeFile(file)
    database = connect(file, { timeout: 5_000 })
    if (schema) refuseForeign(database, schema.probe)
    if (schema?.isSmall) refuseDamaged(database)
    setDurable(database, file)
    if (schema) openSchema(database, schema)
    makePrivate(file)
    return database
  } catch (error) {
    database?.close()
    if (error instanceof Outdated) throw error
    throw new Error(explain(file, error), { cause: error })
  }
}

/**
 * Writes the -wal to the database, empties it, and closes the database. SQLite does not do this for a file that was
 * moved away: its last commits would stay in the -wal, and would corrupt a backup that is put in its place.
 */
export function closeDatabase(database: Database): void {
  if (!database.open) return
  try {
    // Does not wait for readers.
    database.pragma('busy_timeout = 0')
    database.pragma('wal_checkpoint(TRUNCATE)')
  } catch {
    // The disk is full or broken. The commits are safe in the -wal: the next open reads them.
  }
  database.close()
}

/**
 * Writes the -wal to the database and empties it, since it contains the pages as they were before a removal. Does not
 * wait for readers, since writers would wait too.
 *
 * @returns False if another connection is reading or writing. Then call it again.
 */
export function clearWal(database: Database): boolean {
  const timeout = database.pragma('busy_timeout', { simple: true })
  database.pragma('busy_timeout = 0')
  try {
    const [result] = database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
    return result?.busy === 0
  } catch (error) {
    if (/^SQLITE_(BUSY|LOCKED)/.test((error as { code?: string }).code ?? '')) return false
    throw error
  } finally {
    database.pragma(`busy_timeout = ${timeout}`)
  }
}

/**
 * Refuses a database with the tables of another application. Call it before anything is written.
 *
 * @param probe See Schema.
 * @throws Error that names the file, if it belongs to another application.
 */
export function refuseForeign(database: Database, probe: string): void {
  const tables = database.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck().get()
  if (tables === 0) return
  try {
    database.prepare(probe)
  } catch (error) {
    if ((error as { code?: string }).code !== 'SQLITE_ERROR') throw error
    throw new Error(
      `${database.name} is a database of another application (${(error as Error).message}). Move it away, or choose another folder: DATA_DIR=./data`,
      { cause: error },
    )
  }
}

function refuseDamaged(database: Database): void {
  const found = database.pragma('integrity_check(1)', { simple: true })
  if (found !== 'ok') throw Object.assign(new Error(String(found)), { code: 'SQLITE_CORRUPT' })
}

/**
 * Overwrites what is deleted with zeros, also in this connection's free pages. `auto_vacuum` has an effect on new
 * databases only: the free pages of others are used for new rows, and the file does not get smaller.
 */
export function overwriteDeleted(database: Database): void {
  database.pragma('secure_delete = ON')
  database.pragma('auto_vacuum = INCREMENTAL')
}

/**
 * What is kept of a -wal that has become large, since another connection read for long, such as that of a backup. Twice
 * the size from which the log writes its -wal to the database, since a file that is cut each time costs more.
 */
const MAX_KEPT_WAL = 2 ** 25

/** Makes every commit durable when it returns, and overwrites what is deleted. */
export function setDurable(database: Database, file: string): void {
  overwriteDeleted(database)
  database.pragma('journal_mode = WAL')
  database.pragma(`journal_size_limit = ${MAX_KEPT_WAL}`)
  database.pragma('synchronous = FULL')
  database.pragma('fullfsync = ON')
  database.pragma('checkpoint_fullfsync = ON')
  const mode = database.pragma('journal_mode', { simple: true })
  const synchronous = database.pragma('synchronous', { simple: true })
  if (mode !== 'wal' || synchronous !== 2)
    throw new Error(`${file}: SQLite keeps journal_mode ${mode} and synchronous ${synchronous}`)
}

/** Whether an error of SQLite means that the file itself is damaged. */
export const isDamaged = (error: unknown): boolean =>
  /^SQLITE_(NOTADB|CORRUPT)/.test((error as { code?: string }).code ?? '')

/** SQLite reports an -shm for which there is no room as an I/O error. ENOSPC and EDQUOT are those of Node. */
const NO_ROOM = /^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)$/

type Caused = { readonly code?: string; readonly cause?: Caused }

/** Whether an error, or one that has caused it, means that the disk is full, or that a quota of it is used up. */
export function isDiskFull(error: unknown): boolean {
  for (let one = error as Caused | undefined; one; one = one.cause)
    if (NO_ROOM.test(one.code ?? '')) return true
  return false
}

/** Describes an error of a database for the operator: the file and the remedy. */
export function explain(file: string, error: unknown): string {
  const { code = '', message } = error as { code?: string; message: string }
  if (isDamaged(error))
    return `${file} is not a database of shoptrail, or is damaged (${message}). Stop the gateway, and restore a backup: npx shoptrail restore DIR --yes. Or move the file away with its -wal and -shm, and start with a new one: npx shoptrail data accept`
  if (/^SQLITE_(CANTOPEN|READONLY|PERM|AUTH)/.test(code))
    return `${file} can not be opened for writing (${message}). Check the owner and the permissions of the file and its folder`
  if (/^SQLITE_(BUSY|LOCKED)/.test(code))
    return `${file} is locked by another process (${message}). Stop the other process that has it open`
  if (isDiskFull(error))
    return `${file} or a file beside it can not grow: the disk is full. Make room, or enlarge the disk`
  return message.includes(file) ? message : `${file}: ${message}`
}

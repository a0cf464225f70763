import { existsSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import type { Database } from 'better-sqlite3'
import { connect } from '../driver.ts'
import { makeFile } from '../files.ts'
import { fileIdOf } from '../fileWatch.ts'

/** A file or a folder is in use by another process. It may be free in a moment. */
export class InUse extends Error {
  override readonly name = 'InUse'
}

const isBusy = (error: unknown): boolean =>
  /^SQLITE_(BUSY|LOCKED)/.test((error as { code?: string }).code ?? '')

/**
 * Opens a database so that no other connection, of this process or another, can open it. A connection in WAL mode holds
 * a shared lock for as long as it is open, so this also finds gateways of earlier versions.
 *
 * @throws InUse if another connection has it open.
 */
export function openAlone(file: string): Database {
  const database = connect(file, { timeout: 0 })
  try {
    database.pragma('locking_mode = EXCLUSIVE')
    database.exec('BEGIN EXCLUSIVE; COMMIT')
    return database
  } catch (error) {
    database.close()
    if (isBusy(error))
      throw new InUse(`${basename(file)} is in use by another process. Stop the gateway`)
    throw error
  }
}

/**
 * Holds a lock that ends with the process, however that ends. It is the lock of an empty SQLite file, since Node has
 * none of its own.
 *
 * @param message Of the error, when another process holds it.
 * @returns Releases the lock, and removes its file.
 * @throws InUse if another process holds it.
 */
export function holdLock(file: string, message: string): () => void {
  makeFile(file)
  const opened = fileIdOf(file)
  const database = connect(file, { timeout: 0 })
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    throw isBusy(error) ? new InUse(message) : error
  }
  // The holder before has removed the file meanwhile: a lock of a removed file keeps nobody out.
  if (fileIdOf(file) !== opened) {
    database.close()
    return holdLock(file, message)
  }
  return () => {
    rmSync(file, { force: true })
    database.close()
  }
}

/** @throws InUse if another process holds the lock. Creates no file. */
export function refuseHeld(file: string, message: string): void {
  if (existsSync(file)) holdLock(file, message)()
}

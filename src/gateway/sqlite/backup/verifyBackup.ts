import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import { explain, refuseForeign } from '../database.ts'
import { findPairFault } from '../databasePair.ts'
import { DATABASES } from '../databases.ts'
import { connect } from '../driver.ts'
import { findIdentity, type Identity } from '../identity.ts'
import { refuseNewer } from '../schema.ts'
import { type BackupFile, hashFile, type Manifest, readManifest } from './manifest.ts'

/**
 * Checks that a folder is a whole backup which this version can restore: sizes and hashes as in the manifest, an
 * integrity check of each database, tables of the gateway in a version that it knows, and customers and events that
 * belong together. Writes nothing.
 *
 * @throws Error with the first fault.
 */
export async function verifyBackup(folder: string): Promise<Manifest> {
  const manifest = readManifest(folder)
  for (const file of manifest.files) await verifyFile(folder, file)
  const fault = findPairFaultIn(folder)
  if (fault) throw new Error(`${folder}: ${fault}`)
  return manifest
}

async function verifyFile(folder: string, { name, bytes, sha256 }: BackupFile): Promise<void> {
  const file = join(folder, name)
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined) throw new Error(`${file} is missing`)
  if (size !== bytes || (await hashFile(file)) !== sha256)
    throw new Error(`${file} is not the file that was backed up: its size or its SHA-256 differs`)
  for (const end of ['-wal', '-journal'])
    if (existsSync(file + end))
      throw new Error(
        `${file}${end} was made by another program that has opened the backup. Remove it: rm ${file}${end}`,
      )
  reading(file, (database) => {
    const schema = DATABASES.find((one) => one.name === name)?.schema
    if (schema) {
      refuseForeign(database, schema.probe)
      refuseNewer(database, schema)
    }
    const found = database.pragma('integrity_check(1)', { simple: true })
    if (found !== 'ok') throw Object.assign(new Error(String(found)), { code: 'SQLITE_CORRUPT' })
  })
}

/** Why the customers and the events in a backup do not belong together. Undefined if they do, or one is not in it. */
export function findPairFaultIn(folder: string): string | undefined {
  const [customers, events] = ['customers.db', 'events.db'].map((name): Identity | undefined => {
    const file = join(folder, name)
    return existsSync(file) ? reading(file, findIdentity) : undefined
  })
  return customers && events ? findPairFault(customers, events)?.what : undefined
}

function reading<Result>(file: string, read: (database: Database) => Result): Result {
  let database: Database | undefined
  try {
    database = connect(file, { readonly: true })
    return read(database)
  } catch (error) {
    throw new Error(explain(file, error), { cause: error })
  } finally {
    database?.close()
  }
}

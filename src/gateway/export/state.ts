import { rmSync } from 'node:fs'
import { deserialize, serialize } from 'node:v8'
import { InUse } from '../sqlite/backup/locks.ts'
import { connect } from '../sqlite/driver.ts'
import { makeFile } from '../sqlite/files.ts'
import { bytesOf } from '../sqlite/uuid.ts'
import type { Written } from './format.ts'

/** How far an export is. */
export type Progress = {
  /** The events up to this position are in the file. */
  readonly position: number
  /** See Source.mark. */
  readonly mark: string
  /** The export ends at this position: what arrives after it has begun is not in it. */
  readonly upTo: number
  /** Size of the file, bytes. */
  readonly bytes: number
  /** Events in it. */
  readonly events: number
}

/**
 * The state of an export, in a file of its own: how far it is, the ids that it has, and what the end of the output needs
 * to know. A process that ends at any moment leaves the state of the last `save`.
 */
export type ExportState = {
  /** Undefined before the first `save`. */
  progress(): Progress | undefined
  footers(): Written['footers']
  /** Notes an id. False if it was noted before, up to the last `save` or since then. */
  note(id: string): boolean
  /** Durable when it returns. */
  save(progress: Progress, footer?: Uint8Array): void
  close(): void
  /** Closes it and deletes the file. */
  remove(): void
}

const TABLES = `
  CREATE TABLE IF NOT EXISTS export (request TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS progress (only INTEGER PRIMARY KEY CHECK (only = 1), value BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS footers (number INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS ids (id BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
`

/**
 * @param file Created if it is missing.
 * @param request What is exported. The state of another export is refused.
 * @throws InUse if another process exports to the same file. Error if the state is that of another export.
 */
export function openExportState(file: string, request: string): ExportState {
  makeFile(file)
  const database = connect(file, { timeout: 0 })
  try {
    database.pragma('locking_mode = EXCLUSIVE')
    database.pragma('synchronous = FULL')
    // Its lock keeps other processes out, which `save` releases only for the next transaction of this one.
    database.exec(`BEGIN EXCLUSIVE; ${TABLES}`)
    const begun = database.prepare<[], string>('SELECT request FROM export').pluck().get()
    if (begun === undefined) database.prepare('INSERT INTO export VALUES (?)').run(request)
    else if (begun !== request)
      throw new Error(
        `${file} belongs to an export with other options: ${begun}. Repeat it with the same options, or remove this file to begin anew`,
      )
    database.exec('COMMIT; BEGIN')
  } catch (error) {
    database.close()
    const isBusy = /^SQLITE_(BUSY|LOCKED)/.test((error as { code?: string }).code ?? '')
    throw isBusy ? new InUse(`Another process exports to the same file (${file})`) : error
  }
  const read = database.prepare<[], Buffer>('SELECT value FROM progress').pluck()
  const write = database.prepare('INSERT OR REPLACE INTO progress VALUES (1, ?)')
  const allFooters = database
    .prepare<[], Buffer>('SELECT value FROM footers ORDER BY number')
    .pluck()
  const addFooter = database.prepare('INSERT INTO footers (value) VALUES (?)')
  const addId = database.prepare('INSERT OR IGNORE INTO ids VALUES (?)')

  return {
    progress() {
      const value = read.get()
      return value && deserialize(value)
    },
    footers: () => allFooters.all(),
    note: (id) => addId.run(bytesOf(id)).changes > 0,
    save(progress, footer) {
      write.run(serialize(progress))
      if (footer) addFooter.run(footer)
      database.exec('COMMIT; BEGIN')
    },
    close: () => void database.close(),
    remove() {
      database.close()
      for (const path of [file, `${file}-journal`]) rmSync(path, { force: true })
    },
  }
}

import { randomUUID } from 'node:crypto'
import type { Database } from 'better-sqlite3'

/**
 * A random id stored in the database, and the id of the database that it is used with. They show when a database is
 * missing, or was swapped with one of another folder.
 */
export type Identity = {
  /** UUID, created with the database. */
  readonly id: string
  /** The id of the other database; null until the first start. */
  readonly companion: string | null
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS identity (
    id TEXT NOT NULL,
    companion TEXT
  ) STRICT;
`
const SELECT = 'SELECT id, companion FROM identity'

/** Creates the identity of a database that has none, because it is new or of an earlier version. */
export function makeIdentity(database: Database): void {
  database.exec(TABLE)
  if (database.prepare(SELECT).get()) return
  const make = database.prepare(
    'INSERT INTO identity (id) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM identity)',
  )
  make.run(randomUUID())
}

export const readIdentity = (database: Database): Identity =>
  database.prepare<[], Identity>(SELECT).get() as Identity

/** Undefined for a database of an early version, which has none yet. */
export const findIdentity = (database: Database): Identity | undefined =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'identity'").get()
    ? (database.prepare<[], Identity>(SELECT).get() as Identity | undefined)
    : undefined

/** @param companion The id of the other database. Null if there is none. */
export const setCompanion = (database: Database, companion: string | null): void =>
  void database.prepare('UPDATE identity SET companion = ?').run(companion)

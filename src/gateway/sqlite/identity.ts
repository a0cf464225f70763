import { randomUUID } from 'node:crypto'
import type { Database } from 'better-sqlite3'

/**
 * Which database this is, whatever it is called and wherever it lies, and which other one it was used with: one
 * that is missing or another one shows.
 */
export type Identity = {
  /** A random id, made once. */
  readonly id: string
  /** The id of the other database; null until they are used together. */
  readonly companion: string | null
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS identity (
    id TEXT NOT NULL,
    companion TEXT
  ) STRICT;
`
const SELECT = 'SELECT id, companion FROM identity'

/** Gives a database an identity where it has none: it is new, or of an earlier version. */
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

/** @param companion The id of the other database; null is none. */
export const setCompanion = (database: Database, companion: string | null): void =>
  void database.prepare('UPDATE identity SET companion = ?').run(companion)

import { basename } from 'node:path'
import type { Database } from 'better-sqlite3'
import { version } from '../lib/version.ts'
import { makeIdentity } from './identity.ts'

/** A column in SQL: `events`, `version`, `TEXT`. */
export type AddedColumn = {
  readonly table: string
  readonly column: string
  readonly type: string
}

/** A change of the tables. Never edit one that was released: append another. */
export type Migration = {
  /** SQL, run once, in a transaction. */
  readonly sql: string
  /**
   * Whether it only adds: tables, indexes, and columns that allow NULL or have a default. Then a gateway of the version
   * before, which has the file open, continues to work. Otherwise it is run only while nobody else has the file open.
   */
  readonly adds: boolean
}

/**
 * The tables of a database, without that of its identity and that of its versions.
 *
 * Version 1 is `tables` and `added`: what all files before the numbers had, in one form or another, and what new files
 * begin with. Each migration makes the next version.
 */
export type Schema = {
  /** SQL that creates missing tables. */
  readonly tables: string
  /** Columns of version 1 that a table from before the numbers may lack. They must allow NULL or have a default. */
  readonly added?: readonly AddedColumn[]
  /** From version 1 on. Default none. */
  readonly migrations?: readonly Migration[]
  /**
   * A SELECT that compiles only if the tables are those of the gateway. A database of another application is not
   * changed.
   */
  readonly probe: string
  /** Whether it is small enough for a full integrity check at each open. Default false. */
  readonly isSmall?: boolean
}

/** `made_by` is the version of shoptrail. */
const VERSIONS = `
  CREATE TABLE IF NOT EXISTS schema_versions (
    version INTEGER PRIMARY KEY,
    made_by TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
`

/** A database of an earlier version, which is upgraded at the start of a gateway. */
export class Outdated extends Error {
  override readonly name = 'Outdated'
  constructor(file: string) {
    super(
      `${basename(file)} is from an earlier version of shoptrail. Start the gateway, or run: npx shoptrail data upgrade`,
    )
  }
}

export const versionOf = ({ migrations = [] }: Schema): number => 1 + migrations.length

/** The number of tables. 0 in a new file. */
const countTables = (database: Database): number =>
  database.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck().get() as number

const hasVersions = (database: Database): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_versions'").get() !== undefined

/**
 * The schema version of a file: 0 before there were numbers. `user_version` has it too, for other tools, but a gateway
 * of 0.1.0 sets that to 0 when its disk fails.
 */
export function readVersion(database: Database): number {
  const stored = database.pragma('user_version', { simple: true }) as number
  if (!hasVersions(database)) return stored
  const newest = database.prepare('SELECT max(version) FROM schema_versions').pluck().get()
  return Math.max(stored, Number(newest))
}

/** Whether the file has to be upgraded. False for a new file. */
export const isOutdated = (database: Database, schema: Schema): boolean =>
  countTables(database) > 0 && readVersion(database) < versionOf(schema)

/** Whether the upgrade needs the file for itself. */
export function isBreaking(database: Database, schema: Schema): boolean {
  const done = Math.max(readVersion(database), 1) - 1
  return (schema.migrations ?? []).slice(done).some(({ adds }) => !adds)
}

/** @throws Error with the version that has written the file, if that is a newer one. */
export function refuseNewer(database: Database, schema: Schema): void {
  const found = readVersion(database)
  if (found <= versionOf(schema)) return
  const by = hasVersions(database)
    ? database
        .prepare<[], string>('SELECT made_by FROM schema_versions ORDER BY version DESC LIMIT 1')
        .pluck()
        .get()
    : undefined
  throw new Error(
    `${basename(database.name)} was written by ${by ? `shoptrail ${by}` : 'a newer version of shoptrail'}: its schema is ${found}, and shoptrail ${version} knows ${versionOf(schema)}. Start that version or a newer one, or restore the backup that it made before its upgrade (docs/backup.md)`,
  )
}

/**
 * Brings the tables to the newest version, in one transaction. Creates them in a new file. Does nothing if they are
 * there, such as when two gateways start at once.
 *
 * @param now The clock, ms since 1970.
 */
export function migrate(database: Database, schema: Schema, now: () => number = Date.now): void {
  const target = versionOf(schema)
  const run = database.transaction(() => {
    // Read again: another process may have been faster.
    const from = readVersion(database)
    if (from >= target) return
    if (from === 0) {
      database.exec(schema.tables)
      addColumns(database, schema.added ?? [])
      makeIdentity(database)
    }
    for (const { sql } of (schema.migrations ?? []).slice(Math.max(from, 1) - 1)) database.exec(sql)
    database.exec(VERSIONS)
    const insert = database.prepare('INSERT OR REPLACE INTO schema_versions VALUES (?, ?, ?)')
    for (let made = from + 1; made <= target; made++) insert.run(made, version, now())
    database.pragma(`user_version = ${target}`)
  })
  run.immediate()
}

function addColumns(database: Database, added: readonly AddedColumn[]): void {
  const find = database
    .prepare<[string, string], number>('SELECT 1 FROM pragma_table_info(?) WHERE name = ?')
    .pluck()
  for (const { table, column, type } of added)
    if (find.get(table, column) === undefined)
      database.exec(`ALTER TABLE ${table} ADD COLUMN ${column} ${type}`)
}

/** Creates the tables in a new file. @throws Outdated for a file of an earlier version, and like `refuseNewer`. */
export function openSchema(database: Database, schema: Schema): void {
  refuseNewer(database, schema)
  if (isOutdated(database, schema)) throw new Outdated(database.name)
  if (countTables(database) === 0) migrate(database, schema)
}

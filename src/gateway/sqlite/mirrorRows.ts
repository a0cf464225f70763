import { existsSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import { connect } from './driver.ts'
import {
  createTableRows,
  keyOf,
  type MirroredTable,
  type RowKey,
  type TableRows,
} from './tableRows.ts'

/** A row that was changed here, and is not in the bucket yet. */
export type ChangedRow = {
  /** Number of the change. A later change of the row has a larger one. */
  readonly id: number
  readonly table: string
  readonly key: RowKey
  /** The revision of the row that was changed. 0 if the bucket had none. */
  readonly revision: number
  /** The row as JSON. Undefined if it was deleted. */
  readonly value: string | undefined
  /** The row as it was in the bucket. */
  readonly before: string | undefined
}

/** A row of the bucket. */
export type RemoteRow = Pick<ChangedRow, 'table' | 'key' | 'revision' | 'value'>

/** A change that is in the bucket. */
export type SettledRow = Pick<ChangedRow, 'id' | 'table' | 'key' | 'value'> & {
  /** Its revision there. Undefined if nothing had to be written, since the bucket has the row as it is. */
  readonly revision: number | undefined
}

/** How far the tables follow the bucket. */
export type MirrorState = {
  /** Id of the cluster that the rows are from. Undefined before the first `begin`. */
  readonly layout: string | undefined
  /** Every row of the bucket up to this revision was applied. */
  readonly position: number
  /** When the tables had all rows of the bucket for the last time, ms since 1970. 0 if never. */
  readonly reachedAt: number
}

/** What `apply`, `finish` and `undo` have done. */
export type Applied = {
  /** Tables with changed rows. */
  readonly tables: readonly string[]
  /** Whether unsettled changes were undone, since one of them met another change of the same row. */
  readonly isUndone: boolean
  /** Why rows of the bucket were left out: they do not fit into the tables. */
  readonly faults: readonly string[]
}

/**
 * The local side of a mirror: the rows of some tables, and which of them were changed here.
 *
 * Triggers record every change, also those of other connections and processes, except what the mirror applies.
 */
export type MirrorRows = {
  state(): MirrorState
  /**
   * Begins to read the bucket.
   *
   * @param layout Id of the cluster. Rows of another one are removed, without a trace in the bucket.
   * @param isFull Whether all rows come again. `finish` removes those that did not.
   */
  begin(layout: string, isFull: boolean): void
  /**
   * Applies rows of the bucket. Revisions that are not newer are ignored. If a row has an unsettled change and is not
   * the same now, the bucket's row wins, and all unsettled changes are undone: they may belong together.
   */
  apply(rows: readonly RemoteRow[], position: number): Applied
  /** All rows of the bucket were applied. */
  finish(isFull: boolean, now: number): Applied
  /** Unsettled changes, the oldest first. */
  changes(limit: number): readonly ChangedRow[]
  /** A row that was changed again meanwhile stays unsettled. */
  settle(rows: readonly SettledRow[]): void
  /** Undoes all unsettled changes. */
  undo(): Applied
}

/** `value` is NULL for a deleted row, whose revision is remembered until `position` is past it. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS mirror_state (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    layout TEXT,
    columns TEXT NOT NULL,
    position INTEGER NOT NULL,
    reached_at INTEGER NOT NULL,
    applying INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS mirror_rows (
    table_name TEXT NOT NULL,
    row_key TEXT NOT NULL,
    revision INTEGER NOT NULL,
    value TEXT,
    seen INTEGER NOT NULL,
    PRIMARY KEY (table_name, row_key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS mirror_changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    table_name TEXT NOT NULL,
    row_key TEXT NOT NULL,
    UNIQUE (table_name, row_key)
  ) STRICT;
`

/** Whether the tables of a database are kept equal with a bucket. */
export const isMirrored = (database: Database): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'mirror_state'").get() !== undefined

/**
 * For gateways that store in SQLite. Leaves the faults of the file to those who open it.
 *
 * @throws Error that names the file, if it is the copy of a cluster.
 */
export function refuseMirrored(file: string): void {
  if (!existsSync(file)) return
  let isCopy = false
  try {
    // A connection that only reads would leave a -shm and a -wal beside the file.
    const database = connect(file, { fileMustExist: true, timeout: 0 })
    try {
      isCopy = isMirrored(database)
    } finally {
      database.close()
    }
  } catch {
    return
  }
  if (isCopy)
    throw new Error(
      `${file} is a gateway's copy of a cluster. Set ENGINE to the cluster, or DATA_DIR to another folder`,
    )
}

type Known = { readonly revision: number; readonly value: string | null }
type Change = { readonly id: number; readonly table_name: string; readonly row_key: string }

/**
 * Creates what is missing in the database: three tables and the triggers. Rows that are there already count as changed.
 *
 * A REPLACE that removes a row with another key, because of a second UNIQUE, is not recorded for that row: SQLite runs
 * no trigger for it.
 *
 * @param database Its connection is not used by others within the calls.
 */
export function createMirrorRows(database: Database, tables: readonly MirroredTable[]): MirrorRows {
  const rowsOf = new Map(tables.map((one) => [one.table, createTableRows(database, one)]))
  const columns = JSON.stringify([...rowsOf].map(([table, rows]) => [table, rows.columns]))
  database.transaction(() => prepareTables(database, rowsOf.values(), columns)).immediate()

  const selectState = database.prepare<
    [],
    { layout: string | null; position: number; reached_at: number }
  >('SELECT layout, position, reached_at FROM mirror_state')
  const setApplying = database.prepare<[0 | 1]>('UPDATE mirror_state SET applying = ?')
  const setPosition = database.prepare<[number]>(
    'UPDATE mirror_state SET position = max(position, ?)',
  )
  const selectKnown = database.prepare<[string, string], Known>(
    'SELECT revision, value FROM mirror_rows WHERE table_name = ? AND row_key = ?',
  )
  const putKnown = database.prepare<[string, string, number, string | null]>(
    'INSERT OR REPLACE INTO mirror_rows (table_name, row_key, revision, value, seen) VALUES (?, ?, ?, ?, 1)',
  )
  const markSeen = database.prepare<[string, string]>(
    'UPDATE mirror_rows SET seen = 1 WHERE table_name = ? AND row_key = ? AND seen = 0',
  )
  const forgetKnown = database.prepare<[string, string]>(
    'DELETE FROM mirror_rows WHERE table_name = ? AND row_key = ?',
  )
  const forgetDeleted = database.prepare(
    'DELETE FROM mirror_rows WHERE value IS NULL AND revision <= (SELECT position FROM mirror_state)',
  )
  const selectUnseen = database.prepare<[], Change>(
    'SELECT 0 AS id, table_name, row_key FROM mirror_rows WHERE seen = 0',
  )
  const selectChanges = database.prepare<[number], Change>(
    'SELECT id, table_name, row_key FROM mirror_changes ORDER BY id LIMIT ?',
  )
  const takeChange = database.prepare<[string, string]>(
    'DELETE FROM mirror_changes WHERE table_name = ? AND row_key = ?',
  )
  const takeOneChange = database.prepare<[number]>('DELETE FROM mirror_changes WHERE id = ?')

  /** Runs a transaction whose changes the triggers do not record. */
  function applying<Args extends unknown[], Result>(work: (...args: Args) => Result) {
    const run = database.transaction((...args: Args) => {
      setApplying.run(1)
      const result = work(...args)
      setApplying.run(0)
      return result
    })
    return (...args: Args): Result => run.immediate(...args)
  }

  /** Restores the rows of all unsettled changes as the bucket has them. */
  function restore(changed: Set<string>): void {
    for (const { id, table_name, row_key } of selectChanges.all(-1)) {
      takeOneChange.run(id)
      const rows = rowsOf.get(table_name)
      if (!rows) continue
      const value = selectKnown.get(table_name, row_key)?.value ?? undefined
      rows.write(JSON.parse(row_key), value)
      changed.add(table_name)
    }
  }

  /** @returns Whether an unsettled change of this row, or of one in its place, is lost. */
  function applyOne({ table, key, revision, value }: RemoteRow, changed: Set<string>): boolean {
    const rows = rowsOf.get(table)
    if (rows?.key.length !== key.length) return false
    const rowKey = rows.keyText(key)
    markSeen.run(table, rowKey)
    const known = selectKnown.get(table, rowKey)
    if (known && known.revision >= revision) return false
    const next = value === undefined ? undefined : rows.normalize(value)
    const isChanged = takeChange.run(table, rowKey).changes > 0
    let isLost = isChanged && rows.read(key) !== next
    // A row that has one of its unique values. If that is settled, the bucket has a newer one of it.
    for (const other of next === undefined ? [] : rows.findInPlace(key, next))
      if (takeChange.run(table, other).changes > 0) isLost = true
    rows.write(key, next)
    putKnown.run(table, rowKey, revision, next ?? null)
    changed.add(table)
    return isLost
  }

  const apply = applying((remote: readonly RemoteRow[], position: number): Applied => {
    const changed = new Set<string>()
    const faults: string[] = []
    let isUndone = false
    for (const row of remote)
      try {
        if (applyOne(row, changed)) isUndone = true
      } catch (error) {
        // The others must not wait for it.
        if (!isConstraint(error)) throw error
        faults.push(`A row of ${row.table} can not be stored: ${(error as Error).message}`)
      }
    if (isUndone) restore(changed)
    setPosition.run(position)
    forgetDeleted.run()
    return { tables: [...changed], isUndone, faults }
  })

  const finish = applying((isFull: boolean, now: number): Applied => {
    const changed = new Set<string>()
    let isUndone = false
    for (const { table_name, row_key } of isFull ? selectUnseen.all() : []) {
      if (takeChange.run(table_name, row_key).changes > 0) isUndone = true
      rowsOf.get(table_name)?.write(JSON.parse(row_key), undefined)
      forgetKnown.run(table_name, row_key)
      changed.add(table_name)
    }
    if (isUndone) restore(changed)
    database.prepare('UPDATE mirror_state SET reached_at = ?').run(now)
    return { tables: [...changed], isUndone, faults: [] }
  })

  return {
    state() {
      const { layout, position, reached_at } = selectState.get() as NonNullable<
        ReturnType<typeof selectState.get>
      >
      return { layout: layout ?? undefined, position, reachedAt: reached_at }
    },
    begin: applying((layout: string, isFull: boolean): void => {
      const before = selectState.get()?.layout ?? null
      if (before !== null && before !== layout) {
        for (const { table } of tables) database.exec(`DELETE FROM ${table}`)
        database.exec('DELETE FROM mirror_rows; DELETE FROM mirror_changes')
        database.exec('UPDATE mirror_state SET reached_at = 0')
      }
      database.prepare('UPDATE mirror_state SET layout = ?').run(layout)
      if (!isFull) return
      database.exec('UPDATE mirror_state SET position = 0; UPDATE mirror_rows SET seen = 0')
    }),
    apply,
    finish,
    changes: database.transaction((limit: number): readonly ChangedRow[] =>
      selectChanges.all(limit).flatMap(({ id, table_name: table, row_key }) => {
        const rows = rowsOf.get(table)
        if (!rows) return []
        const key: RowKey = JSON.parse(row_key)
        const known = selectKnown.get(table, row_key)
        const { revision = 0, value } = known ?? {}
        return [{ id, table, key, revision, value: rows.read(key), before: value ?? undefined }]
      }),
    ),
    settle: database.transaction((settled: readonly SettledRow[]): void => {
      for (const { id, table, key, revision, value } of settled) {
        takeOneChange.run(id)
        const rowKey = rowsOf.get(table)?.keyText(key)
        if (rowKey === undefined || revision === undefined) continue
        const known = selectKnown.get(table, rowKey)
        if (!known || known.revision < revision)
          putKnown.run(table, rowKey, revision, value ?? null)
      }
    }).immediate,
    undo: applying((): Applied => {
      const changed = new Set<string>()
      restore(changed)
      return { tables: [...changed], isUndone: changed.size > 0, faults: [] }
    }),
  }
}

/** Whether a row does not fit: it is no JSON, a column is missing or has another type. */
const isConstraint = (error: unknown): boolean =>
  error instanceof SyntaxError || /^SQLITE_CONSTRAINT/.test((error as { code?: string }).code ?? '')

function prepareTables(database: Database, all: Iterable<TableRows>, columns: string): void {
  database.exec(TABLES)
  database.prepare('INSERT OR IGNORE INTO mirror_state VALUES (1, NULL, ?, 0, 0, 0)').run(columns)
  const before = database.prepare('SELECT columns FROM mirror_state').pluck().get()
  // Tables and columns that the version before did not know are read again, so no revision may count as known.
  if (before !== columns) {
    database.prepare('UPDATE mirror_state SET columns = ?, position = 0').run(columns)
    database.exec('UPDATE mirror_rows SET revision = revision - 1')
  }
  for (const rows of all) prepareTriggers(database, rows)
}

function prepareTriggers(database: Database, { table, key, keyTypes }: TableRows): void {
  const find = database
    .prepare<[string], string>("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?")
    .pluck()
  // Not INSERT OR REPLACE: the OR of the statement that fires a trigger holds for the statements of the trigger.
  const record = (row: string) => {
    const rowKey = keyOf(row, key, keyTypes)
    return `DELETE FROM mirror_changes WHERE table_name = '${table}' AND row_key = ${rowKey}; INSERT INTO mirror_changes (table_name, row_key) VALUES ('${table}', ${rowKey});`
  }
  const events = { INSERT: ['NEW.'], UPDATE: ['OLD.', 'NEW.'], DELETE: ['OLD.'] }
  for (const [event, rows] of Object.entries(events)) {
    const name = `mirror_${table}_${event.toLowerCase()}`
    const sql = `CREATE TRIGGER ${name} AFTER ${event} ON ${table} WHEN (SELECT applying FROM mirror_state) = 0 BEGIN ${rows.map(record).join(' ')} END`
    const existing = find.get(name)
    if (existing === sql) continue
    database.exec(`DROP TRIGGER IF EXISTS ${name}; ${sql}`)
    if (event === 'INSERT' && existing === undefined)
      database.exec(
        `INSERT OR IGNORE INTO mirror_changes (table_name, row_key) SELECT '${table}', ${keyOf('', key, keyTypes)} FROM ${table}`,
      )
  }
}

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '../sqlite/driver.ts'
import { makeFile } from '../sqlite/files.ts'

/** The events of the log up to `source` are in the streams, and those of a partition at or before `sequence`. */
export type Checkpoint = {
  /** A position of the log. */
  readonly source: number
  /** By partition. */
  readonly sequences: readonly number[]
}

/**
 * How far a move is, in a file in DATA_DIR. A process that ends at any moment leaves the last state that was saved.
 */
export type MoveState = {
  /** The cluster that the data is moved to. Undefined before `begin`. */
  readonly layout: () => string | undefined
  begin(layout: string): void
  /** The last checkpoint. */
  last(): Checkpoint | undefined
  /** The last checkpoint before a position of the log, and the first one from it on: its batch is between them. */
  before(source: number): Checkpoint | undefined
  from(source: number): Checkpoint | undefined
  /** Durable when it returns. */
  save(checkpoint: Checkpoint): void
  /** Notes that something was done, and must not be done again. */
  note(done: string): void
  isDone(done: string): boolean
  close(): void
}

const TABLES = `
  CREATE TABLE IF NOT EXISTS target (layout TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS checkpoints (source INTEGER PRIMARY KEY, sequences TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS done (what TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
`

/** How far a move is, in DATA_DIR. It is kept, so that a move that is repeated stores nothing twice. */
export const STATE = 'move.db'

/** A move was complete, so the cluster is newer from then on. */
export const EVERYTHING = 'everything'

/** Whether a folder was moved to a cluster. Its faults are left to the move. */
export function isMoved(folder: string): boolean {
  const file = join(folder, STATE)
  if (!existsSync(file)) return false
  try {
    const database = connect(file, { readonly: true, fileMustExist: true })
    try {
      return database.prepare('SELECT 1 FROM done WHERE what = ?').get(EVERYTHING) !== undefined
    } finally {
      database.close()
    }
  } catch {
    return false
  }
}

type Stored = { readonly source: number; readonly sequences: string }

/** @param file Created if it is missing. */
export function openMoveState(file: string): MoveState {
  makeFile(file)
  const database = connect(file, { timeout: 5_000 })
  database.pragma('synchronous = FULL')
  database.exec(TABLES)
  const layout = database.prepare<[], string>('SELECT layout FROM target').pluck()
  const newest = database.prepare<[], Stored>(
    'SELECT source, sequences FROM checkpoints ORDER BY source DESC LIMIT 1',
  )
  const before = database.prepare<[number], Stored>(
    'SELECT source, sequences FROM checkpoints WHERE source < ? ORDER BY source DESC LIMIT 1',
  )
  const from = database.prepare<[number], Stored>(
    'SELECT source, sequences FROM checkpoints WHERE source >= ? ORDER BY source LIMIT 1',
  )
  const insert = database.prepare('INSERT OR REPLACE INTO checkpoints VALUES (?, ?)')
  const mark = database.prepare('INSERT OR IGNORE INTO done VALUES (?)')
  const marked = database.prepare<[string], number>('SELECT 1 FROM done WHERE what = ?').pluck()
  const read = (stored: Stored | undefined): Checkpoint | undefined =>
    stored && { source: stored.source, sequences: JSON.parse(stored.sequences) }
  return {
    layout: () => layout.get(),
    begin: (id) => void database.prepare('INSERT INTO target VALUES (?)').run(id),
    last: () => read(newest.get()),
    before: (source) => read(before.get(source)),
    from: (source) => read(from.get(source)),
    save: ({ source, sequences }) => void insert.run(source, JSON.stringify(sequences)),
    note: (done) => void mark.run(done),
    isDone: (done) => marked.get(done) !== undefined,
    close: () => void database.close(),
  }
}

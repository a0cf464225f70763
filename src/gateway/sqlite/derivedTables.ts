import type { Database } from 'better-sqlite3'
import { closeDatabase, openDatabase } from './database.ts'
import { FORWARD_SCHEMA } from './forwardStore.ts'
import { createMirrorRows, type MirrorRows } from './mirrorRows.ts'
import { EVENTS_SCHEMA } from './store.ts'
import type { MirroredTable } from './tableRows.ts'

/** A file of a copy, part of which can not be made again from the log. */
export type DerivedFile = 'events' | 'forward'

/** The tables with that part. `leases` of forward.db says which process forwards, and stays here. */
const TABLES: Readonly<Record<DerivedFile, readonly MirroredTable[]>> = {
  events: [
    { table: 'closed_reports', key: ['customer'] },
    { table: 'closed_figures', key: ['customer', 'utm'] },
    { table: 'erasures', key: ['proof'] },
  ],
  forward: [
    { table: 'destinations', key: ['id'] },
    { table: 'progress', key: ['destination'] },
    { table: 'letters', key: ['destination', 'seq'] },
    { table: 'patches', key: ['patch'] },
  ],
}
const SCHEMAS = { events: EVENTS_SCHEMA, forward: FORWARD_SCHEMA }

/** A dead letter, by the key of its row. */
export type LetterKey = { readonly destination: string; readonly seq: number }

/** The mirrored rows of one file. Synchronous. */
export type DerivedTables = MirrorRows & {
  /** The dead letters of these events. Only for forward.db. */
  lettersOf(seqs: readonly number[]): readonly LetterKey[]
  close(): void
}

/** @param path Created if it is missing; its folder is not. */
export function openDerivedTables(file: DerivedFile, path: string): DerivedTables {
  const database: Database = openDatabase(path, SCHEMAS[file])
  try {
    const rows = createMirrorRows(database, TABLES[file])
    return {
      ...rows,
      lettersOf(seqs) {
        const find = database.prepare<[number], LetterKey>(
          'SELECT destination, seq FROM letters WHERE seq = ?',
        )
        return seqs.flatMap((seq) => find.all(seq))
      },
      close: () => closeDatabase(database),
    }
  } catch (error) {
    database.close()
    throw error
  }
}

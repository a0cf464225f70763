import type { Database } from 'better-sqlite3'
import type { DeadLetter, LetterFilter, LetterGroup } from '../forward/forwarding.ts'
import { uuidOf } from './uuid.ts'

/**
 * The dead letters. The payload stays in the log, so an erasure and the retention remove it. Mending in bulk gives one
 * patch to many letters.
 */
export const LETTER_TABLES = `
  CREATE TABLE IF NOT EXISTS letters (
    destination TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id BLOB NOT NULL,
    operation TEXT NOT NULL,
    reason TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    patch INTEGER,
    replayed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (destination, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS letters_by_replay ON letters (destination, replayed, seq);
  CREATE INDEX IF NOT EXISTS letters_by_seq ON letters (seq);
  CREATE TABLE IF NOT EXISTS patches (
    patch INTEGER PRIMARY KEY,
    json TEXT NOT NULL
  ) STRICT;
`

/** A letter without the payload. */
export type Letter = Omit<DeadLetter, 'payload' | 'fault'>

/** A refusal to keep. */
export type Refused = Pick<
  Letter,
  'seq' | 'eventId' | 'operation' | 'reason' | 'firstAt' | 'lastAt' | 'attempts'
>

/** Synchronous, like the store. */
export type LetterRows = {
  count(destination: string): number
  /** @param max The most letters, from 1. */
  page(destination: string, filter: LetterFilter, after: number, max: number): Letter[]
  countOf(destination: string, filter: LetterFilter): number
  groups(destination: string, max: number): LetterGroup[]
  /** The letters that are to be sent again, in the order of the log. */
  replayed(destination: string, max: number): Letter[]
  /** Adds a letter, or what became of it when it was sent again. */
  put(destination: string, letter: Refused): void
  remove(destination: string, seq: number): boolean
  /** Each returns how many letters it has changed. */
  mend(destination: string, filter: LetterFilter, patch: string | null): number
  replay(destination: string, filter: LetterFilter): number
  discard(destination: string, filter: LetterFilter): number
  /** Positions of letters of all destinations, in order, each once. */
  positions(after: number, max: number): number[]
  /** Removes the letters of these events. Returns how many. */
  removeEvents(seqs: readonly number[]): number
}

type Row = Omit<Letter, 'eventId' | 'patch' | 'isReplayed'> & {
  readonly id: Buffer
  readonly patch: string | null
  readonly replayed: number
}

type Filter = {
  readonly destination: string
  readonly operation: string | null
  readonly reason: string | null
  readonly seq: number | null
}

const COLUMNS =
  'seq, id, operation, reason, first_at AS firstAt, last_at AS lastAt, attempts, json AS patch, replayed'
const FROM = 'FROM letters LEFT JOIN patches USING (patch)'
const MATCHES = `destination = @destination AND (@operation IS NULL OR operation = @operation)
  AND (@reason IS NULL OR reason = @reason) AND (@seq IS NULL OR seq = @seq)`

export function createLetterRows(database: Database): LetterRows {
  const count = database
    .prepare<[string], number>('SELECT count(*) FROM letters WHERE destination = ?')
    .pluck()
  const page = database.prepare<Filter & { after: number; max: number }, Row>(
    `SELECT ${COLUMNS} ${FROM} WHERE ${MATCHES} AND seq > @after ORDER BY seq LIMIT @max`,
  )
  const countOf = database
    .prepare<Filter, number>(`SELECT count(*) FROM letters WHERE ${MATCHES}`)
    .pluck()
  const groups = database.prepare<[string, number], LetterGroup>(
    `SELECT operation, reason, count(*) AS count FROM letters WHERE destination = ?
     GROUP BY operation, reason ORDER BY count(*) DESC, operation, reason LIMIT ?`,
  )
  const replayed = database.prepare<[string, number], Row>(
    `SELECT ${COLUMNS} ${FROM} WHERE destination = ? AND replayed = 1 ORDER BY seq LIMIT ?`,
  )
  const put = database.prepare(
    `INSERT INTO letters (destination, seq, id, operation, reason, first_at, last_at, attempts)
     VALUES (@destination, @seq, @id, @operation, @reason, @firstAt, @lastAt, @attempts)
     ON CONFLICT (destination, seq) DO UPDATE SET reason = excluded.reason, last_at = excluded.last_at,
       attempts = attempts + excluded.attempts, replayed = 0`,
  )
  const remove = database.prepare<[string, number]>(
    'DELETE FROM letters WHERE destination = ? AND seq = ?',
  )
  const addPatch = database
    .prepare<[string], number>('INSERT INTO patches (json) VALUES (?) RETURNING patch')
    .pluck()
  const setPatch = database.prepare<Filter & { patch: number | null }>(
    `UPDATE letters SET patch = @patch WHERE ${MATCHES}`,
  )
  const dropPatches = database.prepare(
    'DELETE FROM patches WHERE patch NOT IN (SELECT patch FROM letters WHERE patch IS NOT NULL)',
  )
  const setReplayed = database.prepare<Filter>(
    `UPDATE letters SET replayed = 1 WHERE ${MATCHES} AND replayed = 0`,
  )
  const discard = database.prepare<Filter>(`DELETE FROM letters WHERE ${MATCHES}`)
  const positions = database
    .prepare<[number, number], number>(
      'SELECT DISTINCT seq FROM letters WHERE seq > ? ORDER BY seq LIMIT ?',
    )
    .pluck()
  const removeEvent = database.prepare<[number]>('DELETE FROM letters WHERE seq = ?')

  const mend = database.transaction((filter: Filter, json: string | null): number => {
    const patch = json === null ? null : (addPatch.get(json) as number)
    const { changes } = setPatch.run({ ...filter, patch })
    dropPatches.run()
    return changes
  })
  const discardAll = database.transaction((filter: Filter): number => {
    const { changes } = discard.run(filter)
    dropPatches.run()
    return changes
  })
  const removeEvents = database.transaction((seqs: readonly number[]): number => {
    const removed = seqs.reduce((sum, seq) => sum + removeEvent.run(seq).changes, 0)
    dropPatches.run()
    return removed
  })

  return {
    count: (destination) => count.get(destination) as number,
    page: (destination, filter, after, max) =>
      page.all({ ...toFilter(destination, filter), after, max }).map(toLetter),
    countOf: (destination, filter) => countOf.get(toFilter(destination, filter)) as number,
    groups: (destination, max) => groups.all(destination, max),
    replayed: (destination, max) => replayed.all(destination, max).map(toLetter),
    put(destination, { eventId, ...letter }) {
      put.run({ ...letter, destination, id: Buffer.from(eventId.replaceAll('-', ''), 'hex') })
    },
    remove: (destination, seq) => remove.run(destination, seq).changes > 0,
    mend: (destination, filter, patch) => mend.immediate(toFilter(destination, filter), patch),
    replay: (destination, filter) => setReplayed.run(toFilter(destination, filter)).changes,
    discard: (destination, filter) => discardAll.immediate(toFilter(destination, filter)),
    positions: (after, max) => positions.all(after, max),
    removeEvents: (seqs) => removeEvents.immediate(seqs),
  }
}

const toFilter = (destination: string, filter: LetterFilter): Filter => ({
  destination,
  operation: filter.operation ?? null,
  reason: filter.reason ?? null,
  seq: filter.seq ?? null,
})

const toLetter = ({ id, patch, replayed, ...row }: Row): Letter => ({
  ...row,
  eventId: uuidOf(id),
  patch: patch === null ? null : JSON.parse(patch),
  isReplayed: replayed === 1,
})

import type { Database } from 'better-sqlite3'
import { isOfServers, type Usage } from '../customers/usage.ts'
import type { CountBatch } from '../problems/problems.ts'
import { type Cells, COLUMNS, eachRow } from './cells.ts'
import { type CopyComparison, createCopyComparison } from './copyComparison.ts'
import {
  COPY_REMOVAL_TABLES,
  type CopyRemovals,
  createCopyRemovals,
  type ErasedEvent,
} from './copyRemovals.ts'
import { hasState, type StateRows } from './stateRows.ts'
import type { UsageRows } from './usageRows.ts'

/** A log that this file is a copy of, and how far it is copied. */
export type Copied = {
  /** Identifies the log. */
  readonly source: string
  /** Everything up to this sequence is in the copy. */
  readonly last: number
}

/** A run of a log's messages, in order. */
export type CopyBatch = {
  /** The sequence before the first of them: the copy must have reached it. */
  readonly after: number
  /** The sequence of the last of them. */
  readonly last: number
  /** The events, see `toCells`. */
  readonly cells: Cells
  /** The sequence of each event. It becomes its position. */
  readonly seqs: readonly number[]
  /** Positions of erased events, and counts. */
  readonly others: readonly OtherMessage[]
}

/** A message that is not an event. */
export type OtherMessage = { readonly seq: number } & (
  | { readonly customer: string; readonly erased: readonly ErasedEvent[] }
  | { readonly customer: string; readonly expiredTo: number }
  | { readonly counts: CountBatch }
)

/** The result of `apply`. */
export type AppliedBatch = {
  /** The position of the copy now. It is less than that of the batch if the copy had not reached its beginning. */
  readonly last: number
  /** The new sums of that day, of the customers with new events. */
  readonly usage: readonly Usage[]
}

/** The copy of a log that is kept elsewhere. Synchronous, like the store. */
export type Copying = CopyRemovals &
  CopyComparison & {
    /** Undefined if this file is not a copy yet. */
    copied(): Copied | undefined
    /** Makes an empty file the copy of a log. @throws Error if it has events. */
    beginCopy(source: string): void
    /**
     * Applies messages that the copy does not have yet, in one transaction. An id that the customer already has is not
     * stored again. Another process may have applied some of them before. Not durable before the next durable commit.
     */
    apply(batch: CopyBatch): AppliedBatch
  }

/** Not part of the schema, since only copies have it. It has one row. */
const COPIED_TABLE = `
  CREATE TABLE IF NOT EXISTS copied (
    source TEXT NOT NULL,
    last INTEGER NOT NULL
  ) STRICT;
`

/** @param writeCounts Call it in a transaction. */
export function createCopying(
  database: Database,
  usageRows: UsageRows,
  states: Pick<StateRows, 'addState'>,
  writeCounts: (batch: CountBatch) => void,
): Copying {
  const isCopy = database
    .prepare<[], number>("SELECT count(*) FROM sqlite_schema WHERE name = 'copied'")
    .pluck()
  let statements: ReturnType<typeof prepare> | undefined

  /** Only a copy has the table. */
  function prepare() {
    return {
      removals: createCopyRemovals(database),
      comparison: createCopyComparison(database),
      find: database.prepare<[], Copied>('SELECT source, last FROM copied'),
      move: database.prepare<[number]>('UPDATE copied SET last = ?'),
      insert: database.prepare(
        `INSERT INTO events (${COLUMNS}, seq)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT), ?) ON CONFLICT (customer, id) DO NOTHING`,
      ),
    }
  }

  function prepared() {
    statements ??= prepare()
    return statements
  }

  const copied = (): Copied | undefined => (isCopy.get() === 0 ? undefined : prepared().find.get())

  const beginCopy = database.transaction((source: string): void => {
    if (database.prepare('SELECT 1 FROM events LIMIT 1').get())
      throw new Error('Only an empty events.db can become a copy')
    database.exec(COPIED_TABLE + COPY_REMOVAL_TABLES)
    database.prepare('DELETE FROM copied').run()
    database.prepare<[string]>('INSERT INTO copied (source, last) VALUES (?, 0)').run(source)
  })

  const apply = database.transaction((batch: CopyBatch): AppliedBatch => {
    const { find, move, insert, removals } = prepared()
    const { last } = find.get() as Copied
    if (last < batch.after || last >= batch.last) return { last, usage: [] }
    usageRows.reset()
    let index = 0
    eachRow(batch.cells, (...row) => {
      const seq = batch.seqs[index++] as number
      if (seq <= last) return
      const { changes } = insert.run(...row, seq)
      if (changes === 0) {
        removals.noteRepeat(seq, String(row[0]), row[9])
        return
      }
      usageRows.count(String(row[0]), row[7], row[10].length, isOfServers(row[1]))
      if (hasState(row[1])) states.addState(String(row[0]), String(row[1]), row[7], row[10], seq)
    })
    // After the events: what is removed was stored before, and counts do not depend on events.
    for (const other of batch.others) {
      if (other.seq <= last) continue
      if ('erased' in other) removals.noteErased(other.customer, other.erased)
      else if ('expiredTo' in other) removals.noteExpired(other.customer, other.expiredTo)
      else writeCounts(other.counts)
    }
    move.run(batch.last)
    return { last: batch.last, usage: usageRows.write() }
  })

  /**
   * Does not wait for the disk. A killed process loses nothing of it. A power cut may take the last messages together
   * with the position, and they are read from the log again.
   */
  function applyWithoutWaiting(batch: CopyBatch): AppliedBatch {
    database.pragma('synchronous = NORMAL')
    try {
      return apply.immediate(batch)
    } finally {
      database.pragma('synchronous = FULL')
    }
  }

  return {
    copied,
    beginCopy: (source) => beginCopy.immediate(source),
    apply: applyWithoutWaiting,
    toRemove: () => prepared().removals.toRemove(),
    repeatsOf: (customer, ids) => prepared().removals.repeatsOf(customer, ids),
    dueRepeats: (max) => prepared().removals.dueRepeats(max),
    forgetRepeats: (seqs) => prepared().removals.forgetRepeats(seqs),
    firstAbsent: (from, upTo) => prepared().comparison.firstAbsent(from, upTo),
    compareEvent: (seq, event) => prepared().comparison.compareEvent(seq, event),
  }
}

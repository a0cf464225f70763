import type { Database } from 'better-sqlite3'
import { bytesOf } from './uuid.ts'

/** An event that was erased: its position, and its id in the usual text form. */
export type ErasedEvent = { readonly seq: number; readonly id: string }

/** What has to be removed from a copy of a log. */
export type ToRemove = {
  /** Whether there are events to erase, see PersonStore. */
  readonly hasErased: boolean
  /** Customers whose events up to a position have expired and are still in the copy. */
  readonly expired: readonly { readonly customer: string; readonly upTo: number }[]
}

/** What was removed from a log that this file is a copy of. Synchronous, like the store. */
export type CopyRemovals = {
  toRemove(): ToRemove
  /** Sequences of messages in which the log repeats these events of a customer. */
  repeatsOf(customer: string, ids: readonly string[]): number[]
  /** Sequences of messages that repeat an event which was removed. They have to be deleted from the log. */
  dueRepeats(max: number): number[]
  /** These messages are not in the log any more. */
  forgetRepeats(seqs: readonly number[]): void
}

/** The functions that `apply` uses. Call them in its transaction. */
export type CopyNotes = {
  /** The message at `seq` has an id that the copy already has. */
  noteRepeat(seq: number, customer: string, id: Uint8Array): void
  /** Events were erased. Their ids stay known, also in a copy that never had the events. */
  noteErased(customer: string, events: readonly ErasedEvent[]): void
  /** All events of a customer up to a position have expired. */
  noteExpired(customer: string, upTo: number): void
}

/**
 * `repeated`: messages whose id the copy already had. `due`: its event was removed, so the message has to be deleted
 * too. `to_erase`: positions of events that were erased from the log, and are still in this copy. `expired`: the events
 * of a customer up to `seq` are removed from the log. Copies remove them at their own pace (`swept`).
 */
export const COPY_REMOVAL_TABLES = `
  CREATE TABLE IF NOT EXISTS repeated (
    seq INTEGER PRIMARY KEY,
    customer TEXT NOT NULL,
    id BLOB NOT NULL,
    due INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS repeated_by_id ON repeated (customer, id);
  CREATE INDEX IF NOT EXISTS repeated_due ON repeated (seq) WHERE due = 1;
  CREATE TABLE IF NOT EXISTS to_erase (
    seq INTEGER PRIMARY KEY,
    customer TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS expired (
    customer TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`

type Stored = { readonly seq: number; readonly isRemoved: 0 | 1 }

/** @param database Has COPY_REMOVAL_TABLES. */
export function createCopyRemovals(database: Database): CopyRemovals & CopyNotes {
  const find = database.prepare<[string, Uint8Array], Stored>(
    "SELECT seq, operation = '' AS isRemoved FROM events WHERE customer = ? AND id = ?",
  )
  const addRepeat = database.prepare<[number, string, Uint8Array, 0 | 1]>(
    'INSERT OR REPLACE INTO repeated (seq, customer, id, due) VALUES (?, ?, ?, ?)',
  )
  const setDue = database.prepare<[string, Uint8Array]>(
    'UPDATE repeated SET due = 1 WHERE customer = ? AND id = ?',
  )
  // The columns of an event that was removed, see createRemoval.
  const addRemoved = database.prepare<[number, string, Uint8Array]>(
    `INSERT OR IGNORE INTO events (seq, customer, id, received_at, at, operation, event, bot, payload)
     VALUES (?, ?, ?, 0, 0, '', '', 0, '')`,
  )
  const noteRemoved = database.prepare<[number]>('INSERT OR IGNORE INTO removed (seq) VALUES (?)')
  const addErased = database.prepare<[number, string]>(
    'INSERT OR IGNORE INTO to_erase (seq, customer) VALUES (?, ?)',
  )
  const addExpired = database.prepare<[string, number]>(
    'INSERT INTO expired (customer, seq) VALUES (?, ?) ON CONFLICT DO UPDATE SET seq = max(seq, excluded.seq)',
  )
  const hasErased = database.prepare<[], number>('SELECT EXISTS (SELECT 1 FROM to_erase)').pluck()
  const expired = database.prepare<[], { customer: string; upTo: number }>(
    `SELECT customer, expired.seq AS upTo FROM expired LEFT JOIN swept USING (customer)
     WHERE expired.seq > coalesce(swept.seq, 0)`,
  )
  const repeats = database
    .prepare<[string, Uint8Array], number>('SELECT seq FROM repeated WHERE customer = ? AND id = ?')
    .pluck()
  const due = database
    .prepare<[number], number>('SELECT seq FROM repeated WHERE due = 1 ORDER BY seq LIMIT ?')
    .pluck()
  const forget = database.prepare<[number]>('DELETE FROM repeated WHERE seq = ?')
  const forgetRepeats = database.transaction((seqs: readonly number[]): void => {
    for (const seq of seqs) forget.run(seq)
  })

  return {
    noteRepeat(seq, customer, id) {
      const isRemoved = find.get(customer, id)?.isRemoved ?? 0
      addRepeat.run(seq, customer, id, isRemoved)
    },
    noteErased(customer, events) {
      for (const { seq, id: text } of events) {
        const id = bytesOf(text)
        setDue.run(customer, id)
        const stored = find.get(customer, id)
        if (!stored) {
          // The copy was begun after the erasure.
          if (addRemoved.run(seq, customer, id).changes > 0) noteRemoved.run(seq)
          continue
        }
        if (stored.isRemoved === 1) continue
        addErased.run(stored.seq, customer)
        // The first message of this event was deleted before this copy has read it, and this is a repetition.
        if (stored.seq !== seq) addRepeat.run(stored.seq, customer, id, 1)
      }
    },
    noteExpired: (customer, upTo) => void addExpired.run(customer, upTo),
    toRemove: () => ({ hasErased: hasErased.get() === 1, expired: expired.all() }),
    repeatsOf: (customer, ids) => ids.flatMap((id) => repeats.all(customer, bytesOf(id))),
    dueRepeats: (max) => due.all(max),
    forgetRepeats: (seqs) => forgetRepeats.immediate(seqs),
  }
}

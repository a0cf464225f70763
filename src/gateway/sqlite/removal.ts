import type { Database } from 'better-sqlite3'
import { clearWal } from './database.ts'
import { createStateRows, type StateRows } from './stateRows.ts'

/** Events that are removed at once, at most. A step takes a few ms, and appends wait for it. */
export const MAX_REMOVED = 200
/**
 * Removed rows that stay on each side of a kept one. SQLite balances the page of a deleted row with at most two pages
 * on each side. The smallest row of a removed event has 32 bytes, so three pages of 4,096 bytes have at most 384 rows.
 */
const MARGIN = 400
/** Removed rows that `trim` looks at in one step. It decides about the first half, and reads the rest again. */
const WINDOW = 2 * MARGIN
/** Free pages that are given back to the file system in one step. */
const MAX_RELEASED = 64
/** Free pages that stay in the file for new events, as a share of all pages. */
const KEPT_FREE = 0.1

/**
 * Positions of the events that were removed and whose row still exists. The row has only its customer and its id, so the
 * same event is not stored again.
 */
export const REMOVED_TABLE = `
  CREATE TABLE IF NOT EXISTS removed (
    seq INTEGER PRIMARY KEY
  ) STRICT;
`

/** A place in a pass of `trim`. */
export type TrimPlace = {
  /** A position in the log. */
  readonly after: number
  /** Removed rows in a row up to it. */
  readonly run: number
}

/** Removes events so that nothing of them is left in the file. Synchronous, like the store. */
export type Removal = {
  /**
   * Empties the rows of these events, in one transaction, durable when it returns. A position without an event is
   * ignored.
   *
   * @param seqs At most MAX_REMOVED positions.
   * @returns How many events were removed.
   */
  removeEvents(seqs: readonly number[]): number
  /**
   * Deletes rows of removed events that are far from all others, in one transaction: one step of a pass.
   *
   * @param place The result of the last step. Default: the beginning.
   * @returns Where the next step continues. Undefined at the end of the pass.
   */
  trim(place?: TrimPlace): TrimPlace | undefined
  /**
   * Gives free pages back to the file system, in one transaction. Databases of earlier versions can not do this: they
   * use their free pages for new events.
   *
   * @returns Whether there are more.
   */
  release(): boolean
  /** See clearWal in database.ts. */
  clearWal(): boolean
}

/**
 * An event is removed by an UPDATE that makes its row shorter. SQLite then overwrites the old bytes in their page
 * (`secure_delete`) and moves no other row. A DELETE may move rows between pages, and `secure_delete` does not overwrite
 * the places where they were: when a moved event was removed later, its bytes would stay there. So a row is deleted only
 * if all rows that may move are empty (docs/decisions.md, "Retention").
 *
 * @param database Opened with `secure_delete`.
 * @param states The states of orders and subscribers, which are removed with their records.
 */
export function createRemoval(
  database: Database,
  states: Pick<StateRows, 'removeState'> = createStateRows(database),
): Removal {
  const empty = database.prepare<[number]>(
    `UPDATE events SET received_at = 0, at = 0, operation = '', event = '', did = NULL, bot = 0, payload = '', version = NULL, cookieless = NULL
     WHERE seq = ? AND operation <> ''`,
  )
  const note = database.prepare<[number]>('INSERT OR IGNORE INTO removed (seq) VALUES (?)')
  const noted = database
    .prepare<[number, number], number>('SELECT seq FROM removed WHERE seq > ? ORDER BY seq LIMIT ?')
    .pluck()
  const hasBetween = database
    .prepare<[number, number], number>(
      'SELECT EXISTS (SELECT 1 FROM events WHERE seq > ? AND seq < ?)',
    )
    .pluck()
  const erase = database.prepare<[number]>('DELETE FROM events WHERE seq = ?')
  const forget = database.prepare<[number]>('DELETE FROM removed WHERE seq = ?')

  const removeEvents = database.transaction((seqs: readonly number[]): number => {
    let count = 0
    for (const seq of seqs) {
      states.removeState(seq)
      if (empty.run(seq).changes === 0) continue
      note.run(seq)
      count++
    }
    return count
  })

  /** Nothing lies before the beginning, so no margin is needed there. */
  const BEGINNING: TrimPlace = { after: 0, run: Number.POSITIVE_INFINITY }

  const trim = database.transaction(({ after, run }: TrimPlace): TrimPlace | undefined => {
    const seqs = noted.all(after, WINDOW)
    const runs: number[] = []
    let last = after
    for (const seq of seqs) {
      const isNext = seq === last + 1 || hasBetween.get(last, seq) === 0
      runs.push(isNext ? (runs.at(-1) ?? run) + 1 : 1)
      last = seq
    }
    /** The row after the last one of the run that was reached, by its index. */
    let end = seqs.length
    for (let i = seqs.length - 1; i >= 0; i--) {
      if (runs[i + 1] === 1) end = i + 1
      if (end - i <= MARGIN || (runs[i] as number) <= MARGIN) continue
      erase.run(seqs[i] as number)
      forget.run(seqs[i] as number)
    }
    const decided = WINDOW - MARGIN - 1
    return seqs.length < WINDOW
      ? undefined
      : { after: seqs[decided] as number, run: runs[decided] as number }
  })

  const count = (pragma: string) => database.pragma(pragma, { simple: true }) as number

  return {
    removeEvents: (seqs) => removeEvents.immediate(seqs),
    trim: (place = BEGINNING) => trim.immediate(place),
    release() {
      if (count('auto_vacuum') !== 2) return false
      const spare = count('freelist_count') - Math.ceil(count('page_count') * KEPT_FREE)
      if (spare <= 0) return false
      database.pragma(`incremental_vacuum(${Math.min(spare, MAX_RELEASED)})`)
      return spare > MAX_RELEASED
    },
    clearWal: () => clearWal(database),
  }
}

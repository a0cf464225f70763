import type { Database } from 'better-sqlite3'
import { bytesOf } from './uuid.ts'

/** What identifies an event of a log: its customer, and its id in the usual text form. */
export type EventName = { readonly customer: string; readonly id: string }

/**
 * How a copy differs from its log at a sequence.
 *
 * - `lacks`: the log has an event there, and the copy has nothing.
 * - `other`: the copy has an event there that the log has not, and the log has another message.
 */
export type CopyFault = 'lacks' | 'other'

/** Compares a copy with the log that it was made of. Synchronous, like the store. */
export type CopyComparison = {
  /** The first sequence from `from` to `upTo` of which the copy has no event. Undefined if it has one of each. */
  firstAbsent(from: number, upTo: number): number | undefined
  /**
   * Compares the copy with a message that the log has at a sequence which the copy has reached. Events that have expired
   * may be missing.
   *
   * @param event Undefined if the message is not an event.
   */
  compareEvent(seq: number, event: EventName | undefined): CopyFault | undefined
}

type Named = { readonly customer: string; readonly id: Buffer }

/** @param database Has COPY_REMOVAL_TABLES. */
export function createCopyComparison(database: Database): CopyComparison {
  const stored = database
    .prepare<[number, number], number>(
      'SELECT seq FROM events WHERE seq BETWEEN ? AND ? ORDER BY seq',
    )
    .pluck()
  const find = database.prepare<[number], Named>('SELECT customer, id FROM events WHERE seq = ?')
  const findRepeat = database.prepare<[number], Named>(
    'SELECT customer, id FROM repeated WHERE seq = ?',
  )
  const expiredTo = database
    .prepare<[string], number>('SELECT seq FROM expired WHERE customer = ?')
    .pluck()

  return {
    firstAbsent(from, upTo) {
      let next = from
      const skipRepeats = (end: number): boolean => {
        while (next < end && findRepeat.get(next)) next++
        return next === end
      }
      for (const seq of stored.iterate(from, upTo)) {
        if (!skipRepeats(seq)) return next
        next++
      }
      return skipRepeats(upTo + 1) ? undefined : next
    },
    compareEvent(seq, event) {
      const copied = find.get(seq) ?? findRepeat.get(seq)
      if (!copied) {
        const isExpired = event && seq <= (expiredTo.get(event.customer) ?? 0)
        return event && !isExpired ? 'lacks' : undefined
      }
      const isSame =
        event && copied.customer === event.customer && copied.id.equals(bytesOf(event.id))
      return isSame ? undefined : 'other'
    },
  }
}

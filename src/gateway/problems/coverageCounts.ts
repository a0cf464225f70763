import { type CoverageCount, slotOf } from './problems.ts'

type Row = { -readonly [Name in keyof CoverageCount]: CoverageCount[Name] }

/** Counts of stored events that are not stored themselves yet. */
export type CoverageCounts = {
  /**
   * Counts one stored event.
   *
   * @param at When it arrived, ms since 1970.
   */
  count(customer: string, operation: string, at: number): void
  /** Returns the counts and begins again at zero. */
  take(): CoverageCount[]
  /** Adds what could not be stored. */
  putBack(rows: readonly CoverageCount[]): void
}

/** Counts in memory: at most one row for each customer, operation and ten minutes. */
export function createCoverageCounts(): CoverageCounts {
  let rows = new Map<string, Row>()
  /** The row of the last event. A batch has runs of one operation. */
  let newest: Row | undefined

  function rowOf(customer: string, operation: string, slot: number, at: number): Row {
    if (newest?.slot === slot && newest.customer === customer && newest.operation === operation)
      return newest
    const key = `${customer} ${operation} ${slot}`
    newest = rows.get(key)
    if (!newest) {
      newest = { customer, operation, slot, events: 0, first: at, last: at }
      rows.set(key, newest)
    }
    return newest
  }

  return {
    count(customer, operation, at) {
      const row = rowOf(customer, operation, slotOf(at), at)
      row.events++
      if (at > row.last) row.last = at
      else if (at < row.first) row.first = at
    },
    take() {
      const taken = [...rows.values()]
      rows = new Map()
      newest = undefined
      return taken
    },
    putBack(given) {
      for (const { customer, operation, slot, events, first, last } of given) {
        const row = rowOf(customer, operation, slot, first)
        row.events += events
        row.first = Math.min(row.first, first)
        row.last = Math.max(row.last, last)
      }
    },
  }
}

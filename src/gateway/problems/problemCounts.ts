import { dayOf } from '../customers/usage.ts'
import { type Fault, MAX_FAULTS_OF_REASON, otherOf, type ProblemCount } from './problems.ts'

/** Different faults of all customers in memory. A customer finds room however many another one has. */
const MAX_FAULTS = 5_000

type Row = { -readonly [Name in keyof ProblemCount]: ProblemCount[Name] }

type OfCustomer = {
  readonly rows: Map<string, Row>
  /** How many different faults there are of a reason, source and day. */
  readonly kinds: Map<string, number>
}

/** Counts of faults that are not stored yet. */
export type ProblemCounts = {
  /**
   * Counts a fault. Costs one look-up in a map, so that a flood of refused requests costs nothing more.
   *
   * @param at ms since 1970.
   * @param times Default 1.
   * @param makeExample Called for the first one since the last `take`.
   */
  count(
    customer: string,
    fault: Fault,
    at: number,
    times?: number,
    makeExample?: () => string,
  ): void
  /** Returns the counts and begins again at zero. */
  take(): ProblemCount[]
  /** Adds what could not be stored. */
  putBack(rows: readonly ProblemCount[]): void
}

/**
 * Counts in memory. The faults of a customer, day, reason and source are bounded, and those of all customers by dynamic
 * thresholds, as in the queue in front of the log: a customer may have as many as are left free. What is above a limit
 * is counted as `(other)`.
 */
export function createProblemCounts(maxFaults = MAX_FAULTS): ProblemCounts {
  let customers = new Map<string, OfCustomer>()
  let total = 0

  function add(given: ProblemCount, makeExample?: () => string): void {
    const { customer, day } = given
    let own = customers.get(customer)
    if (!own) {
      own = { rows: new Map(), kinds: new Map() }
      customers.set(customer, own)
    }
    const key = keyOf(given, day)
    const known = own.rows.get(key)
    if (known) {
      merge(known, given)
      return
    }
    const kind = `${given.reason} ${given.source} ${day}`
    const ofKind = own.kinds.get(kind) ?? 0
    if (ofKind >= MAX_FAULTS_OF_REASON || own.rows.size >= maxFaults - total) {
      const other = { ...given, ...otherOf(given), example: null }
      const otherKey = keyOf(other, day)
      const row = own.rows.get(otherKey)
      if (row) merge(row, other)
      else own.rows.set(otherKey, other)
      return
    }
    own.kinds.set(kind, ofKind + 1)
    total++
    own.rows.set(key, { ...given, example: makeExample?.() ?? given.example })
  }

  return {
    count(customer, fault, at, times = 1, makeExample = undefined) {
      const { reason, source, operation, path, page } = fault
      const counted = { day: dayOf(at), count: times, first: at, last: at, example: null }
      add({ customer, reason, source, operation, path, page, ...counted }, makeExample)
    },
    take() {
      const rows = [...customers.values()].flatMap((own) => [...own.rows.values()])
      customers = new Map()
      total = 0
      return rows
    },
    putBack(rows) {
      for (const row of rows) add(row)
    },
  }
}

const keyOf = ({ reason, source, operation, path, page }: Fault, day: number): string =>
  `${reason} ${source} ${day} ${operation} ${path} ${page}`

function merge(row: Row, { count, first, last, example }: ProblemCount): void {
  row.count += count
  row.first = Math.min(row.first, first)
  row.last = Math.max(row.last, last)
  row.example ??= example
}

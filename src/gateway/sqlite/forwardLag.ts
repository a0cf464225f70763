import type { ForwardLog } from './forwardLog.ts'

/** What was counted of a destination. */
type Counted = {
  readonly seq: number
  readonly end: number
  readonly count: number
  readonly countedAt: number
}

/** Time after which all is counted again, ms: events that were removed meanwhile are still counted. */
const RECOUNT_MS = 3_600_000

/**
 * Counts the events of a customer after a position. A lag of millions takes tenths of a second to count, so only what has
 * changed since the last time is counted.
 *
 * @param now The clock, ms since 1970.
 * @returns A function of the destination, its customer and its position.
 */
export function createLagCounter(
  log: Pick<ForwardLog, 'count' | 'end'>,
  now: () => number,
): (id: string, customer: string, seq: number) => number {
  const known = new Map<string, Counted>()

  return (id, customer, seq) => {
    const end = log.end().seq
    const before = known.get(id)
    const isUsable =
      before &&
      seq >= before.seq &&
      end >= before.end &&
      seq < end &&
      Math.abs(now() - before.countedAt) < RECOUNT_MS
    const count = isUsable
      ? Math.max(
          0,
          before.count +
            log.count(customer, before.end, end) -
            log.count(customer, before.seq, seq),
        )
      : log.count(customer, seq, end)
    known.set(id, { seq, end, count, countedAt: isUsable ? before.countedAt : now() })
    return count
  }
}

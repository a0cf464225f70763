import type { ReportLog } from './reportLog.ts'

/** New events whose customers are looked up one by one, some 10 ms. Above it every customer is looked at. */
const MAX_LOOKED = 10_000
/** Customers that are looked at in one go, some milliseconds. */
const MAX_WALKED = 200

/** Which customers have events that are not counted yet, and whose turn it is. */
export type News = {
  /** Looks at what is new in the log since the last look. */
  look(): void
  /** Looks at these customers now. */
  lookAt(customers: readonly string[]): void
  /**
   * Customers with news, one at a time, until each was `done`. Those that are wanted come first, and after
   * each round of them one of the others; once nothing is left of them, it ends.
   */
  inTurn(wanted: readonly string[]): Iterable<string>
  /** All of the customer is counted. */
  done(customer: string): void
  /** What was found out does not hold: the next look is at every customer. */
  restart(): void
  /** Whether nobody has news, as far as was looked. */
  isEmpty(): boolean
  /** Whether the last look is not finished: not every customer was looked at. */
  isLooking(): boolean
}

/**
 * A look costs as much as there are new events, or, at the start and after many of them, a few microseconds
 * a customer, spread over several looks. So one customer's long backlog does not have to be read to find
 * what another one has.
 *
 * @param countedUpTo Position up to which a customer's events are counted.
 */
export function createNews(log: ReportLog, countedUpTo: (customer: string) => number): News {
  /** In the order of their turns. */
  const waiting = new Set<string>()
  /** Position up to which the log was looked at; undefined before the first look. */
  let seen: number | undefined
  /** The last customer of an unfinished walk over all of them. */
  let walked: string | undefined

  function lookAt(customers: readonly string[]): void {
    for (const customer of customers)
      if (!waiting.has(customer) && log.end(customer) > countedUpTo(customer)) waiting.add(customer)
  }

  function walk(from: string): string | undefined {
    let customer = from
    for (let i = 0; i < MAX_WALKED; i++) {
      const next = log.customerAfter(customer)
      if (next === undefined) return undefined
      lookAt([next])
      customer = next
    }
    return customer
  }

  return {
    look() {
      const end = log.end()
      if (seen === undefined || end - seen > MAX_LOOKED) walked = ''
      else if (end > seen)
        for (const customer of log.customersBetween(seen, end)) waiting.add(customer)
      // Before the walk: what comes while it goes on is for the next look.
      seen = end
      if (walked !== undefined) walked = walk(walked)
    },
    lookAt,
    *inTurn(wanted) {
      const isWanted = () => wanted.some((customer) => waiting.has(customer))
      do {
        for (const customer of wanted) if (waiting.has(customer)) yield customer
        const [next] = waiting
        if (next === undefined) return
        waiting.delete(next)
        waiting.add(next)
        yield next
      } while (wanted.length === 0 || isWanted())
    },
    done: (customer) => void waiting.delete(customer),
    restart() {
      seen = undefined
    },
    isEmpty: () => waiting.size === 0,
    isLooking: () => seen === undefined || walked !== undefined,
  }
}

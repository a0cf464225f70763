/** What is counted of a customer's events. */
export type CustomerOutcome = 'stored' | 'refused'

/** The count of one customer, or of all others. */
export type CustomerCount = { readonly [Outcome in CustomerOutcome]: number }

/** Customers that are shown by name. Each is two series of a Prometheus server. */
export const SHOWN_CUSTOMERS = 100
/** Customers that are counted by name, about 200 bytes each. */
const MAX_COUNTED = 10_000
/** The name of all others together. */
const OTHER_CUSTOMERS = '(other)'

type Counts = Record<CustomerOutcome, number>
type Entry = {
  /** Everything of the customer, which decides about its rank. */
  readonly all: Counts
  /** What was counted while it was shown, and the part of it that a reader has seen. */
  readonly own: Counts
  readonly seen: Counts
  isShown: boolean
}

/**
 * Counts events by customer, and shows the busiest ones by name.
 *
 * What a customer sends while it is not shown is counted as `(other)`. So each series only grows, as a counter must,
 * and their sum is exact, also when the busiest customers change.
 */
export function createCustomerCounts(shown = SHOWN_CUSTOMERS, maxCounted = MAX_COUNTED) {
  const entries = new Map<string, Entry>()
  const other = zero()

  function entryOf(customer: string): Entry | undefined {
    const known = entries.get(customer)
    if (known || entries.size >= maxCounted) return known
    const entry = { all: zero(), own: zero(), seen: zero(), isShown: entries.size < shown }
    entries.set(customer, entry)
    return entry
  }

  function hide({ own, seen }: Entry): void {
    for (const outcome of OUTCOMES) {
      other[outcome] += own[outcome] - seen[outcome]
      own[outcome] = seen[outcome]
    }
  }

  return {
    /** @param customer Undefined counts as another one. */
    count(customer: string | undefined, outcome: CustomerOutcome, times: number): void {
      const entry = customer === undefined ? undefined : entryOf(customer)
      if (entry) entry.all[outcome] += times
      const counted = entry?.isShown ? entry.own : other
      counted[outcome] += times
    },
    /** Chooses the busiest customers, and returns their counts and that of all others. */
    choose(): ReadonlyMap<string, CustomerCount> {
      const ranked = [...entries].sort(([, a], [, b]) => totalOf(b) - totalOf(a))
      for (const [index, [, entry]] of ranked.entries()) {
        if (entry.isShown && index >= shown) hide(entry)
        entry.isShown = index < shown
      }
      // Room for new customers. One that comes again begins at 0, as after a restart.
      if (entries.size >= maxCounted)
        for (const [customer] of ranked.slice(Math.max(shown, maxCounted / 2)))
          entries.delete(customer)
      const chosen = new Map<string, CustomerCount>()
      for (const [customer, { own, seen }] of ranked.slice(0, shown)) {
        Object.assign(seen, own)
        chosen.set(customer, { ...own })
      }
      return chosen.set(OTHER_CUSTOMERS, { ...other })
    },
  }
}

const OUTCOMES = ['stored', 'refused'] as const
const zero = (): Counts => ({ stored: 0, refused: 0 })
const totalOf = ({ all }: Entry): number => all.stored + all.refused

import type { Counts, MoveSource } from './source.ts'
import type { MoveTarget } from './target.ts'

/** What both sides of a move have. */
export type Comparison = { readonly lines: readonly string[]; readonly isSame: boolean }

/** Counts customers, campaigns, events and ids of removed events on both sides. */
export async function compare(source: MoveSource, target: MoveTarget): Promise<Comparison> {
  const customers = [...source.customerRows('customers')].length
  const results = [
    compareOne(
      'customers',
      new Map([['', customers]]),
      new Map([['', await target.customerCount()]]),
    ),
    compareOne('campaigns', source.campaignCounts(), await target.campaignCounts()),
    compareOne('events', source.eventCounts(), await target.eventCounts()),
    compareOne('removed events', source.removedCounts(), await target.removedCounts()),
  ]
  return {
    lines: results.flatMap(({ lines }) => lines),
    isSame: results.every(({ isSame }) => isSame),
  }
}

/** One line for all customers, and one for each customer whose counts differ. */
function compareOne(what: string, here: Counts, there: Counts): Comparison {
  const differing = [...new Set([...here.keys(), ...there.keys()])].filter(
    (customer) => (here.get(customer) ?? 0) !== (there.get(customer) ?? 0),
  )
  const line = (name: string, [a, b]: readonly [number, number]) =>
    `${name.padEnd(16)}${number(a)} in DATA_DIR, ${number(b)} in the cluster${a === b ? '' : '  DIFFERENT'}`
  return {
    lines: [
      line(what, [sum(here), sum(there)]),
      ...differing
        .filter((customer) => customer !== '')
        .map((customer) =>
          line(`  of ${customer}  `, [here.get(customer) ?? 0, there.get(customer) ?? 0]),
        ),
    ],
    isSame: differing.length === 0,
  }
}

const sum = (counts: Counts): number => [...counts.values()].reduce((a, b) => a + b, 0)
const number = (value: number): string => value.toLocaleString('en')

import type { Database } from 'better-sqlite3'
import { dayOf, type Usage } from '../customers/usage.ts'

/** How much each customer has stored on a day. Synchronous, like the store. */
export type UsageRows = {
  /**
   * Counts one stored event or campaign. `write` writes the sums, in the transaction that stores it.
   *
   * @param events 0 for a campaign. Default 1.
   */
  count(customer: string, receivedAt: number, bytes: number, events?: 0 | 1): void
  /** Writes what was counted since the last call. Returns the new sums of those customers and days. */
  write(): Usage[]
  /** Drops what was counted but not written, because its transaction was rolled back. */
  reset(): void
  /** The sums of all customers, of today and yesterday. */
  all(): Usage[]
}

type Sums = { -readonly [Name in keyof Usage]: Usage[Name] }

export const USAGE_TABLE = `
  CREATE TABLE IF NOT EXISTS usage (
    customer TEXT NOT NULL,
    day INTEGER NOT NULL,
    events INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (customer, day)
  ) STRICT, WITHOUT ROWID;
`

export function createUsageRows(database: Database): UsageRows {
  const add = database.prepare<[Usage], Usage>(
    `INSERT INTO usage (customer, day, events, bytes) VALUES (@customer, @day, @events, @bytes)
     ON CONFLICT (customer, day) DO UPDATE SET events = events + excluded.events, bytes = bytes + excluded.bytes
     RETURNING customer, day, events, bytes`,
  )
  const forget = database.prepare<[number]>('DELETE FROM usage WHERE day < ?')
  const select = database.prepare<[], Usage>('SELECT customer, day, events, bytes FROM usage')
  let counted = new Map<string, Sums>()
  /** Sums of the last counted event. A commit contains runs of events of one customer. */
  let last: Sums | undefined
  let newest = 0

  return {
    count(customer, receivedAt, bytes, events = 1) {
      const day = dayOf(receivedAt)
      if (last?.customer !== customer || last.day !== day) {
        const key = `${day} ${customer}`
        last = counted.get(key) ?? { customer, day, events: 0, bytes: 0 }
        counted.set(key, last)
      }
      last.events += events
      last.bytes += bytes
    },
    write() {
      const written = [...counted.values()].map((sums) => add.get(sums) as Usage)
      this.reset()
      for (const { day } of written) {
        if (day <= newest) continue
        // Yesterday stays, in case the clock is set back over midnight.
        forget.run(day - 1)
        newest = day
      }
      return written
    },
    reset() {
      counted = new Map()
      last = undefined
    },
    all: () => select.all(),
  }
}

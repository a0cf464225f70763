import type { Database } from 'better-sqlite3'
import { dayOf, type Usage } from '../customers/usage.ts'

/** How much the pages and the servers of each customer have stored on a day. Synchronous, like the store. */
export type UsageRows = {
  /**
   * Counts one stored event or campaign. `write` writes the sums, in the transaction that stores it.
   *
   * @param isServer See Usage.
   * @param events 0 for a campaign. Default 1.
   */
  count(
    customer: string,
    receivedAt: number,
    bytes: number,
    isServer: boolean,
    events?: 0 | 1,
  ): void
  /** Writes what was counted since the last call. Returns the new sums of those customers and days. */
  write(): Usage[]
  /** Drops what was counted but not written, because its transaction was rolled back. */
  reset(): void
  /** The sums of all customers, of today and yesterday. */
  all(): Usage[]
}

type Sums = { -readonly [Name in keyof Usage]: Usage[Name] }

/** A row of a table: all of a table are of pages, or of servers. */
type Row = Omit<Usage, 'isServer'>

const tableSql = (name: string): string => `
  CREATE TABLE IF NOT EXISTS ${name} (
    customer TEXT NOT NULL,
    day INTEGER NOT NULL,
    events INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (customer, day)
  ) STRICT, WITHOUT ROWID;
`

const PAGES = 'usage'
const SERVERS = 'server_usage'
export const USAGE_TABLE = tableSql(PAGES)
/** A table of its own: gateways of earlier versions count everything in the first one. */
export const SERVER_USAGE_TABLE = tableSql(SERVERS)

function prepareTable(database: Database, name: string) {
  const isServer = name === SERVERS
  const add = database.prepare<[Row], Row>(
    `INSERT INTO ${name} (customer, day, events, bytes) VALUES (@customer, @day, @events, @bytes)
     ON CONFLICT (customer, day) DO UPDATE SET events = events + excluded.events, bytes = bytes + excluded.bytes
     RETURNING customer, day, events, bytes`,
  )
  const forget = database.prepare<[number]>(`DELETE FROM ${name} WHERE day < ?`)
  const select = database.prepare<[], Row>(`SELECT customer, day, events, bytes FROM ${name}`)
  const toUsage = (row: Row): Usage => ({ ...row, isServer })

  return {
    add: ({ customer, day, events, bytes }: Usage): Usage =>
      toUsage(add.get({ customer, day, events, bytes }) as Row),
    forget: (before: number) => forget.run(before),
    all: (): Usage[] => select.all().map(toUsage),
  }
}

export function createUsageRows(database: Database): UsageRows {
  const pages = prepareTable(database, PAGES)
  const servers = prepareTable(database, SERVERS)
  let counted = new Map<string, Sums>()
  /** Sums of the last counted event. A commit contains runs of events of one customer. */
  let last: Sums | undefined
  let newest = 0

  return {
    count(customer, receivedAt, bytes, isServer, events = 1) {
      const day = dayOf(receivedAt)
      if (last?.customer !== customer || last.day !== day || last.isServer !== isServer) {
        const key = `${day} ${isServer} ${customer}`
        last = counted.get(key) ?? { customer, day, isServer, events: 0, bytes: 0 }
        counted.set(key, last)
      }
      last.events += events
      last.bytes += bytes
    },
    write() {
      const written = [...counted.values()].map((sums) =>
        (sums.isServer ? servers : pages).add(sums),
      )
      this.reset()
      for (const { day } of written) {
        if (day <= newest) continue
        // Yesterday stays, in case the clock is set back over midnight.
        pages.forget(day - 1)
        servers.forget(day - 1)
        newest = day
      }
      return written
    },
    reset() {
      counted = new Map()
      last = undefined
    },
    all: () => [...pages.all(), ...servers.all()],
  }
}

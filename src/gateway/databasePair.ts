import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import { CUSTOMERS_SCHEMA } from './customers.ts'
import { openDatabase, type Schema } from './sqlite/database.ts'
import { type Identity, readIdentity, setCompanion } from './sqlite/identity.ts'
import { EVENTS_SCHEMA } from './sqlite/store.ts'

/**
 * The databases of a folder are not those of the last start: a disk is not mounted, DATA_DIR is another folder,
 * or a file was moved away or put back. The message names the file and what to do, and not the folder.
 */
export class DataMismatch extends Error {
  override readonly name = 'DataMismatch'
  /** What is wrong, without what to do. */
  readonly what: string
  constructor(what: string, remedy: string) {
    super(`${what}. ${remedy}: npx shoptrail data accept`)
    this.what = what
  }
}

const noEvents = () =>
  new DataMismatch(
    'events.db is missing, which was there at the last start',
    'Mount its disk, or put it or its backup back. To go on with a new, empty one',
  )
const noCustomers = () =>
  new DataMismatch(
    'customers.db is missing beside events.db',
    'Mount its disk, or put it or its backup back. To go on with a new, empty one',
  )
const others = () =>
  new DataMismatch(
    'customers.db and events.db do not belong together: one of them is not the one of the last start',
    'Put that one or its backup back. To go on with these two',
  )

const filesIn = (dataDir: string) => ({
  customersFile: join(dataDir, 'customers.db'),
  eventsFile: join(dataDir, 'events.db'),
})

/** SQLite takes a file of up to one byte for a new database. */
const isThere = (file: string): boolean =>
  (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 1

/**
 * Whether the databases of a folder are those that were used together last. A customers.db alone may be: the
 * first customer is added before the first start.
 *
 * @throws DataMismatch where they are not; Error that names the file where one can not be opened.
 */
export function checkPair(dataDir: string): void {
  const { customersFile, eventsFile } = filesIn(dataDir)
  // Both are opened first: a damaged one is worse than one that is missing beside it.
  const events = isThere(eventsFile) ? identityIn(eventsFile, EVENTS_SCHEMA) : undefined
  const customers = isThere(customersFile) ? identityIn(customersFile, CUSTOMERS_SCHEMA) : undefined
  if (!customers && events) throw noCustomers()
  if (!events && customers?.companion) throw noEvents()
  if (!customers || !events) return
  const expected = customers.companion ?? events.id
  const back = events.companion ?? customers.id
  if (expected !== events.id || back !== customers.id) throw others()
}

const identityIn = (file: string, schema: Schema): Identity =>
  using(openDatabase(file, schema), readIdentity)

/**
 * The same, and makes what is missing in a folder that is new. From then on its databases belong together.
 *
 * @throws As checkPair.
 */
export function makePair(dataDir: string): void {
  checkPair(dataDir)
  const { customersFile, eventsFile } = filesIn(dataDir)
  using(openDatabase(customersFile, CUSTOMERS_SCHEMA), (customers) =>
    using(openDatabase(eventsFile, EVENTS_SCHEMA), (events) => joinPair(customers, events)),
  )
}

/**
 * Goes on with the databases that are in a folder, whatever they were used with before. A customers.db that is
 * missing is made, and an events.db at the next start.
 *
 * @returns What was wrong; undefined where nothing was.
 * @throws Error that names the file where one can not be opened.
 */
export function acceptPair(dataDir: string): string | undefined {
  try {
    checkPair(dataDir)
    return undefined
  } catch (error) {
    if (!(error instanceof DataMismatch)) throw error
    const { customersFile, eventsFile } = filesIn(dataDir)
    using(openDatabase(customersFile, CUSTOMERS_SCHEMA), (customers) => {
      if (isThere(eventsFile))
        using(openDatabase(eventsFile, EVENTS_SCHEMA), (events) => joinPair(customers, events))
      else setCompanion(customers, null)
    })
    return error.what
  }
}

/** The events first: where only they know the customers, nothing is missing. */
function joinPair(customers: Database, events: Database): void {
  const [one, other] = [readIdentity(customers), readIdentity(events)]
  if (other.companion !== one.id) setCompanion(events, one.id)
  if (one.companion !== other.id) setCompanion(customers, other.id)
}

function using<Result>(database: Database, use: (database: Database) => Result): Result {
  try {
    return use(database)
  } finally {
    database.close()
  }
}

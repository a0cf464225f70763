import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import { CUSTOMERS_SCHEMA } from './customers.ts'
import { openDatabase } from './database.ts'
import { type Identity, readIdentity, setCompanion } from './identity.ts'
import type { Schema } from './schema.ts'
import { EVENTS_SCHEMA } from './store.ts'

/**
 * The databases in the data folder are not those of the last start: a disk is not mounted, or a file was moved away or
 * replaced. The message names the file and the remedy. It does not name the folder, since strangers can read it.
 */
export class DataMismatch extends Error {
  override readonly name = 'DataMismatch'
  /** The fault without the remedy. */
  readonly what: string
  constructor(what: string, remedy: string) {
    super(`${what}. ${remedy}: npx shoptrail data accept`)
    this.what = what
  }
}

const noEvents = () =>
  new DataMismatch(
    'events.db is missing, but was there at the last start',
    'Mount its disk, or put it or its backup back. To continue with a new, empty one',
  )
const noCustomers = () =>
  new DataMismatch(
    'customers.db is missing, but events.db is there',
    'Mount its disk, or put it or its backup back. To continue with a new, empty one',
  )
const others = () =>
  new DataMismatch(
    'customers.db and events.db do not belong together: one of them is not the one of the last start',
    'Put that one or its backup back. To continue with these two',
  )

const filesIn = (dataDir: string) => ({
  customersFile: join(dataDir, 'customers.db'),
  eventsFile: join(dataDir, 'events.db'),
})

/** SQLite treats a file of 0 or 1 bytes as a new database. */
const isThere = (file: string): boolean =>
  (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 1

/**
 * Checks that customers.db and events.db are those that were last used together. A customers.db without events.db is
 * correct before the first start, since a customer may be added first.
 *
 * @throws DataMismatch if they are not. Error that names the file, if one can not be opened.
 */
export function checkPair(dataDir: string): void {
  const { customersFile, eventsFile } = filesIn(dataDir)
  // Both are opened before anything else is checked, so that a damaged file is reported as damaged.
  const events = isThere(eventsFile) ? identityIn(eventsFile, EVENTS_SCHEMA) : undefined
  const customers = isThere(customersFile) ? identityIn(customersFile, CUSTOMERS_SCHEMA) : undefined
  const fault = findPairFault(customers, events)
  if (fault) throw fault
}

/** What is wrong with the identities of customers.db and events.db. Undefined stands for a missing file. */
export function findPairFault(
  customers: Identity | undefined,
  events: Identity | undefined,
): DataMismatch | undefined {
  if (!customers && events) return noCustomers()
  if (!events && customers?.companion) return noEvents()
  if (!customers || !events) return undefined
  const expected = customers.companion ?? events.id
  const back = events.companion ?? customers.id
  return expected !== events.id || back !== customers.id ? others() : undefined
}

const identityIn = (file: string, schema: Schema): Identity =>
  using(openDatabase(file, schema), readIdentity)

/**
 * Checks the databases, creates them in a new folder, and records that they are used together.
 *
 * @returns Closes them. Call it when they are open elsewhere: without a connection to a database SQLite empties and
 * removes its -wal and -shm, and the next one makes them again.
 * @throws Like checkPair.
 */
export function openPair(dataDir: string): () => void {
  const { customersFile, eventsFile } = filesIn(dataDir)
  const opened: Database[] = []
  const close = () => {
    for (const database of opened.splice(0)) database.close()
  }
  const open = (file: string, schema: Schema): Database => {
    const database = openDatabase(file, schema)
    opened.push(database)
    return database
  }
  try {
    const events = isThere(eventsFile) ? open(eventsFile, EVENTS_SCHEMA) : undefined
    const customers = isThere(customersFile) ? open(customersFile, CUSTOMERS_SCHEMA) : undefined
    const fault = findPairFault(
      customers && readIdentity(customers),
      events && readIdentity(events),
    )
    if (fault) throw fault
    joinPair(
      customers ?? open(customersFile, CUSTOMERS_SCHEMA),
      events ?? open(eventsFile, EVENTS_SCHEMA),
    )
    return close
  } catch (error) {
    close()
    throw error
  }
}

/**
 * Accepts the databases that are in the folder, whatever they were used with before. Creates a missing customers.db;
 * a missing events.db is created at the next start.
 *
 * @returns The fault that was accepted; undefined if there was none.
 * @throws Error that names the file, if one can not be opened.
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

/** Writes to customers.db last, so that a crash in between leaves a pair that checkPair accepts. */
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

import { randomBytes } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import type { DaySalt } from '../collect/daySalt.ts'
import { dayOf } from '../customers/usage.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { explain, isDamaged, refuseForeign } from './database.ts'
import { connect } from './driver.ts'
import { makeFile, makePrivate } from './files.ts'

/** Time between two checks whether the day is over, ms. A gateway without events forgets the salt after this. */
export const CHECK_MS = 30_000
/** After a failure the file is not tried again for this long, ms. */
const RETRY_MS = 1_000
/** How long to wait for another process, ms. A salt is read or stored in less than 10 ms. */
const BUSY_MS = 1_000
const SALT_BYTES = 32

const TABLE = `
  CREATE TABLE day_salt (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    day INTEGER NOT NULL,
    salt BLOB NOT NULL
  ) STRICT;
`
/** In `user_version`. 0 is the same form, of before there were numbers. */
const VERSION = 1
const PROBE = 'SELECT only, day, salt FROM day_salt'

/** @param day Days since 1970, UTC. */
type Salt = { readonly day: number; readonly salt: Buffer }

/**
 * Keeps the salt of the day in a file of its own, `salt.db`, which is created with the first event that needs it and
 * opened once a day and for each check. A new salt overwrites the old one in the file: `secure_delete`, and a rollback
 * journal in memory, so that no -wal and no journal ever holds it. A file that is damaged is replaced.
 *
 * A clock that goes back over midnight keeps the salt until its day is over, so that gateways that share the folder do
 * not replace each other's. A clock that goes back further makes a new one, so that a wrong clock can not keep a salt for years.
 *
 * @param file Its path. The folder exists.
 * @param now The clock, ms since 1970.
 * @param onError Called when a salt whose day is over can not be forgotten, once for each reason.
 */
export function createSqliteDaySalt(
  file: string,
  now: () => number,
  onError: (error: unknown) => void,
): { readonly daySalt: DaySalt; readonly close: () => void } {
  /** The salt in memory, and the day on which the file was asked for it. */
  let kept: Salt | undefined
  let failure: { readonly error: Unavailable; readonly at: number } | undefined
  let reported: string | undefined

  function forget(): void {
    kept?.salt.fill(0)
    kept = undefined
  }

  /** If it fails, the salt of today stays in memory. */
  function refresh(today: number): Buffer {
    if (kept?.day !== today) forget()
    try {
      const salt = mending(() => readOrMake(file, today))
      forget()
      kept = { day: today, salt }
      failure = undefined
      reported = undefined
      return salt
    } catch (error) {
      const cause = new Error(explain(file, error), { cause: error })
      throw new Unavailable('The salt of the day can not be read or stored', 5, cause)
    }
  }

  /** Runs a read or write of the file. If it is damaged, removes it and runs it again. */
  function mending<Result>(run: () => Result): Result {
    try {
      return run()
    } catch (error) {
      if (!isDamaged(error)) throw error
      rmSync(file, { force: true })
      return run()
    }
  }

  function check(): void {
    const today = dayOf(now())
    if (kept?.day !== today) forget()
    if (!existsSync(file)) return
    try {
      refresh(today)
    } catch (error) {
      const { cause } = error as Unavailable & { readonly cause: Error }
      // While the day lasts nothing has to be forgotten.
      if (kept || cause.message === reported) return
      reported = cause.message
      onError(cause)
    }
  }

  check()
  const timer = setInterval(check, CHECK_MS)
  timer.unref()

  return {
    daySalt(at) {
      const today = dayOf(at)
      if (kept?.day === today) return kept.salt
      if (failure && Math.abs(at - failure.at) < RETRY_MS) throw failure.error
      try {
        return refresh(today)
      } catch (error) {
        failure = { error: error as Unavailable, at }
        throw error
      }
    },
    close() {
      clearInterval(timer)
      forget()
    },
  }
}

/** The salt in the file, or a new one in its place if the day of that one is over. */
function readOrMake(file: string, today: number): Buffer {
  makeFile(file)
  const database = connect(file, { timeout: BUSY_MS })
  try {
    refuseForeign(database, PROBE)
    refuseNewer(database)
    makePrivate(file)
    database.pragma('journal_mode = MEMORY')
    database.pragma('synchronous = FULL')
    database.pragma('secure_delete = ON')
    const countTables = database.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck()
    const find = (): Buffer | undefined => {
      if (countTables.get() === 0) return undefined
      const stored = database.prepare<[], Salt>(PROBE).get()
      return stored && isUsable(stored, today) ? stored.salt : undefined
    }
    const make = database.transaction((): Buffer => {
      const found = find()
      if (found) return found
      if (countTables.get() === 0) database.exec(TABLE)
      const salt = randomBytes(SALT_BYTES)
      database.prepare('INSERT OR REPLACE INTO day_salt VALUES (1, ?, ?)').run(today, salt)
      database.pragma(`user_version = ${VERSION}`)
      return salt
    })
    // Only reads, unless the day has changed.
    return find() ?? make.immediate()
  } finally {
    database.close()
  }
}

/** @throws Error if the file is of a newer version. A new salt in its place would count every visitor twice today. */
function refuseNewer(database: Database): void {
  if ((database.pragma('user_version', { simple: true }) as number) > VERSION)
    throw new Error(
      `${database.name} was written by a newer version of shoptrail. Start that version, or remove the file: visitors without consent then count as new ones today`,
    )
}

/** A salt of tomorrow was made before the clock went back. */
const isUsable = ({ day, salt }: Salt, today: number): boolean =>
  (day === today || day === today + 1) && salt.length === SALT_BYTES

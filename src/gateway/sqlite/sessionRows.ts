import { randomBytes } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import { hashSecret } from '../lib/secret.ts'
import {
  MAX_SESSIONS,
  MAX_SESSIONS_OF_CUSTOMER,
  SESSION_SECONDS,
  type Session,
  type Sessions,
} from '../operators/sessions.ts'

/**
 * The sessions of operators, in customers.db. `token_hash` is SHA-256 of the token, `key_hash` of the REST key. `until`
 * is ms since 1970. The newest grant of a customer has the largest rowid.
 */
export const SESSION_TABLES = `
  CREATE TABLE IF NOT EXISTS sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    token_hash BLOB NOT NULL UNIQUE,
    until INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS sessions_by_end ON sessions (until);
  CREATE TABLE IF NOT EXISTS session_customers (
    session INTEGER NOT NULL,
    customer_id TEXT NOT NULL,
    key_hash BLOB NOT NULL,
    UNIQUE (session, customer_id)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS session_customers_by_customer ON session_customers (customer_id);
`

/** The form of a token. Other texts are not looked up. */
const TOKEN = /^[\w-]{43}$/
/** If the clock was ahead at a sign-in and is right again, the session ends at most this much later, ms. */
const CLOCK_SLACK_MS = 3_600_000
/**
 * How long a sign-in waits for another process that writes, ms. Every event waits meanwhile, and the operator can try
 * again.
 */
const BUSY_MS = 200

type Grant = { readonly id: number; readonly customer_id: string; readonly key_hash: Buffer }

/**
 * @param using Runs a read or write, and turns errors of SQLite into Unavailable.
 * @param now The clock, ms since 1970.
 * @param makeId Makes the id of a session, for several files whose sessions meet. Default: SQLite counts.
 * @returns In addition `erase`, which takes a customer from all sessions.
 */
export function createSessionRows(
  database: Database,
  using: <Result>(work: () => Result) => Result,
  now: () => number,
  makeId: () => number | null = () => null,
): Sessions & { readonly erase: (customerId: string) => void } {
  const grants = 'FROM sessions JOIN session_customers ON session = id'
  const isOpen = `until > @now AND until <= @now + ${SESSION_SECONDS * 1000 + CLOCK_SLACK_MS}`
  const select = database.prepare<[{ hash: Buffer; now: number }], Grant>(
    `SELECT id, customer_id, key_hash ${grants} WHERE token_hash = @hash AND ${isOpen} ORDER BY session_customers.rowid`,
  )
  const selectKey = database
    .prepare<[{ id: number; customerId: string; now: number }], Buffer>(
      `SELECT key_hash ${grants} WHERE id = @id AND customer_id = @customerId AND ${isOpen}`,
    )
    .pluck()
  const insert = database.prepare<[number | null, Buffer, number]>(
    'INSERT INTO sessions (id, token_hash, until) VALUES (?, ?, ?)',
  )
  const renew = database.prepare<[Buffer, number, number]>(
    'UPDATE sessions SET token_hash = ?, until = ? WHERE id = ?',
  )
  const eraseEnded = database.prepare<[{ now: number }]>(
    `DELETE FROM sessions WHERE NOT (${isOpen})`,
  )
  const eraseOldest = database.prepare<[number]>(
    'DELETE FROM sessions WHERE id IN (SELECT id FROM sessions ORDER BY until DESC, id DESC LIMIT -1 OFFSET ?)',
  )
  const eraseOne = database.prepare<[number]>('DELETE FROM sessions WHERE id = ?')
  const eraseEmpty = database.prepare(
    'DELETE FROM sessions WHERE id NOT IN (SELECT session FROM session_customers)',
  )
  const grant = database.prepare<[number, string, Buffer]>(
    'INSERT INTO session_customers (session, customer_id, key_hash) VALUES (?, ?, ?)',
  )
  const revoke = database.prepare<[number, string]>(
    'DELETE FROM session_customers WHERE session = ? AND customer_id = ?',
  )
  const revokeOldest = database.prepare<[string, number]>(
    'DELETE FROM session_customers WHERE rowid IN (SELECT rowid FROM session_customers WHERE customer_id = ? ORDER BY rowid DESC LIMIT -1 OFFSET ?)',
  )
  const revokeEnded = database.prepare(
    'DELETE FROM session_customers WHERE session NOT IN (SELECT id FROM sessions)',
  )
  const eraseCustomer = database.prepare<[string]>(
    'DELETE FROM session_customers WHERE customer_id = ?',
  )

  function find(token: string): Session | undefined {
    if (!TOKEN.test(token)) return undefined
    const rows = using(() => select.all({ hash: hashSecret(token), now: now() }))
    const [first] = rows
    return (
      first && { id: first.id, keys: new Map(rows.map((row) => [row.customer_id, row.key_hash])) }
    )
  }

  /** Removes the sessions that have ended, and the oldest of a customer and of all, if they are too many. */
  function clear(customerId: string): void {
    const ended = eraseEnded.run({ now: now() }).changes + eraseOldest.run(MAX_SESSIONS).changes
    if (ended > 0) revokeEnded.run()
    if (revokeOldest.run(customerId, MAX_SESSIONS_OF_CUSTOMER).changes > 0) eraseEmpty.run()
  }

  const signIn = database.transaction(
    (old: number | undefined, hash: Buffer, customerId: string, keyHash: Buffer) => {
      const until = now() + SESSION_SECONDS * 1000
      // Inserted again, so that it is the newest.
      if (old !== undefined) revoke.run(old, customerId)
      const isOld = old !== undefined && renew.run(hash, until, old).changes > 0
      const id = isOld ? old : Number(insert.run(makeId(), hash, until).lastInsertRowid)
      grant.run(id, customerId, keyHash)
      clear(customerId)
    },
  )
  const signOut = database.transaction((id: number) => {
    eraseOne.run(id)
    revokeEnded.run()
  })

  /**
   * Writes without waiting for the disk, and hardly for other processes: it blocks the gateway's thread. A killed process
   * loses nothing of it. A power cut may lose the newest sign-ins, and the operators sign in again.
   */
  function write(work: () => void): void {
    using(() => {
      const timeout = database.pragma('busy_timeout', { simple: true })
      database.pragma(`busy_timeout = ${BUSY_MS}`)
      database.pragma('synchronous = NORMAL')
      try {
        work()
      } finally {
        database.pragma('synchronous = FULL')
        database.pragma(`busy_timeout = ${timeout}`)
      }
    })
  }

  return {
    signIn(token, customerId, keyHash) {
      const next = randomBytes(32).toString('base64url')
      write(() => signIn.immediate(find(token)?.id, hashSecret(next), customerId, keyHash))
      return next
    },
    find,
    findKey: ({ id }, customerId) => using(() => selectKey.get({ id, customerId, now: now() })),
    signOut(token) {
      const session = find(token)
      if (session) write(() => signOut.immediate(session.id))
    },
    erase(customerId) {
      eraseCustomer.run(customerId)
      eraseEmpty.run()
    },
  }
}

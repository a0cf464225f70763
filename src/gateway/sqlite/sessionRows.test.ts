import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { hashSecret } from '../lib/secret.ts'
import { SESSION_SECONDS } from '../operators/sessions.ts'
import { createSqliteCustomers } from './customers.ts'
import { openDatabase } from './database.ts'
import { createSessionRows, SESSION_TABLES } from './sessionRows.ts'

const folder = makeFolder()
const opened: ReturnType<typeof createSqliteCustomers>[] = []
afterAll(() => {
  for (const one of opened) one.close()
  rmSync(folder, { recursive: true })
})

const KEY = hashSecret('key')
const DAY_MS = SESSION_SECONDS * 1000
let files = 0

/** A database in a folder of its own. `reopen` opens it once more, as a second gateway does. */
function prepare(file = join(folder, `customers-${++files}.db`)) {
  let clock = 1_800_000_000_000
  const open = () => {
    const customers = createSqliteCustomers(file, () => clock)
    opened.push(customers)
    return customers
  }
  const first = open()
  const { sessions } = first
  return {
    ...sessions,
    file,
    customers: first,
    reopen: open,
    wait: (ms: number) => {
      clock += ms
    },
    signIn: (customerId: string, token = '') => sessions.signIn(token, customerId, KEY),
    seenBy: (token: string) => [...(sessions.find(token)?.keys.keys() ?? [])],
  }
}

test('a session is found by its token until it ends', () => {
  const { signIn, find, findKey, seenBy, wait } = prepare()
  const token = signIn('a')
  expect(token).toMatch(/^[\w-]{43}$/)
  expect(find(token)?.keys).toEqual(new Map([['a', KEY]]))
  expect(find(`${token}x`)).toBeUndefined()
  expect(find('')).toBeUndefined()
  wait(DAY_MS - 1)
  expect(seenBy(token)).toEqual(['a'])
  const session = find(token)
  wait(1)
  expect(find(token)).toBeUndefined()
  expect(session && findKey(session, 'a')).toBeUndefined()
})

test('a clock that was ahead at the sign-in makes a session an hour longer at most', () => {
  const { signIn, seenBy, wait } = prepare()
  const token = signIn('a')
  wait(-3_600_000)
  expect(seenBy(token)).toEqual(['a'])
  wait(-1)
  expect(seenBy(token)).toEqual([])
})

test('a further sign-in adds a customer, also to session objects of earlier calls', () => {
  const { signIn, find, findKey, seenBy, wait } = prepare()
  const first = signIn('a')
  const kept = find(first)
  wait(DAY_MS - 1)
  const second = signIn('b', first)
  expect(find(first)).toBeUndefined()
  expect(seenBy(second)).toEqual(['a', 'b'])
  wait(1)
  expect(kept && [findKey(kept, 'a'), findKey(kept, 'b')]).toEqual([KEY, KEY])
  // An unknown token opens a new session.
  expect(seenBy(signIn('c', first))).toEqual(['c'])
})

test('a sign-in with another key of the same customer replaces the first', () => {
  const { find, signIn, ...rows } = prepare()
  const other = hashSecret('other')
  const token = rows.customers.sessions.signIn(signIn('a'), 'a', other)
  expect(find(token)?.keys).toEqual(new Map([['a', other]]))
})

test('signing out ends a session in every gateway, and no other', () => {
  const { signIn, find, findKey, seenBy, reopen } = prepare()
  const [first, second] = [signIn('a'), signIn('a')]
  const kept = find(first)
  const other = reopen().sessions
  expect(other.find(first)?.keys).toEqual(new Map([['a', KEY]]))
  other.signOut(first)
  other.signOut('unknown')
  expect(find(first)).toBeUndefined()
  expect(kept && findKey(kept, 'a')).toBeUndefined()
  expect(seenBy(second)).toEqual(['a'])
})

test('the removal of a customer takes it from all sessions', () => {
  const { customers, signIn, seenBy } = prepare()
  const { customerId } = customers.add().customer
  const token = signIn('b', signIn(customerId))
  customers.remove(customerId)
  expect(seenBy(token)).toEqual(['b'])
})

test('the database has hashes only: neither a token nor a cookie can be made of it', () => {
  const { signIn, file, customers, find } = prepare()
  const { customer, restKey } = customers.add()
  const token = customers.sessions.signIn('', customer.customerId, hashSecret(restKey))
  signIn('b', token)
  expect(find(token)).toBeUndefined()
  const bytes = readdirSync(folder)
    .filter((name) => file.endsWith(name.replace(/-(wal|shm)$/, '')))
    .map((name) => readFileSync(join(folder, name)))
  expect(bytes.length).toBeGreaterThan(1)
  const [hash] = [hashSecret(token)]
  for (const secret of [token, restKey, Buffer.from(token, 'base64url'), Buffer.from(restKey)])
    expect(bytes.some((one) => one.includes(secret))).toBe(false)
  expect(bytes.some((one) => one.includes(hash))).toBe(true)
  expect(find(hash.toString('base64url'))).toBeUndefined()
})

test('a customer has at most a hundred sessions: the oldest ends, and those of others do not', () => {
  const { signIn, seenBy } = prepare()
  const other = signIn('other')
  const both = signIn('other', signIn('shop'))
  const again = signIn('shop')
  const tokens = Array.from({ length: 98 }, () => signIn('shop'))
  // Signed in again, so that it is the newest.
  const renewed = signIn('shop', again)
  expect(seenBy(both)).toEqual(['shop', 'other'])
  const last = signIn('shop')
  expect(seenBy(both)).toEqual(['other'])
  expect(seenBy(tokens[0] as string)).toEqual(['shop'])
  for (let i = 0; i < 50; i++) signIn('shop')
  expect(tokens.map((token) => seenBy(token).length).indexOf(1)).toBe(50)
  expect([renewed, last].flatMap(seenBy)).toEqual(['shop', 'shop'])
  expect(seenBy(other)).toEqual(['other'])
})

/** The number of rows of both tables. */
const rowsOf = (file: string) => {
  const database = new Database(file)
  const count = (table: string) =>
    database.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get()
  const counts = [count('sessions'), count('session_customers')]
  database.close()
  return counts
}

test('sessions do not grow without bound, and old ones go first', () => {
  const { signIn, seenBy, wait, file } = prepare()
  const oldest = signIn('shop-0')
  wait(1)
  const next = signIn('shop-1')
  const database = new Database(file)
  database.exec(`
    INSERT INTO sessions (token_hash, until)
      WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
      SELECT randomblob(32), (SELECT max(until) FROM sessions) + 1 FROM n;
    INSERT INTO session_customers SELECT id, 'shop-' || id, x'00' FROM sessions WHERE id > 2`)
  database.close()
  expect(rowsOf(file)).toEqual([10_000, 10_000])
  expect(seenBy(oldest)).toEqual(['shop-0'])
  const last = signIn('shop-10000')
  expect([seenBy(oldest), seenBy(next), seenBy(last)]).toEqual([[], ['shop-1'], ['shop-10000']])
  expect(rowsOf(file)).toEqual([10_000, 10_000])
})

test('sessions that have ended make room, and leave nothing', () => {
  const { signIn, seenBy, wait, file } = prepare()
  const old = Array.from({ length: 100 }, () => signIn('shop'))
  wait(DAY_MS)
  const fresh = Array.from({ length: 100 }, () => signIn('shop'))
  expect(old.flatMap(seenBy)).toEqual([])
  expect(fresh.flatMap(seenBy)).toHaveLength(100)
  expect(rowsOf(file)).toEqual([100, 100])
})

test('a sign-in waits neither for the disk nor long for other writers, and every other commit does', () => {
  const database = openDatabase(join(folder, `sessions-${++files}.db`), {
    tables: SESSION_TABLES,
    probe: 'SELECT token_hash FROM sessions',
  })
  const waits = () =>
    ['synchronous', 'busy_timeout'].map((name) => database.pragma(name, { simple: true }))
  const usual = [2, 5_000]
  const seen: unknown[] = []
  const clock = () => {
    seen.push(waits())
    return 1
  }
  const sessions = createSessionRows(database, (work) => work(), clock)
  const token = sessions.signIn('', 'a', KEY)
  expect(seen).toContainEqual([1, 200])
  expect(waits()).toEqual(usual)
  const other = new Database(database.name)
  other.exec('BEGIN IMMEDIATE')
  expect(() => sessions.signIn('', 'a', KEY)).toThrow('locked')
  other.close()
  expect(waits()).toEqual(usual)
  database.exec('DROP TABLE session_customers')
  expect(() => sessions.signIn('', 'a', KEY)).toThrow('session_customers')
  expect(() => sessions.signOut(token)).toThrow('session_customers')
  expect(waits()).toEqual(usual)
  database.close()
})

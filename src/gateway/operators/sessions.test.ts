import { expect, test } from 'vitest'
import { createSessions, SESSION_SECONDS } from './sessions.ts'

const KEY = Buffer.from('key')

function prepare() {
  let clock = 0
  const sessions = createSessions(() => clock)
  return {
    ...sessions,
    wait: (ms: number) => {
      clock += ms
    },
    signIn: (customerId: string, token = '') => sessions.signIn(token, customerId, KEY),
    seenBy: (token: string) => [...(sessions.find(token)?.keys.keys() ?? [])],
  }
}

test('a session is found by its token until it ends', () => {
  const { signIn, find, seenBy, lasts, wait } = prepare()
  const token = signIn('a')
  expect(token).toMatch(/^[\w-]{43}$/)
  expect(find(token)?.keys).toEqual(new Map([['a', KEY]]))
  expect(find(`${token}x`)).toBeUndefined()
  expect(find('')).toBeUndefined()
  wait(SESSION_SECONDS * 1000 - 1)
  expect(seenBy(token)).toEqual(['a'])
  const session = find(token)
  wait(1)
  expect(find(token)).toBeUndefined()
  expect(session && lasts(session)).toBe(false)
})

test('a further sign-in adds a customer, also to session objects of earlier calls', () => {
  const { signIn, find, seenBy, lasts, wait } = prepare()
  const first = signIn('a')
  const kept = find(first)
  wait(SESSION_SECONDS * 1000 - 1)
  const second = signIn('b', first)
  expect(find(first)).toBeUndefined()
  expect(seenBy(second)).toEqual(['a', 'b'])
  wait(1)
  expect(kept && lasts(kept)).toBe(true)
  expect([...(kept?.keys.keys() ?? [])]).toEqual(['a', 'b'])
  // An unknown token opens a new session.
  expect(seenBy(signIn('c', first))).toEqual(['c'])
})

test('signing out ends a session, also for session objects of earlier calls', () => {
  const { signIn, find, seenBy, signOut } = prepare()
  const [first, second] = [signIn('a'), signIn('a')]
  const kept = find(first)
  signOut(first)
  signOut('unknown')
  expect(find(first)).toBeUndefined()
  expect(kept?.keys.size).toBe(0)
  expect(seenBy(second)).toEqual(['a'])
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

test('sessions do not grow without bound, and old ones go first', () => {
  const { signIn, seenBy } = prepare()
  const tokens = Array.from({ length: 10_001 }, (_, i) => signIn(`shop-${i}`))
  expect(seenBy(tokens[0] as string)).toEqual([])
  expect(seenBy(tokens[1] as string)).toEqual(['shop-1'])
  expect(seenBy(tokens[10_000] as string)).toEqual(['shop-10000'])
})

test('sessions that have ended make room', () => {
  const { signIn, seenBy, wait } = prepare()
  const old = Array.from({ length: 100 }, () => signIn('shop'))
  wait(SESSION_SECONDS * 1000)
  const fresh = Array.from({ length: 100 }, () => signIn('shop'))
  expect(old.flatMap(seenBy)).toEqual([])
  expect(fresh.flatMap(seenBy)).toHaveLength(100)
})

import { expect, test } from 'vitest'
import { createSessions, SESSION_SECONDS } from './sessions.ts'

test('a session is found by its token until it ends', () => {
  let clock = 0
  const sessions = createSessions<string>(() => clock)
  const token = sessions.open('a')
  expect(token).toMatch(/^[\w-]{43}$/)
  expect(sessions.find(token)).toBe('a')
  expect(sessions.find(`${token}x`)).toBeUndefined()
  expect(sessions.find('')).toBeUndefined()
  clock = SESSION_SECONDS * 1000 - 1
  expect(sessions.find(token)).toBe('a')
  clock += 1
  expect(sessions.find(token)).toBeUndefined()
})

test('a session can be closed', () => {
  const sessions = createSessions<string>(() => 0)
  const [first, second] = [sessions.open('a'), sessions.open('b')]
  sessions.close(first)
  sessions.close('unknown')
  expect(sessions.find(first)).toBeUndefined()
  expect(sessions.find(second)).toBe('b')
})

test('sessions do not grow without bound, and old ones go first', () => {
  const sessions = createSessions<number>(() => 0)
  const tokens = Array.from({ length: 10_001 }, (_, i) => sessions.open(i))
  expect(sessions.find(tokens[0] as string)).toBeUndefined()
  expect(sessions.find(tokens[1] as string)).toBe(1)
  expect(sessions.find(tokens[10_000] as string)).toBe(10_000)
})

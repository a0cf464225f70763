import { expect, test } from 'vitest'
import { bodyBytesOf, createBodyBudget } from './bodyBudget.ts'

test('one address has a quarter, all together the whole', () => {
  const { reserve } = createBodyBudget(100)
  const give = ['a', 'b', 'c', 'd'].map((address) => reserve(25, address))
  expect(give.every(Boolean)).toBe(true)
  expect(reserve(1, 'a')).toBeUndefined()
  expect(reserve(1, 'e')).toBeUndefined()
  give[0]?.()
  give[0]?.()
  expect(reserve(26, 'e')).toBeUndefined()
  expect(reserve(25, 'a')).toBeDefined()
  expect(reserve(1, 'e')).toBeUndefined()
})

test('a body above the share, or above all of it, fits alone', () => {
  const { reserve } = createBodyBudget(100)
  const give = reserve(1_000, 'a')
  expect(give).toBeDefined()
  expect(reserve(1, 'b')).toBeUndefined()
  give?.()
  expect(reserve(50, 'b')).toBeDefined()
  expect(reserve(1, 'b')).toBeUndefined()
})

test.each([
  [{}, 0],
  [{ 'content-length': '17' }, 17],
  [{ 'transfer-encoding': 'chunked' }, 2 ** 20],
])('%j announces %d bytes', (headers, bytes) => {
  expect(bodyBytesOf({ headers })).toBe(bytes)
})

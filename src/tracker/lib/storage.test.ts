import { expect, test } from 'vitest'
import { createMemoryStorage } from '../../test/storage.ts'
import { createStore } from './storage.ts'

test('stores, lists and removes', () => {
  const storage = createMemoryStorage()
  const store = createStore(() => storage)
  expect(store.get('a')).toBeNull()
  expect(store.set('a', '1')).toBe(true)
  expect(store.set('length', '2')).toBe(true)
  expect(store.get('a')).toBe('1')
  expect(store.names()).toEqual(['a', 'length'])
  store.remove('a')
  store.remove('never there')
  expect(store.names()).toEqual(['length'])
})

const failing = (call: string) =>
  new Proxy(createMemoryStorage(), {
    get(storage, name) {
      if (name === call) throw new DOMException('denied', 'SecurityError')
      return storage[name as 'length']
    },
    ownKeys: () => {
      throw new DOMException('denied', 'SecurityError')
    },
  })

test.each([
  [
    'reading the property throws',
    () => {
      throw new DOMException('denied', 'SecurityError')
    },
  ],
  ['it is null', () => null as never],
  ['it is undefined', () => undefined as never],
  ['it has no calls', () => ({}) as never],
  ['setItem throws', () => failing('setItem')],
])('%s: nothing is stored, nothing thrown', (_, open) => {
  const store = createStore(open)
  expect(store.set('a', '1')).toBeFalsy()
  expect(store.get('a') ?? null).toBeNull()
  expect(store.names()).toEqual([])
  store.remove('a')
})

test('a storage without room for one value may have room for a smaller one', () => {
  const storage = createMemoryStorage(100)
  const store = createStore(() => storage)
  expect(store.set('shop', 'x'.repeat(60))).toBe(true)
  expect(store.set('a', 'x'.repeat(60))).toBeFalsy()
  expect(store.get('a')).toBeNull()
  expect(store.set('a', 'x'.repeat(20))).toBe(true)
  expect(store.get('shop')).toHaveLength(60)
})

test('each access opens the storage again: access may be granted and revoked', () => {
  let storage: Storage | null = null
  const store = createStore(() => storage as Storage)
  expect(store.set('a', '1')).toBeFalsy()
  storage = createMemoryStorage()
  expect(store.set('a', '1')).toBe(true)
  storage = null
  expect(store.get('a')).toBeUndefined()
})

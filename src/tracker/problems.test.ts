// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest'
import { REPORTED_REASONS } from '../contract/problems.ts'
import { createMemoryStorage } from '../test/storage.ts'
import type { TrackDropReason } from './global.d.ts'
import { createStore } from './lib/storage.ts'
import { createCount } from './problems.ts'

const storage = createMemoryStorage()
const count = createCount(createStore(() => storage))
const stored = (key = 'DEMOSHOP') => storage.getItem(`track.p.${key}`)
const error = (...paths: string[]) =>
  Object.assign(new Error('x'), { issues: paths.map((path) => ({ path, message: 'secret' })) })

beforeEach(() => {
  storage.clear()
  history.replaceState({}, '', '/p/1?email=ana@shop.example#token=1')
})

test.each<TrackDropReason>([
  'invalid',
  'duplicate',
  'no_consent',
  'too_old',
  'outbox_full',
  'refused',
  'ignored',
])('%s counts if it is one of the reported reasons', (reason) => {
  count({ key: 'DEMOSHOP', operation: 'search', reason })
  const isReported = (REPORTED_REASONS as readonly string[]).includes(reason)
  expect(stored()).toBe(isReported ? `${reason},search,,/p/1\n` : null)
})

test('a line has the path of the first fault and of the page, and no value', () => {
  const payload = { variation: { sku: 'secret' } }
  const notice = { key: 'DEMOSHOP', operation: 'addToCart', payload, message: 'secret' }
  count({ ...notice, reason: 'invalid', error: error('variation.sku', 'quantity') })
  const issues = [{ path: 'product_id', message: 'secret' }]
  count({ ...notice, reason: 'refused', status: 422, issues })
  expect(stored()).toBe('refused,addToCart,product_id,/p/1\ninvalid,addToCart,variation.sku,/p/1\n')
})

test('what is known of an event of another page is little', () => {
  count({ id: '1', key: 'DEMOSHOP', reason: 'too_old' })
  expect(stored()).toBe('too_old,,,/p/1\n')
})

test('each key has its own lines; what is not an event has none', () => {
  count({ key: 'DEMOSHOP', operation: 'search', reason: 'invalid' })
  count({ key: 'OTHER1', operation: 'search', reason: 'invalid' })
  count({ operation: 'order', reason: 'invalid', where: {} })
  expect([stored(), stored('OTHER1')]).toEqual(Array(2).fill('invalid,search,,/p/1\n'))
  expect(storage).toHaveLength(2)
})

test.each([
  ['long', `/${'x'.repeat(2000)}`, `/${'x'.repeat(2000)}`],
  ['not ASCII', '/căni/漢', '/c%C4%83ni/%E6%BC%A2'],
  ['with commas', '/a,b,c', '/a,b,c'],
])('a path that is %s', (_, path, shown) => {
  history.replaceState({}, '', path)
  count({ key: 'DEMOSHOP', operation: 'search', reason: 'invalid' })
  expect(stored()).toBe(`invalid,search,,${shown}\n`.slice(0, 1500))
})

test('at most 1,500 characters are stored, the newest', () => {
  for (let n = 0; n < 200; n++) count({ key: 'DEMOSHOP', operation: `o${n}`, reason: 'invalid' })
  expect(stored()).toHaveLength(1500)
  expect(stored()).toMatch(/^invalid,o199,,/)
})

test('nothing is stored while storage is closed', () => {
  const closed = createCount(createStore(() => false))
  expect(closed({ key: 'DEMOSHOP', operation: 'search', reason: 'invalid' })).toBeUndefined()
  expect(storage).toHaveLength(0)
})

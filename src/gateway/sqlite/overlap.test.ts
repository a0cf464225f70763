import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { hasRestKey } from '../customers/customers.ts'
import { MAX_OVERLAP_MS, OverlapLasts, readOverlap } from '../customers/overlap.ts'
import { createSqliteCustomers } from './customers.ts'

const folder = makeFolder()
let files = 0
const nextFile = () => join(folder, `customers-${++files}.db`)
afterAll(() => rmSync(folder, { recursive: true }))

const HOUR = 3_600_000

/** Customers with a clock that a test sets. */
function open(file = nextFile()) {
  const clock = { at: 1_000_000 }
  const customers = createSqliteCustomers(file, () => clock.at)
  const works = (customerId: string, restKey: string) => {
    const customer = customers.find(customerId)
    return customer !== undefined && hasRestKey(customer, restKey)
  }
  return { clock, customers, works, file }
}

test('both REST keys work until the overlap ends, to the millisecond, also after a restart', () => {
  const { clock, customers, works, file } = open()
  const { customer, restKey } = customers.add({ trackingKey: 'SHOPKEY1' })
  const { customerId } = customer
  const next = customers.rotate(customerId, 'rest', HOUR) as string
  const cached = customers.findByTrackingKey('SHOPKEY1') ?? customer
  clock.at += HOUR - 1
  expect([works(customerId, restKey), works(customerId, next)]).toEqual([true, true])
  expect(hasRestKey(cached, restKey)).toBe(true)
  expect(works(customerId, 'neither-of-the-two')).toBe(false)

  const other = open(file)
  other.clock.at = clock.at
  expect(other.works(customerId, restKey)).toBe(true)
  other.clock.at += 1
  expect(other.works(customerId, restKey)).toBe(false)
  other.customers.close()

  clock.at += 1
  expect([works(customerId, restKey), works(customerId, next)]).toEqual([false, true])
  // A customer of an earlier look-up, as caches have it.
  expect(hasRestKey(cached, restKey)).toBe(false)
  customers.close()
  for (const key of [restKey, next]) expect(readFileSync(file).includes(key)).toBe(false)
})

test('an old tracking key finds its customer until the overlap ends, and its pinned scripts stay as long', () => {
  const { clock, customers } = open()
  const { customerId } = customers.add({ trackingKey: 'OLDKEY12' }).customer
  const hash = 'h'.repeat(64)
  customers.pinned.add('OLDKEY12', { hash, version: '1' }, Buffer.from('x'))
  const next = customers.rotate(customerId, 'tracking', HOUR) as string
  clock.at += HOUR - 1
  expect(customers.findByTrackingKey('OLDKEY12')).toMatchObject({
    customerId,
    trackingKey: 'OLDKEY12',
  })
  expect(customers.findByTrackingKey(next)).toMatchObject({ customerId, trackingKey: next })
  expect(customers.find(customerId)?.trackingKey).toBe(next)
  expect(customers.pinned.find('OLDKEY12', hash)).toEqual(Buffer.from('x'))
  clock.at += 1
  expect(customers.findByTrackingKey('OLDKEY12')).toBeUndefined()
  expect(customers.findByTrackingKey(next)?.customerId).toBe(customerId)
  customers.rotate(customerId, 'tracking')
  expect(customers.pinned.list('OLDKEY12')).toEqual([])
  customers.close()
})

test('at most one old key of a kind works, and it can be ended at once', () => {
  const { clock, customers, works } = open()
  const { customer, restKey } = customers.add({ trackingKey: 'OLDKEY12' })
  const { customerId } = customer
  expect(customers.endOverlap(customerId, 'rest')).toBe(false)
  const second = customers.rotate(customerId, 'rest', HOUR) as string
  expect(() => customers.rotate(customerId, 'rest', HOUR)).toThrow(OverlapLasts)
  expect(works(customerId, second)).toBe(true)
  customers.rotate(customerId, 'tracking', HOUR)
  expect(customers.endOverlap(customerId, 'tracking')).toBe(true)
  expect(customers.findByTrackingKey('OLDKEY12')).toBeUndefined()
  expect(works(customerId, restKey)).toBe(true)
  expect(customers.endOverlap(customerId, 'rest')).toBe(true)
  expect(works(customerId, restKey)).toBe(false)

  // A rotation without an overlap ends both.
  const third = customers.rotate(customerId, 'rest', HOUR) as string
  customers.rotate(customerId, 'rest')
  expect([works(customerId, second), works(customerId, third)]).toEqual([false, false])
  // After its end, the next overlap may begin.
  const fourth = customers.rotate(customerId, 'rest', HOUR) as string
  clock.at += HOUR
  expect(customers.endOverlap(customerId, 'rest')).toBe(false)
  const fifth = customers.rotate(customerId, 'rest', HOUR) as string
  expect([works(customerId, fourth), works(customerId, fifth)]).toEqual([true, true])
  customers.close()
})

test('a key that was rotated or removed can not be used again, and a removed customer has no old keys', () => {
  const { customers, works } = open()
  const { customer, restKey } = customers.add({ trackingKey: 'OLDKEY12' })
  const { customerId } = customer
  customers.rotate(customerId, 'tracking', HOUR)
  const next = customers.rotate(customerId, 'rest', HOUR) as string
  expect(() => customers.add({ trackingKey: 'OLDKEY12' })).toThrow('was a tracking key of')
  expect(() => customers.add({ restKey })).toThrow('can not be used again')
  expect(works(customerId, restKey)).toBe(true)
  customers.remove(customerId)
  expect(customers.findByTrackingKey('OLDKEY12')).toBeUndefined()
  for (const key of [restKey, next])
    expect(() => customers.add({ restKey: key })).toThrow('can not be used again')
  customers.close()
})

test('another process sees the overlap and its early end within half a second', () => {
  const file = nextFile()
  const gateway = open(file)
  const command = createSqliteCustomers(file, () => gateway.clock.at)
  const { customerId } = command.add({ trackingKey: 'OLDKEY12' }).customer
  gateway.customers.findByTrackingKey('OLDKEY12')
  const next = command.rotate(customerId, 'tracking', HOUR) as string
  gateway.clock.at += 500
  for (const key of ['OLDKEY12', next])
    expect(gateway.customers.findByTrackingKey(key)?.customerId).toBe(customerId)
  command.endOverlap(customerId, 'tracking')
  gateway.clock.at += 500
  expect(gateway.customers.findByTrackingKey('OLDKEY12')).toBeUndefined()
  gateway.customers.close()
  command.close()
})

test.each([
  ['1m', 60_000],
  ['24h', 24 * HOUR],
  ['90d', MAX_OVERLAP_MS],
  ['2160h', MAX_OVERLAP_MS],
  ['91d', undefined],
  ['0m', undefined],
  ['0h', undefined],
  ['24', undefined],
  ['h', undefined],
  ['-1h', undefined],
  ['1.5h', undefined],
  ['1w', undefined],
  ['', undefined],
])('--overlap %s', (text, ms) => {
  expect(readOverlap(text)).toBe(ms)
})

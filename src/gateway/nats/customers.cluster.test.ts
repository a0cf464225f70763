import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { hashSecret } from '../lib/secret.ts'
import { createSqliteCustomers } from '../sqlite/customers.ts'
import { connectBroker } from './broker.ts'
import { type NatsCustomers, openNatsCustomers } from './customers.ts'
import { findPassing } from './passing.ts'

/** Long, for busy machines. A test waits more than once. */
vi.setConfig({ testTimeout: 180_000 })
const PATIENCE_MS = 60_000

const folder = makeFolder()
const ends: (() => Promise<void>)[] = []
const account = takeAccount()
afterAll(async () => {
  for (const end of ends.reverse()) await end()
  rmSync(folder, { recursive: true })
})

const away = new Promise<never>(() => {})
let folders = 0
const errors: string[] = []

async function open(own = join(folder, `${++folders}`), isAway = false) {
  mkdirSync(own, { recursive: true })
  const broker = isAway ? away : await connectBroker(account)
  const opened = await openNatsCustomers({
    ...{ broker, folder: own },
    onError(error) {
      // Otherwise the cluster is busy, and it is tried again.
      if (findPassing(error) === undefined) errors.push((error as Error).message)
    },
  })
  let isOpen = true
  const close = async () => {
    if (!isOpen) return
    isOpen = false
    await opened.close()
    if (!isAway) await (await broker).close()
  }
  ends.push(close)
  return { ...opened, folder: own, close }
}

const one = await open()
const two = await open()
/** Tries again: one time-out of the cluster takes as long as `saved` waits. */
const untilSaved = ({ saved }: Pick<NatsCustomers, 'saved'>) => vi.waitFor(saved, PATIENCE_MS)

test('a customer works everywhere, with its settings, and a rotated key stops at once', async () => {
  const { customer, restKey } = one.customers.add({
    ...{ customerId: 'shop', origins: ['https://shop.example'], dailyEvents: 5 },
  })
  await untilSaved(one)
  await vi.waitFor(() => {
    const found = two.customers.findByTrackingKey(customer.trackingKey)
    expect(found).toMatchObject({ customerId: 'shop', dailyEvents: 5 })
    expect(found?.restKeyHash).toEqual(hashSecret(restKey))
  }, PATIENCE_MS)

  const key = two.customers.rotate('shop', 'tracking') as string
  await untilSaved(two)
  await vi.waitFor(() => {
    expect(one.customers.findByTrackingKey(key)?.customerId).toBe('shop')
    expect(one.customers.findByTrackingKey(customer.trackingKey)).toBeUndefined()
  }, PATIENCE_MS)
  expect(() => one.customers.add({ trackingKey: customer.trackingKey })).toThrow('was a tracking')
})

test('a session of one gateway is valid on the other one, until it ends anywhere', async () => {
  const tokens = await Promise.all(
    [one, two].map(async (gateway) => {
      const token = gateway.sessions.signIn('', 'shop', hashSecret('key'))
      await untilSaved(gateway)
      return token
    }),
  )
  await vi.waitFor(() => {
    for (const token of tokens)
      for (const { sessions } of [one, two])
        expect(sessions.find(token)?.keys.get('shop')).toEqual(hashSecret('key'))
  }, PATIENCE_MS)
  one.sessions.signOut(tokens[1] as string)
  await untilSaved(one)
  await vi.waitFor(() => {
    expect(two.sessions.find(tokens[1] as string)).toBeUndefined()
    expect(two.sessions.find(tokens[0] as string)).toBeDefined()
  }, PATIENCE_MS)
})

test('a pinned script is the same everywhere', async () => {
  const bytes = Buffer.from([0, 255, 1, 254])
  one.pinned.add('KEYKEY', { hash: 'a'.repeat(64), version: '1.0.0' }, bytes)
  await untilSaved(one)
  await vi.waitFor(() => {
    expect(two.pinned.find('KEYKEY', 'a'.repeat(64))).toEqual(bytes)
    expect(two.pinned.list('KEYKEY')).toEqual(one.pinned.list('KEYKEY'))
  }, PATIENCE_MS)
})

test.each(['customerId', 'trackingKey'])('the same %s is given once', async (name) => {
  const options = { [name]: `own-${name}` }
  one.customers.add({ ...options, name: 'one', dailyEvents: 1 })
  two.customers.add({ ...options, name: 'two', dailyBytes: 2 })
  const results = await Promise.allSettled([one.saved(), two.saved()])
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const [won, lost] = results[0]?.status === 'fulfilled' ? [one, two] : [two, one]
  const find = ({ customers }: typeof one) =>
    customers.list().filter((customer) => customer[name as 'trackingKey'] === `own-${name}`)
  await vi.waitFor(() => {
    expect(find(lost)).toHaveLength(1)
    expect({ ...find(lost)[0] }).toEqual({ ...find(won)[0], oldRestKeyHash: expect.anything() })
  }, PATIENCE_MS)
})

test('without the cluster the copy is used, and a change is stored when it is back', async () => {
  const third = await open()
  const names = third.customers.list().map(({ customerId }) => customerId)
  await third.close()
  const stale = await open(third.folder, true)
  expect(stale.customers.list().map(({ customerId }) => customerId)).toEqual(names)
  stale.customers.change('shop', { name: 'Changed alone' })
  await expect(stale.saved()).rejects.toMatchObject({ name: 'Unavailable' })
  await stale.close()
  await open(third.folder)
  await vi.waitFor(
    () => expect(one.customers.find('shop')?.name).toBe('Changed alone'),
    PATIENCE_MS,
  )
})

test('customers of the SQLite engine are refused, and stay as they are', async () => {
  const own = join(folder, 'sqlite')
  mkdirSync(own)
  const before = createSqliteCustomers(join(own, 'customers.db'))
  before.add({ customerId: 'local' })
  before.close()
  await expect(open(own)).rejects.toThrow('npx shoptrail move')
  const after = createSqliteCustomers(join(own, 'customers.db'))
  expect(after.list()).toHaveLength(1)
  after.close()
  expect(one.customers.find('local')).toBeUndefined()
})

test('no error was hidden', () => expect(errors).toEqual([]))

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { CUSTOMERS_SCHEMA } from '../sqlite/customers.ts'
import { openDatabase } from '../sqlite/database.ts'
import { createMirrorRows } from '../sqlite/mirrorRows.ts'
import { connectBroker } from './broker.ts'
import { openNatsCustomers } from './customers.ts'
import { openMirror } from './mirror.ts'
import { CUSTOMERS_BUCKET } from './names.ts'
import { findPassing } from './passing.ts'

const folder = makeFolder()
const account = takeAccount()
const broker = await connectBroker(account)
/** For busy machines. */
vi.setConfig({ testTimeout: 180_000 })
const PATIENCE = { timeout: 60_000, interval: 50 }
const errors: unknown[] = []
/** Keeps errors, but not those of a busy cluster, after which a mirror tries again. */
function onError(error: unknown): void {
  if (findPassing(error) === undefined) errors.push(error)
}
afterAll(async () => {
  await broker.close()
  rmSync(folder, { recursive: true })
})

/** Opens customers.db as the version without settings of orders did. */
function openFirst(file: string) {
  const { migrations: _, ...first } = CUSTOMERS_SCHEMA
  const database = openDatabase(file, first)
  const tables = ['customers', 'retention'].map((table) => ({ table, key: ['customer_id'] }))
  const mirror = openMirror({
    rows: createMirrorRows(database, tables),
    ...{ broker, prefix: '', isExclusive: true, bucket: CUSTOMERS_BUCKET, onError },
  })
  return { database, mirror }
}

test('settings of orders come to every gateway, stay while one of the version before changes the customer, and are there after its upgrade', async () => {
  for (const name of ['before', 'now']) mkdirSync(join(folder, name))
  const before = openFirst(join(folder, 'before/customers.db'))
  await before.mirror.ready
  before.database.exec(
    "INSERT INTO customers VALUES ('shop', 'Shop', 'SHOPKEY1', zeroblob(32), '[]', '{}', 1)",
  )
  await vi.waitFor(() => before.mirror.flush(), PATIENCE)

  const now = await openNatsCustomers({ broker, folder: join(folder, 'now'), onError })
  await vi.waitFor(() => expect(now.customers.find('shop')).toBeDefined(), PATIENCE)
  const settings = { currency: 'RON', timeZone: 'Europe/Bucharest', refundStatuses: ['retur'] }
  now.customers.change('shop', settings)
  await vi.waitFor(() => now.saved(), PATIENCE)

  await vi.waitFor(() => before.mirror.catchUp(), PATIENCE)
  before.database.exec(
    "UPDATE customers SET name = 'Renamed'; INSERT INTO retention VALUES ('shop', 30)",
  )
  await vi.waitFor(() => before.mirror.flush(), PATIENCE)
  await vi.waitFor(
    () =>
      expect(now.customers.find('shop')).toMatchObject({
        ...{ ...settings, name: 'Renamed', retentionDays: 30, faults: [] },
      }),
    PATIENCE,
  )

  await before.mirror.close()
  before.database.close()
  const upgraded = await openNatsCustomers({ broker, folder: join(folder, 'before'), onError })
  await vi.waitFor(
    () =>
      expect(upgraded.customers.find('shop')).toMatchObject({
        ...{ ...settings, name: 'Renamed', retentionDays: 30, faults: [] },
      }),
    PATIENCE,
  )
  upgraded.customers.change('shop', { currency: 'EUR' })
  await vi.waitFor(() => upgraded.saved(), PATIENCE)
  await vi.waitFor(() => expect(now.customers.find('shop')?.currency).toBe('EUR'), PATIENCE)
  await upgraded.close()
  await now.close()
  expect(errors).toEqual([])
})

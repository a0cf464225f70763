import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { forgetVersions, upgradeFile } from '../../test/earlierData.ts'
import { makeFolder } from '../../test/gateway.ts'
import { hasRestKey } from '../customers/customers.ts'
import { addDemoCustomer, DEMO_CUSTOMER_ID } from '../customers/demoCustomer.ts'
import { DEFAULT_ORDER_SETTINGS } from '../customers/orderSettings.ts'
import { hashSecret } from '../lib/secret.ts'
import { CUSTOMERS_SCHEMA, createSqliteCustomers } from './customers.ts'
import { openDatabase } from './database.ts'

const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
const nextFile = () => join(folder, `${++files}.db`)

test('a customer gets keys of its own, and is found by id and by tracking key', () => {
  const customers = createSqliteCustomers(nextFile(), () => 42)
  const { customer, restKey } = customers.add({ name: 'Shop', origins: ['https://shop.example'] })
  // No lower case, since some clients change what their user types to upper case. 5 bits a character.
  expect(customer.customerId).toMatch(/^[A-Z2-7]{11}$/)
  expect(customer.trackingKey).toMatch(/^[A-Z2-7]{9}$/)
  expect(restKey).toMatch(/^[A-Z2-7]{52}$/)
  expect(customer).toMatchObject({ name: 'Shop', origins: ['https://shop.example'], createdAt: 42 })
  expect(customers.find(customer.customerId)).toEqual(customer)
  expect(customers.findByTrackingKey(customer.trackingKey)).toEqual(customer)
  expect(customers.findByTrackingKey('NOTHING1')).toBeUndefined()
  expect(customers.list()).toEqual([customer])
  customers.close()
})

test('keys and ids of an older form stay valid', () => {
  const customers = createSqliteCustomers(nextFile())
  const old = {
    customerId: 'k3v9x0q1ab',
    trackingKey: 'A1B2C3D0',
    restKey: 'hT3_-x9Qa0ZcVbNm1L2kJhGfDsApOiUyTrEwQzXcVbN',
  }
  const { customer, restKey } = customers.add(old)
  expect(customers.find(old.customerId)).toEqual(customer)
  expect(customers.findByTrackingKey(old.trackingKey)).toEqual(customer)
  expect(restKey).toBe(old.restKey)
  expect(hasRestKey(customer, old.restKey)).toBe(true)
  expect(customers.rotate(old.customerId, 'rest')).toMatch(/^[A-Z2-7]{52}$/)
  expect(customers.rotate(old.customerId, 'tracking')).toMatch(/^[A-Z2-7]{9}$/)
  customers.close()
})

test('the restKey is recognised, and not in the file', () => {
  const file = nextFile()
  const customers = createSqliteCustomers(file)
  const { customer, restKey } = customers.add()
  expect(hasRestKey(customer, restKey)).toBe(true)
  expect(hasRestKey(customer, `${restKey}x`)).toBe(false)
  expect(hasRestKey(customer, '')).toBe(false)
  customers.close()
  expect(readFileSync(file).includes(restKey)).toBe(false)
})

test('an existing restKey is accepted, stored as a hash, and ends with the next one', () => {
  const file = nextFile()
  const customers = createSqliteCustomers(file)
  const { customer, restKey } = customers.add({ restKey: 'REST-KEY-00000001' })
  expect(restKey).toBe('REST-KEY-00000001')
  expect(hasRestKey(customer, 'REST-KEY-00000001')).toBe(true)
  customers.rotate(customer.customerId, 'rest')
  expect(hasRestKey(customers.find(customer.customerId) ?? customer, 'REST-KEY-00000001')).toBe(
    false,
  )
  const shortest = '0123456789abcdef'
  for (const none of ['', ' ', shortest.slice(1), ` ${shortest}`, `${shortest}\n`, 'x'.repeat(257)])
    expect(() => customers.add({ restKey: none })).toThrow(
      'Expected a restKey of 16 to 256 characters, without white space at its ends',
    )
  expect(() => customers.add({ restKey: '😀'.repeat(15) })).toThrow('16 to 256 characters')
  expect(customers.list()).toHaveLength(1)
  customers.add({ restKey: shortest })
  const longest = customers.add({ restKey: 'x'.repeat(256) })
  expect(hasRestKey(longest.customer, 'x'.repeat(256))).toBe(true)
  customers.close()
  expect(readFileSync(file).includes('REST-KEY-00000001')).toBe(false)
})

test('the form of addresses is kept, changed and removed with its customer; a damaged one keeps none', () => {
  const file = nextFile()
  const customers = createSqliteCustomers(file)
  const formOf = (customerId: string) => customers.find(customerId)?.addresses
  expect(customers.add({ addresses: 'none' }).customer.addresses).toBe('none')
  const { customerId, trackingKey, addresses } = customers.add().customer
  expect([addresses, formOf(customerId)]).toEqual(['whole', 'whole'])
  customers.change(customerId, { addresses: 'short' })
  customers.change(customerId, { name: 'Shop' })
  expect(formOf(customerId)).toBe('short')
  expect(customers.findByTrackingKey(trackingKey)?.addresses).toBe('short')
  customers.change(customerId, { addresses: 'whole' })
  expect(customers.findByTrackingKey(trackingKey)?.addresses).toBe('whole')

  const database = openDatabase(file)
  for (const form of ['', 'Whole', 'shortest']) {
    database
      .prepare('UPDATE kept_addresses SET form = ? WHERE customer_id = ?')
      .run(form, customerId)
    expect(customers.find(customerId)).toMatchObject({
      addresses: 'none',
      faults: [{ part: 'addresses', reason: 'Expected whole, short or none' }],
    })
  }
  customers.remove(customerId)
  expect(database.prepare('SELECT count(*) FROM kept_addresses').pluck().get()).toBe(1)
  database.close()
  customers.close()
})

test('a database from before the form of addresses is opened, and its customers keep whole ones', async () => {
  const file = nextFile()
  const before = createSqliteCustomers(file)
  const { customerId } = before.add().customer
  before.close()
  const database = openDatabase(file)
  database.exec('DROP TABLE kept_addresses')
  database.close()
  forgetVersions(file)
  await upgradeFile(file, CUSTOMERS_SCHEMA)
  const customers = createSqliteCustomers(file)
  expect(customers.find(customerId)).toMatchObject({ addresses: 'whole', faults: [] })
  customers.change(customerId, { addresses: 'none' })
  expect(customers.find(customerId)?.addresses).toBe('none')
  customers.close()
})

test('the retention is kept and changed, and stays when its customer is removed', () => {
  const file = nextFile()
  const customers = createSqliteCustomers(file)
  const one = customers.add({ retentionDays: 30 }).customer.customerId
  const other = customers.add().customer
  expect(other.retentionDays).toBe(undefined)
  expect(customers.find(one)?.retentionDays).toBe(30)
  expect(customers.retentions()).toEqual([{ customerId: one, days: 30 }])
  expect(customers.findByTrackingKey(other.trackingKey)?.retentionDays).toBe(undefined)
  customers.change(other.customerId, { retentionDays: 7 })
  expect(customers.findByTrackingKey(other.trackingKey)?.retentionDays).toBe(7)
  customers.change(other.customerId, { name: 'x' })
  expect(customers.find(other.customerId)?.retentionDays).toBe(7)
  customers.change(other.customerId, { retentionDays: null })
  customers.remove(one)
  customers.change('unknown', { retentionDays: 1 })
  expect(customers.retentions()).toEqual([{ customerId: one, days: 30 }])
  customers.close()

  // A value that the command line would not write removes nothing.
  const database = openDatabase(file)
  database.exec('UPDATE retention SET days = 0')
  database.close()
  const again = createSqliteCustomers(file)
  expect(again.retentions()).toEqual([])
  again.close()
})

test('currency, time zone and refund statuses are kept, changed and removed with their customer', () => {
  const file = nextFile()
  const customers = createSqliteCustomers(file)
  const { customer } = customers.add({ currency: 'RON', timeZone: 'Europe/Bucharest' })
  const { customerId, trackingKey } = customer
  const shown = () => {
    const { currency, timeZone, refundStatuses } =
      customers.findByTrackingKey(trackingKey) ?? customer
    return { currency, timeZone, refundStatuses }
  }
  const { refundStatuses } = DEFAULT_ORDER_SETTINGS
  expect(customers.add().customer).toMatchObject({ ...DEFAULT_ORDER_SETTINGS, faults: [] })
  expect(shown()).toEqual({ currency: 'RON', timeZone: 'Europe/Bucharest', refundStatuses })
  customers.change(customerId, { refundStatuses: ['retur'], timeZone: 'UTC' })
  customers.change(customerId, { name: 'Shop' })
  expect(shown()).toEqual({ currency: 'RON', timeZone: 'UTC', refundStatuses: ['retur'] })
  customers.change(customerId, { refundStatuses: [] })
  expect(shown().refundStatuses).toEqual([])
  customers.change(customerId, { refundStatuses: null })
  expect(shown().refundStatuses).toEqual(refundStatuses)
  customers.change('unknown', { currency: 'RON' })

  const database = openDatabase(file)
  const count = () => database.prepare('SELECT count(*) FROM order_settings').pluck().get()
  expect(count()).toBe(1)
  for (const [column, value, part, reason] of [
    ['currency', 'lei', 'currency', 'Expected a code of ISO 4217, got "lei"'],
    ['currency', 'ron', 'currency', 'Expected a code of ISO 4217, got "ron"'],
    ['time_zone', 'Mars/Base', 'timeZone', 'Expected a name of IANA, got "Mars/Base"'],
    ['refund_statuses', '["refunded"', 'refundStatuses', 'It is not JSON'],
    ['refund_statuses', '["Retur"]', 'refundStatuses', 'Expected a list of statuses in lower case'],
    ['refund_statuses', '{}', 'refundStatuses', 'Expected a list of statuses in lower case'],
  ] as const) {
    database.prepare(`UPDATE order_settings SET ${column} = ?`).run(value)
    expect(customers.find(customerId)?.faults).toEqual([{ part, reason }])
    database.prepare(`UPDATE order_settings SET ${column} = NULL`).run()
  }
  expect(customers.find(customerId)).toMatchObject({ ...DEFAULT_ORDER_SETTINGS, faults: [] })
  customers.remove(customerId)
  expect(count()).toBe(0)
  database.close()
  customers.close()
})

test('a database of schema 1 is upgraded while a gateway of that version has it open', async () => {
  const file = nextFile()
  const { migrations: _, ...first } = CUSTOMERS_SCHEMA
  const before = openDatabase(file, first)
  before.exec(
    "INSERT INTO customers VALUES ('shop', 'Shop', 'SHOPKEY1', zeroblob(32), '[]', '{}', 1)",
  )
  expect(() => createSqliteCustomers(file)).toThrow('is from an earlier version')
  await upgradeFile(file, CUSTOMERS_SCHEMA)
  const customers = createSqliteCustomers(file)
  expect(customers.find('shop')).toMatchObject({ ...DEFAULT_ORDER_SETTINGS, faults: [] })
  customers.change('shop', { currency: 'RON' })
  before.exec("DELETE FROM customers; INSERT INTO retention VALUES ('shop', 30)")
  expect(customers.list()).toEqual([])
  before.close()
  customers.close()
})

test('ignored addresses are kept, changed and removed with their customer', () => {
  const file = nextFile()
  const customers = createSqliteCustomers(file)
  const { customerId } = customers.add({ ignored: ['203.0.113.7'] }).customer
  const isIgnored = () => customers.find(customerId)?.isIgnored('203.0.113.7')
  expect(isIgnored()).toBe(true)
  customers.change(customerId, { name: 'Shop' })
  expect(isIgnored()).toBe(true)
  customers.change(customerId, { ignored: [] })
  expect(isIgnored()).toBe(false)
  expect(customers.find(customerId)?.ignored).toEqual([])

  const database = openDatabase(file)
  const count = () => database.prepare('SELECT count(*) FROM ignored').pluck().get()
  for (const [addresses, reason] of [
    ['["203.0.113.7"', 'It is not JSON'],
    ['["office.example"]', 'Expected a list of addresses and networks'],
    ['{}', 'Expected a list of addresses and networks'],
  ]) {
    database.prepare('UPDATE ignored SET addresses = ?').run(addresses)
    expect(customers.find(customerId)).toMatchObject({
      ignored: [],
      faults: [{ part: 'ignored', reason }],
    })
  }
  expect(count()).toBe(1)
  customers.remove(customerId)
  expect(count()).toBe(0)
  database.close()
  customers.close()
})

test('a shorter restKey of an earlier version keeps working', () => {
  const file = nextFile()
  const customers = createSqliteCustomers(file)
  const { customerId } = customers.add().customer
  const database = openDatabase(file)
  database.prepare('UPDATE customers SET rest_key_hash = ?').run(hashSecret('old'))
  database.close()
  const customer = customers.find(customerId)
  expect(customer && hasRestKey(customer, 'old')).toBe(true)
  customers.close()
})

test('an id or a tracking key can be used once', () => {
  const customers = createSqliteCustomers(nextFile())
  customers.add({ customerId: 'a', trackingKey: 'TAKEN123' })
  expect(() => customers.add({ customerId: 'a' })).toThrow('exists')
  expect(() => customers.add({ trackingKey: 'TAKEN123' })).toThrow(
    'TAKEN123 belongs to another customer',
  )
  customers.close()
})

test('the id and the tracking keys of a removed customer can never be used again', () => {
  const file = nextFile()
  const customers = createSqliteCustomers(file)
  customers.add({ customerId: 'a', trackingKey: 'FIRST123' })
  const second = customers.rotate('a', 'tracking') as string
  expect(() => customers.add({ trackingKey: 'FIRST123' })).toThrow('was a tracking key of a')
  expect(customers.isRetired('a')).toBe(false)
  customers.remove('a')
  expect(customers.isRetired('a')).toBe(true)
  customers.close()

  const again = createSqliteCustomers(file)
  expect(() => again.add({ customerId: 'a' })).toThrow('a was the id of a customer')
  for (const trackingKey of ['FIRST123', second])
    expect(() => again.add({ trackingKey })).toThrow(`${trackingKey} was a tracking key of a`)
  expect(again.list()).toEqual([])
  // A former tracking key may be used as an id.
  again.add({ customerId: 'FIRST123' })
  again.close()
})

test('a new key ends the old one at once', () => {
  const customers = createSqliteCustomers(nextFile())
  const { customer, restKey } = customers.add()
  const { customerId, trackingKey } = customer
  customers.findByTrackingKey(trackingKey)
  const nextTracking = customers.rotate(customerId, 'tracking') as string
  expect(customers.findByTrackingKey(trackingKey)).toBeUndefined()
  expect(customers.findByTrackingKey(nextTracking)?.customerId).toBe(customerId)
  const nextRest = customers.rotate(customerId, 'rest') as string
  const now = customers.findByTrackingKey(nextTracking)
  expect(now && hasRestKey(now, restKey)).toBe(false)
  expect(now && hasRestKey(now, nextRest)).toBe(true)
  expect(customers.rotate('nobody', 'rest')).toBeUndefined()
  customers.close()
})

test('a change leaves the rest as it is', () => {
  const customers = createSqliteCustomers(nextFile())
  const { customer } = customers.add({ name: 'Before', origins: ['https://a.example'] })
  const config = { events: { addToCart: 'basket' } }
  const changed = customers.change(customer.customerId, { config })
  expect(changed).toMatchObject({ name: 'Before', origins: ['https://a.example'], config })
  expect([...(changed?.operations ?? [])]).toEqual([['basket', 'addToCart']])
  expect(customers.change('nobody', { name: 'x' })).toBeUndefined()
  customers.close()
})

test('a removed customer is gone', () => {
  const customers = createSqliteCustomers(nextFile())
  const { customer } = customers.add()
  customers.findByTrackingKey(customer.trackingKey)
  expect(customers.remove(customer.customerId)).toBe(true)
  expect(customers.remove(customer.customerId)).toBe(false)
  expect(customers.findByTrackingKey(customer.trackingKey)).toBeUndefined()
  customers.close()
})

test('a change by another process is seen within half a second', () => {
  const file = nextFile()
  let clock = 0
  const gateway = createSqliteCustomers(file, () => clock)
  const command = createSqliteCustomers(file)
  const { customer } = command.add({ name: 'Before' })
  expect(gateway.findByTrackingKey(customer.trackingKey)?.name).toBe('Before')
  command.change(customer.customerId, { name: 'After' })
  expect(gateway.findByTrackingKey(customer.trackingKey)?.name).toBe('Before')
  clock += 500
  expect(gateway.findByTrackingKey(customer.trackingKey)?.name).toBe('After')
  command.remove(customer.customerId)
  clock += 500
  expect(gateway.findByTrackingKey(customer.trackingKey)).toBeUndefined()
  gateway.close()
  command.close()
})

test('the same customer is the same object until something changes', () => {
  const customers = createSqliteCustomers(nextFile())
  const { trackingKey } = customers.add().customer
  expect(customers.findByTrackingKey(trackingKey)).toBe(customers.findByTrackingKey(trackingKey))
  customers.close()
})

test('the demo customer is created once', () => {
  const customers = createSqliteCustomers(nextFile())
  const restKey = addDemoCustomer(customers)
  const demo = customers.find(DEMO_CUSTOMER_ID)
  expect(demo).toMatchObject({ trackingKey: 'DEMOSHOP', origins: ['loopback'] })
  expect(demo && restKey && hasRestKey(demo, restKey)).toBe(true)
  expect(addDemoCustomer(customers)).toBeUndefined()
  customers.close()
})

import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runCommand } from '../test/command.ts'
import { makeFolder } from '../test/gateway.ts'
import type { LogEvent } from './collect/eventLog.ts'
import { toCells } from './sqlite/cells.ts'
import { createSqliteCustomers } from './sqlite/customers.ts'
import { openStore } from './sqlite/store.ts'

/** `shoptrail person`, on a data folder of its own in each test. */
const folder = makeFolder()
let dataDir = ''
let folders = 0
afterAll(() => rmSync(folder, { recursive: true }))

function prepare(...customers: readonly string[]) {
  dataDir = join(folder, String(++folders))
  mkdirSync(dataDir)
  const stored = createSqliteCustomers(join(dataDir, 'customers.db'))
  for (const customerId of customers) stored.add({ customerId })
  stored.close()
}

const run = (...args: readonly string[]) => runCommand(['person', ...args], { DATA_DIR: dataDir })

function store(...events: readonly LogEvent[]) {
  const log = openStore(join(dataDir, 'events.db'))
  log.append(toCells(events))
  log.close()
}

const event = (did: string, event: string, payload = {}, customer = 'shop'): LogEvent => ({
  customer,
  id: randomUUID(),
  at: Date.UTC(2026, 0, 1),
  receivedAt: Date.UTC(2026, 0, 1),
  operation: 'email_address' in payload ? 'setEmail' : 'viewHomepage',
  event,
  did,
  bot: false,
  version: null,
  payload: JSON.stringify({ did, event, ...payload }),
})
const says = (did: string, email_address: string, customer?: string) =>
  event(did, 'set_email', { email_address }, customer)

const ANNA = ['--customer', 'shop', '--email', 'Anna@Example.org']

test('an export is JSON on stdout', () => {
  prepare('shop')
  store(event('device-a', 'first'), says('device-a', 'anna@example.org'), event('b', 'other'))
  const { status, stdout, stderr } = run('export', ...ANNA)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(JSON.parse(stdout)).toMatchObject({
    customer: 'shop',
    person: { email: 'anna@example.org' },
    devices: ['device-a'],
    events: [{ event: 'first' }, { event: 'set_email' }],
  })
  expect(JSON.parse(run('export', '--customer', 'shop', '--did', 'b').stdout).events).toHaveLength(
    1,
  )
})

test('an erasure without --yes says what it would remove, and removes nothing', () => {
  prepare('shop')
  store(event('device-a', 'first'), says('device-a', 'anna@example.org'))
  const { status, stdout, stderr } = run('erase', ...ANNA)
  expect({ status, stdout }).toEqual({ status: 64, stdout: '' })
  expect(stderr).toContain('2 events of 1 device, from 2026-01-01 to 2026-01-01')
  expect(stderr).toMatch(/viewHomepage +1/)
  expect(stderr).toContain('--yes')
  expect(JSON.parse(run('export', ...ANNA).stdout).events).toHaveLength(2)
  expect(run('proofs', '--customer', 'shop').stdout).toContain('Nothing was erased yet')
})

test('an erasure removes everything, and lists a proof without the person', () => {
  prepare('shop')
  store(event('device-a', 'first'), says('device-a', 'anna@example.org'), event('b', 'other'))
  const erased = run('erase', ...ANNA, '--yes')
  expect(erased.status).toBe(0)
  expect(erased.stdout).toContain('Removed 2 events of 1 device.')
  const { status, stdout } = run('proofs', '--customer', 'shop')
  expect(status).toBe(0)
  expect(stdout).toMatch(
    /^1 {2}20\d\d-\d\d-\d\dT\S+Z {2}2 events of 1 device, 0 of them in reports\n$/,
  )
  for (const text of [erased.stdout, stdout]) expect(text).not.toMatch(/anna|device-a/i)
  for (const name of readdirSync(dataDir)) {
    const bytes = readFileSync(join(dataDir, name))
    for (const gone of ['anna', 'Anna', 'device-a', 'first'])
      expect(bytes.includes(gone)).toBe(false)
  }
  expect(JSON.parse(run('export', '--customer', 'shop', '--did', 'b').stdout).events).toHaveLength(
    1,
  )
  const again = run('erase', ...ANNA, '--yes')
  expect(again.status).toBe(1)
  expect(run('proofs', '--customer', 'shop').stdout).toBe(stdout)
})

test('an unknown person is a clear answer, and exit code 1', () => {
  prepare('shop', 'new')
  store(says('device-a', 'anna@example.org'))
  for (const verb of ['export', 'erase']) {
    const { status, stdout, stderr } = run(
      verb,
      '--customer',
      'shop',
      '--email',
      'bert@example.org',
    )
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain('Nothing is kept of this person for the customer shop')
    expect(stderr).not.toContain('bert')
  }
  expect(run('export', '--customer', 'new', '--email', 'anna@example.org').status).toBe(1)
})

test('before the first start nothing is kept, and no log is created', () => {
  prepare('shop')
  expect(run('export', ...ANNA)).toMatchObject({ status: 1, stdout: '' })
  expect(run('erase', ...ANNA, '--yes')).toMatchObject({ status: 1, stdout: '' })
  expect(run('proofs', '--customer', 'shop')).toMatchObject({ status: 0 })
  expect(existsSync(join(dataDir, 'events.db'))).toBe(false)
})

test('an erasure names the folders with databases of before, which still have the person', () => {
  prepare('shop')
  store(says('device-a', 'anna@example.org'))
  for (const name of ['upgrades', 'before-restore-X', 'forward']) mkdirSync(join(dataDir, name))
  expect(run('erase', ...ANNA, '--yes').stdout).toMatch(
    /\nThe databases in (before-restore-X, upgrades|upgrades, before-restore-X) are of before, and still have it\. /,
  )
})

test('a customer that was removed still has its events, an unknown one is an error', () => {
  prepare('shop', 'stays')
  store(says('device-a', 'anna@example.org'))
  const customers = createSqliteCustomers(join(dataDir, 'customers.db'))
  customers.remove('shop')
  customers.close()
  expect(JSON.parse(run('export', ...ANNA).stdout).events).toHaveLength(1)
  expect(run('erase', ...ANNA, '--yes').status).toBe(0)
  const unknown = run('export', '--customer', 'shopp', '--email', 'anna@example.org')
  expect(unknown).toMatchObject({ status: 1, stdout: '' })
  expect(unknown.stderr).toContain(`There is no customer shopp in ${dataDir}`)
})

test.each([
  [['export'], '--customer ID'],
  [['export', '--customer', 'shop'], '--email ADDRESS or --did ID'],
  [['export', ...ANNA, '--did', 'x'], 'either an e-mail address or a device id'],
  [['export', '--customer', 'shop', '--email', 'anna'], 'Expected an e-mail address'],
  [['export', '--customer', 'shop', '--did', ' '], 'Expected a device id'],
  [['export', ...ANNA, '--yes'], 'person export takes no --yes'],
  [['export', 'anna@example.org', '--customer', 'shop'], 'person export takes no anna@example.org'],
  [['proofs', ...ANNA], 'person proofs takes no --email'],
  [['proofs'], '--customer ID'],
  [['erased'], 'There is no command person erased'],
  [[], 'Expected one of export, erase, proofs after person'],
])('person %j is a mistake, with exit code 64', (args, message) => {
  prepare('shop')
  const { status, stdout, stderr } = run(...args)
  expect({ status, stdout }).toEqual({ status: 64, stdout: '' })
  expect(stderr).toContain(message)
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../test/command.ts'
import { prepareGateway, recordsOf, send } from '../test/gateway.ts'
import type { Gateway } from './index.ts'

/** Old keys during an overlap, over real sockets. */
let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
const clock = { at: Date.now() }
const ORIGIN = 'https://shop.example'
const HOUR = 3_600_000
const EVENT = {
  did: 'd-1',
  event: 'view_homepage',
  url: `${ORIGIN}/`,
  http_user_agent: 'UA/1',
  remote_addr: '203.0.113.9',
}

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start({ now: () => clock.at })
})
afterAll(() => prepared.end())

const json = { 'content-type': 'application/json' }
const post = (target: string, body: unknown, headers: Record<string, string> = json) =>
  send(gateway.url, target, { method: 'POST', headers, body: JSON.stringify(body) })

const asPage = (key: string) =>
  post(`/t/r?k=${key}`, EVENT, { origin: ORIGIN, 'content-type': 'text/plain' })
const script = (key: string) => send(gateway.url, `/t/j/${key}`)
const signIn = (customerId: string, restKey: string) => post('/live/login', { customerId, restKey })
const seen = (cookie: string) => send(gateway.url, '/live/customers', { headers: { cookie } })

test('during an overlap both REST keys work everywhere; a session of the old one ends with it', async () => {
  const { customer, restKey } = gateway.customers.add({
    trackingKey: 'RESTSHOP',
    origins: [ORIGIN],
  })
  const id = customer.customerId
  const before = await signIn(id, restKey)
  const next = gateway.customers.rotate(id, 'rest', HOUR) as string
  const uses = (key: string) =>
    Promise.all(
      [
        post(`/api/v1/check-api-credentials?k=${key}&u=${id}`, {}),
        post(`/api/v1/check-credentials?k=${next}&u=${id}`, { k: 'RESTSHOP', r: key, u: id }),
        post(`/t/r?k=RESTSHOP&api_key=${key}`, EVENT),
        signIn(id, key),
      ].map(async (answer) => (await answer).status),
    )
  expect(await uses(restKey)).toEqual([200, 200, 200, 200])
  expect(await uses(next)).toEqual([200, 200, 200, 200])
  const cookies = [before, await signIn(id, restKey), await signIn(id, next)].map(
    ({ headers }) => `${headers['set-cookie']}`.split(';')[0] as string,
  )
  const statuses = () => Promise.all(cookies.map(async (c) => (await seen(c)).status))
  expect(await statuses()).toEqual([200, 200, 200])

  clock.at += HOUR
  expect(await uses(restKey)).toEqual([401, 401, 401, 401])
  expect(await uses(next)).toEqual([200, 200, 200, 200])
  expect(await statuses()).toEqual([401, 401, 200])
})

test('during an overlap pages with the old tag load their script and send with it', async () => {
  const env = { DATA_DIR: `${prepared.folder}/data`, PUBLIC_URL: 'https://t.shop.example' }
  const run = (...args: string[]) => runCommand(args, env)
  const { customerId } = gateway.customers.add({
    trackingKey: 'OLDSHOP1',
    origins: [ORIGIN],
  }).customer
  const { customers } = gateway
  const next = customers.rotate(customerId, 'tracking', HOUR) as string
  const old = await script('OLDSHOP1')
  expect([old.status, (await script(next)).status]).toEqual([200, 200])
  // The page's outbox belongs to the key of its tag.
  expect(old.text).toContain('"key":"OLDSHOP1"')
  expect([(await asPage('OLDSHOP1')).status, (await asPage(next)).status]).toEqual([200, 200])
  const records = await recordsOf(gateway)
  expect(records.filter(({ customer }) => customer === customerId)).toHaveLength(2)
  const listed = run('customer', 'list').stdout
  expect(listed).toContain('old key      OLDSHOP1, works until 20')

  clock.at += HOUR
  expect([(await script('OLDSHOP1')).status, (await asPage('OLDSHOP1')).status]).toEqual([404, 404])
  expect([(await script(next)).status, (await asPage(next)).status]).toEqual([200, 200])
})

test('the commands rotate with an overlap, list it, end it, and refuse what is wrong', () => {
  const env = { DATA_DIR: `${prepared.folder}/commands` }
  const run = (...args: string[]) => runCommand(args, env)
  const add = run('customer', 'add', '--id', 'shop', '--origin', ORIGIN)
  expect(add.status).toBe(0)
  const rotated = run('customer', 'rotate', 'shop', '--key', 'rest', '--overlap', '24h')
  expect(rotated.stdout).toMatch(
    /^restKey {2}[A-Z2-7]{52}\n\nThe old one works until 20.+Z\. .+ --end\n/,
  )
  expect(run('customer', 'list').stdout).toMatch(/old restKey {2}works until 20.+Z\n/)
  expect(run('customer', 'list').stdout).not.toContain('old key ')
  const again = run('customer', 'rotate', 'shop', '--key', 'rest', '--overlap', '1d')
  expect(again).toMatchObject({ status: 1 })
  expect(again.stderr).toMatch(/works until .+ only one old key can.+ --key rest --end\n$/)
  expect(run('customer', 'rotate', 'shop', '--key', 'rest', '--end').stdout).toBe(
    'Ended. The old restKey does not work any more.\n',
  )
  expect(run('customer', 'rotate', 'shop', '--key', 'rest', '--end')).toMatchObject({
    status: 1,
    stderr: 'shop has no old restKey that still works\n',
  })
  expect(run('customer', 'list').stdout).not.toContain('old restKey')
  const tracking = run('customer', 'rotate', 'shop', '--key', 'tracking', '--overlap', '90d')
  expect(tracking.stdout).toMatch(/Pages with the old one can send events until 20.+ Change/)
  for (const [args, message] of [
    [['--key', 'rest', '--overlap', '91d'], 'Expected --overlap in minutes, hours or days'],
    [['--key', 'rest', '--overlap', '1h', '--end'], 'Expected only one of --overlap and --end'],
    [['--end'], 'Expected --key rest or --key tracking'],
  ] as const) {
    const wrong = run('customer', 'rotate', 'shop', ...args)
    expect(wrong.status).toBe(64)
    expect(wrong.stderr).toContain(message)
  }
})

import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../../test/gateway.ts'
import type { Gateway } from '../index.ts'
import { openDatabase } from '../sqlite/database.ts'
import type { Customer } from './customers.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
let sound: { readonly customer: Customer; readonly restKey: string }
const logged: unknown[] = []

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start({ onError: (error) => logged.push(error) })
  sound = gateway.customers.add({ origins: ['https://shop.example'] })
})
afterAll(() => prepared.end())

const BODY = JSON.stringify({
  did: 'd-1',
  event: 'view_homepage',
  url: 'https://shop.example/',
  http_user_agent: 'Agent/1',
})
const ORIGIN = { origin: 'https://shop.example' }

/** The answers of a gateway to each kind of request of a customer's pages and servers. */
async function askAll({ url }: Gateway, { customer, restKey }: typeof sound) {
  const { trackingKey, customerId } = customer
  const keys = `k=${restKey}&u=${customerId}`
  const batch = JSON.stringify({ events: [{ payload: JSON.parse(BODY) }] })
  const post = (target: string, body: string) =>
    send(url, target, { method: 'POST', headers: ORIGIN, body })
  return {
    script: await send(url, `/t/j/${trackingKey}`),
    json: await send(url, `/t/j/${trackingKey}`, { headers: { accept: 'application/json' } }),
    event: await post(`/t/r?k=${trackingKey}`, BODY),
    batch: await post(`/t/batch?k=${trackingKey}`, batch),
    server: await post(`/t/r?k=${trackingKey}&api_key=${restKey}`, BODY),
    list: await post(`/api/v1/campaigns/list?${keys}`, '{}'),
    check: await post(`/api/v1/check-api-credentials?${keys}`, ''),
  }
}
const statusesOf = async (of: Gateway, whom: typeof sound) =>
  Object.fromEntries(
    Object.entries(await askAll(of, whom)).map(([name, { status }]) => [name, status]),
  )
const ALL_GOOD = {
  script: 200,
  json: 200,
  event: 200,
  batch: 200,
  server: 200,
  list: 200,
  check: 200,
}
const ALL_503 = {
  script: 503,
  json: 503,
  event: 503,
  batch: 503,
  server: 503,
  list: 503,
  check: 503,
}

/** Parts that have a table of their own. */
const insertions: Readonly<Record<string, string>> = {
  addresses: 'INSERT INTO kept_addresses (form, customer_id) VALUES (?, ?)',
  ...Object.fromEntries(
    ['currency', 'time_zone', 'refund_statuses'].map((column) => [
      column,
      `INSERT INTO order_settings (${column}, customer_id) VALUES (?, ?)`,
    ]),
  ),
}

test.each<[string, string | Buffer, string]>([
  ['config', '{"ga4":true', 'It is not JSON'],
  ['config', '', 'It is not JSON'],
  ['config', 'null', 'Expected'],
  ['config', '[]', 'Expected'],
  ['config', '5', 'Expected'],
  ['config', '{"ofTomorrow":{}}', 'ofTomorrow: There is no such setting'],
  ['config', '{"batch":"yes"}', 'batch'],
  ['config', '{"__proto__":{"batch":false}}', '__proto__'],
  ['origins', '["https://shop.example"', 'It is not JSON'],
  ['origins', '"https://shop.example"', 'Expected a list of origins'],
  ['origins', '{"length":1}', 'Expected a list of origins'],
  ['origins', 'null', 'Expected a list of origins'],
  ['origins', '["https://shop.example",7]', 'Expected a list of origins'],
  ['rest_key_hash', Buffer.from('short'), 'hash'],
  ['addresses', 'Short', 'Expected whole, short or none'],
  ['currency', 'lei', 'Expected a code of ISO 4217, got "lei"'],
  ['time_zone', 'Mars/Base', 'Expected a name of IANA, got "Mars/Base"'],
  ['refund_statuses', '{}', 'Expected a list of statuses in lower case'],
])(
  'a customer whose %s is %j is answered 503, other customers are not',
  async (column, value, reason) => {
    const broken = gateway.customers.add({ origins: ['https://shop.example'] })
    const { customerId } = broken.customer
    const database = openDatabase(join(prepared.folder, 'data/customers.db'))
    database
      .prepare(insertions[column] ?? `UPDATE customers SET ${column} = ? WHERE customer_id = ?`)
      .run(value, customerId)
    database.close()
    logged.length = 0

    const answers = await askAll(gateway, broken)
    for (const { status, headers, text } of Object.values(answers)) {
      expect(status).toBe(503)
      expect(headers['retry-after']).toBe('30')
      expect(text).toMatch(
        /The stored (config|origins|restKey|addresses|currency|timeZone|refundStatuses) of this customer can not be used/,
      )
    }
    expect(answers.script.headers['content-type']).toContain('text/javascript')
    expect(answers.script.text).toMatch(/^\/\* [^*]+ \*\/\n$/)
    expect(answers.json.headers['content-type']).toContain('application/json')
    // Logged once, with the reason, and not with every event of a busy shop.
    expect(logged).toHaveLength(1)
    expect(String((logged[0] as Error).cause)).toContain(`Customer ${customerId}: `)
    expect(String((logged[0] as Error).cause)).toContain(reason)

    expect(await statusesOf(gateway, sound)).toEqual(ALL_GOOD)
    expect((await send(gateway.url, '/readyz')).status).toBe(200)
    const listed = gateway.customers.list()
    expect(listed.find((customer) => customer.customerId === customerId)?.faults).toEqual([
      { part: expect.any(String), reason: expect.stringContaining(reason) },
    ])
    expect(listed[0]?.faults).toEqual([])

    const { customers } = gateway
    customers.change(customerId, {
      ...{ origins: ['https://shop.example'], config: {}, addresses: 'short' },
      ...{ currency: 'RON', timeZone: 'Europe/Bucharest', refundStatuses: null },
    })
    const restKey = customers.rotate(customerId, 'rest') as string
    expect(await statusesOf(gateway, { ...broken, restKey })).toEqual(ALL_GOOD)
  },
)

test('an operator who may see a broken customer and another one sees both', async () => {
  const broken = gateway.customers.add()
  const { customerId } = broken.customer
  const login = async ({ customer, restKey }: typeof sound, cookie = '') =>
    send(gateway.url, '/live/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie },
      body: JSON.stringify({ customerId: customer.customerId, restKey }),
    })
  const cookieOf = ({ headers }: Awaited<ReturnType<typeof login>>) =>
    String(headers['set-cookie']).split(';')[0] as string
  const cookie = cookieOf(await login(sound, cookieOf(await login(broken))))
  const database = openDatabase(join(prepared.folder, 'data/customers.db'))
  database.prepare(`UPDATE customers SET config = '{' WHERE customer_id = ?`).run(customerId)
  database.close()
  const seen = await send(gateway.url, '/live/customers', { headers: { cookie } })
  expect(
    JSON.parse(seen.text)
      .map((one: Customer) => one.customerId)
      .sort(),
  ).toEqual([customerId, sound.customer.customerId].sort())
})

test('without any customer the answer is 503 and not 404, until the first one is added', async () => {
  const empty = await prepared.start({ dataDir: join(prepared.folder, 'empty') })
  expect(await statusesOf(empty, sound)).toEqual(ALL_503)
  const { script, event } = await askAll(empty, sound)
  expect(script.text).toMatch(/^\/\* This gateway has no customers\. [^*]+ \*\/\n$/)
  expect(script.headers['content-type']).toContain('text/javascript')
  for (const { headers } of [script, event]) {
    expect(headers['retry-after']).toBe('5')
    expect(headers['access-control-allow-origin']).toBe('*')
  }
  expect(JSON.parse(event.text).message).toContain('This gateway has no customers')
  const ready = await send(empty.url, '/readyz')
  expect(ready.status).toBe(503)
  expect(JSON.parse(ready.text).message).toContain('DATA_DIR')
  expect((await send(empty.url, '/livez')).status).toBe(200)
  // This request is wrong for every customer.
  expect((await send(empty.url, '/t/r', { method: 'POST' })).status).toBe(401)
  expect((await send(empty.url, '/t/nothing')).status).toBe(404)

  const first = empty.customers.add({ origins: ['https://shop.example'] })
  expect(await statusesOf(empty, first)).toEqual(ALL_GOOD)
  expect((await send(empty.url, '/readyz')).status).toBe(200)
  const unknown = await statusesOf(empty, sound)
  expect(unknown).toEqual({
    ...ALL_503,
    ...Object.fromEntries(Object.keys(ALL_503).map((name) => [name, 404])),
  })

  empty.customers.remove(first.customer.customerId)
  expect(await statusesOf(empty, first)).toEqual(ALL_503)
  expect((await send(empty.url, '/readyz')).status).toBe(503)
})

test('damage of customers.db that shows while the gateway runs is reported, and is not answered 404', async () => {
  const dataDir = join(prepared.folder, 'damaged')
  const own = await prepared.start({ dataDir })
  for (let i = 0; i < 200; i++) own.customers.add({ trackingKey: `KEY${i}`, name: 'x'.repeat(300) })
  // Written without SQLite, as a faulty disk would do it, to every page but the first.
  const file = join(dataDir, 'customers.db')
  const database = openDatabase(file)
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
  const { size } = statSync(file)
  const garbage = openSync(file, 'r+')
  writeSync(garbage, Buffer.alloc(size - 4_096, 'x'), 0, size - 4_096, 4_096)
  closeSync(garbage)
  expect(await statusesOf(own, sound)).toEqual(ALL_503)
  for (const path of ['/readyz', '/t/j/KEY7']) {
    const { status, text } = await send(own.url, path)
    expect(status).toBe(503)
    expect(text).toContain('customers.db is not a database of shoptrail, or is damaged')
    expect(text).not.toContain(dataDir)
  }
})

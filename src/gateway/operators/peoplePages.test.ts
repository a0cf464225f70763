import { randomUUID } from 'node:crypto'
import { existsSync, renameSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, prepareGateway, send } from '../../test/gateway.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import type { Gateway } from '../index.ts'

/** The data of the people page, over real sockets, with the real thread. */
let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
/** Cookies of an operator who may see the shop. */
let cookie = ''
const errors: unknown[] = []

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start({ demo: true, onError: (error) => errors.push(error) })
  const { restKey } = gateway.customers.add({ customerId: 'shop' })
  gateway.customers.add({ customerId: 'other' })
  const answer = await post('/live/login', { customerId: 'shop', restKey }, REMOTE)
  cookie = answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
})
afterAll(() => prepared.end())

/** An operator on another machine. */
const REMOTE = { host: 't.shop.example' }

const post = (target: string, body: unknown, headers: Record<string, string> = {}) =>
  send(gateway.url, target, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
const ask = (path: string, body: unknown, query = 'customer=shop', headers = {}) =>
  post(`/people/data/${path}?${query}`, body, { ...REMOTE, cookie, ...headers })
const proofs = (query = 'customer=shop', headers: Record<string, string> = { cookie }) =>
  send(gateway.url, `/people/data/proofs?${query}`, { headers: { ...REMOTE, ...headers } })
const jsonOf = ({ text }: Answer) => JSON.parse(text)

/** Stores events of a device. The first one gives the address. */
async function add(did: string, address: string, more = 1, customer = 'shop', size = 0) {
  const events = Array.from({ length: more + 1 }, (_, i): LogEvent => {
    const operation = i === 0 ? 'setEmail' : 'viewHomepage'
    const payload = i === 0 ? { email_address: address } : { source: 'x'.repeat(size) }
    return {
      customer,
      id: randomUUID(),
      at: 1_000 * i,
      receivedAt: 1_000 * i,
      operation,
      event: operation,
      did,
      bot: false,
      version: null,
      payload: JSON.stringify({ did, ...payload }),
    }
  })
  for (let i = 0; i < events.length; i += 500) await gateway.log.append(events.slice(i, i + 500))
}

test('a person is found by an address, and by a device id', async () => {
  await add('device-find', 'find@example.org', 2)
  const kept = {
    events: 3,
    operations: { viewHomepage: 2, setEmail: 1 },
    first: 0,
    last: 2_000,
    devices: 1,
    dids: ['device-find'],
    shared: 0,
  }
  const byAddress = await ask('find', { email: ' Find@EXAMPLE.org' })
  expect(byAddress.status).toBe(200)
  expect(byAddress.headers['cache-control']).toBe('no-store')
  expect(jsonOf(byAddress)).toEqual(kept)
  expect(jsonOf(await ask('find', { did: 'device-find' }))).toEqual(kept)
})

test('a download is one JSON document, and no cache keeps it', async () => {
  await add('device-export', 'export@example.org', 3_000, 'shop', 100)
  const answer = await ask('export', { email: 'export@example.org' })
  expect(answer.status).toBe(200)
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'content-disposition': 'attachment; filename="person.json"',
    'transfer-encoding': 'chunked',
  })
  const { customer, person, devices, events } = jsonOf(answer)
  expect({ customer, person, devices }).toEqual({
    customer: 'shop',
    person: { email: 'export@example.org' },
    devices: ['device-export'],
  })
  expect(events).toHaveLength(3_001)
})

test('a download that is not read takes no more from the log, and ends with its connection', async () => {
  await add('device-slow', 'slow@example.org', 6_000, 'shop', 2_000)
  const body = JSON.stringify({ email: 'slow@example.org' })
  const opened = request(`${gateway.url}/people/data/export?customer=shop`, {
    method: 'POST',
    agent: false,
    headers: { ...REMOTE, cookie, 'content-type': 'application/json' },
  })
  opened.end(body)
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    opened.on('response', resolve)
    opened.on('error', reject)
  })
  // Until it ends, others of this customer wait, and those of other customers do not.
  await add('device-demo', 'slow@example.org', 1, 'demo')
  const local = (path: string, body: unknown) => post(`/people/data/${path}?customer=demo`, body)
  expect((await local('find', { email: 'slow@example.org' })).status).toBe(200)
  const waiting = ask('find', { email: 'slow@example.org' })
  response.destroy()
  expect(jsonOf(await waiting).events).toBe(6_001)
})

test('while one search of a customer runs, at most a few others wait', async () => {
  const all = await Promise.all(
    Array.from({ length: 14 }, () => ask('find', { email: 'slow@example.org' })),
  )
  const refused = all.filter(({ status }) => status === 429)
  expect(all.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(1)
  expect(refused.length).toBeGreaterThanOrEqual(3)
  expect(refused[0]?.headers['retry-after']).toBe('1')
})

test('an erasure has to be confirmed, answers what was removed, and leaves a proof', async () => {
  await add('device-erase', 'erase@example.org', 4)
  await add('device-stays', 'stays@example.org', 1)
  const person = { email: 'ERASE@example.org' }
  for (const erase of [undefined, 'true', 1, false])
    expect((await ask('erase', { ...person, erase })).status).toBe(422)
  expect(jsonOf(await ask('find', person)).events).toBe(5)
  const begun = Date.now()
  const erased = await ask('erase', { ...person, erase: true })
  expect(erased.status).toBe(200)
  const proof = jsonOf(erased)
  expect(proof).toEqual({
    proof: 1,
    customer: 'shop',
    begun: expect.any(Number),
    ended: expect.any(Number),
    events: 5,
    devices: 1,
    counted: expect.any(Number),
  })
  expect(proof.begun).toBeGreaterThanOrEqual(begun)
  expect(jsonOf(await proofs())).toEqual({ data: [proof] })
  for (const path of ['find', 'export', 'erase'])
    expect((await ask(path, { ...person, erase: true })).status).toBe(404)
  expect(jsonOf(await proofs()).data).toHaveLength(1)
  expect(jsonOf(await ask('find', { email: 'stays@example.org' })).events).toBe(2)
  // What the device sends later is new.
  await add('device-erase', 'erase@example.org', 0)
  expect(jsonOf(await ask('find', person)).events).toBe(1)
})

test('a question needs a sign-in for the customer, and is impossible from a form of another page', async () => {
  const body = { email: 'find@example.org', erase: true }
  await add('device-other', 'find@example.org', 1, 'other')
  for (const path of ['find', 'export', 'erase']) {
    expect((await ask(path, body, 'customer=other')).status).toBe(403)
    // Open on localhost, and only there.
    expect((await ask(path, body, 'customer=demo')).status).toBe(403)
    expect((await ask(path, body, 'customer=shop', { cookie: 'shoptrail=no' })).status).toBe(401)
    for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
      expect((await ask(path, body, 'customer=shop', { 'content-type': type })).status).toBe(415)
  }
  expect((await proofs('customer=other')).status).toBe(403)
  expect((await proofs('customer=shop', {})).status).toBe(401)
  expect(jsonOf(await ask('find', { email: 'find@example.org' })).events).toBe(3)
})

test('in the demo, the page works on this machine without a sign-in', async () => {
  await add('device-local', 'local@example.org', 1, 'demo')
  const person = { email: 'local@example.org' }
  expect(jsonOf(await post('/people/data/find', person)).events).toBe(2)
  expect(jsonOf(await post('/people/data/erase', { ...person, erase: true })).events).toBe(2)
  expect((await send(gateway.url, '/people/data/proofs')).status).toBe(200)
})

test.each([
  ['nobody', {}, 422],
  ['both', { email: 'a@example.org', did: 'd' }, 422],
  ['no address', { email: 'secret-name' }, 422],
  ['a list', [1], 422],
  ['text', '"secret-name"', 422],
  ['nothing', 'null', 422],
  ['a broken body', '{"email":"secret-name', 400],
  ['a large body', { email: 'secret-name'.repeat(1_000) }, 413],
  ['an unknown person', { email: 'secret-name@example.org' }, 404],
  ['an unknown device', { did: 'secret-name' }, 404],
])('%s is refused, without the person in the answer', async (_, body, status) => {
  for (const path of ['find', 'export', 'erase']) {
    const whole = typeof body === 'object' && !Array.isArray(body) ? { ...body, erase: true } : body
    const answer = await ask(path, whole)
    expect(answer.status).toBe(status)
    expect(answer.text).not.toContain('secret-name')
  }
})

test('while the log is not there, every question is answered 503', async () => {
  const dataDir = join(prepared.folder, 'gone')
  const gone = await prepared.start({ demo: true, dataDir })
  renameSync(join(dataDir, 'events.db'), join(dataDir, 'elsewhere.db'))
  for (const path of ['find', 'export', 'erase']) {
    const answer = await send(gone.url, `/people/data/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'secret-name@example.org', erase: true }),
    })
    expect(answer.status).toBe(503)
    expect(answer.headers['retry-after']).toBe('5')
    expect(answer.text).not.toContain('secret-name')
  }
  expect(existsSync(join(dataDir, 'events.db'))).toBe(false)
})

test('no question has caused an error', () => {
  expect(errors).toEqual([])
})

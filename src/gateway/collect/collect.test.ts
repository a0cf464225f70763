import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KeySettings } from '../../contract/settings.ts'
import { makeFolder, recordsOf, workerFile } from '../../test/gateway.ts'
import { listProblems } from '../../test/problems.ts'
import { readBodyOf } from '../../test/readBody.ts'
import type { CustomerChange, Customers } from '../customers/customers.ts'
import { createKeyThrottle } from '../customers/keyThrottle.ts'
import { createAddresses } from '../http/address.ts'
import { toResponse } from '../http/answers.ts'
import { DEFAULT_LIMITS } from '../http/limits.ts'
import { createMetrics, type Metrics } from '../http/metrics.ts'
import { createSqliteCustomers } from '../sqlite/customers.ts'
import { createSqliteLog } from '../sqlite/eventLog.ts'
import { startSqliteThread } from '../sqlite/thread.ts'
import { createAdmission } from './admission.ts'
import { type CollectDependencies, createCollect } from './collect.ts'
import type { EventLog } from './eventLog.ts'
import { createQuota } from './quota.ts'

const NOW = 1_800_000_000_000
const SALT = Buffer.alloc(32, 7)
const ORIGIN = 'https://shop.example'
const ID = '0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e10'
const PAYLOAD = {
  did: 'd-1',
  event: 'view_homepage',
  url: 'https://shop.example/',
  http_user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
}

const folder = makeFolder()
let log: EventLog
let customers: Customers
let restKey: string
let collect: ReturnType<typeof createCollect>

beforeAll(async () => {
  log = createSqliteLog(await startSqliteThread(join(folder, 'events.db'), workerFile()))
  customers = createSqliteCustomers(join(folder, 'customers.db'))
  restKey = customers.add({
    customerId: 'shop',
    trackingKey: 'SHOPKEY1',
    origins: [ORIGIN],
  }).restKey
  customers.add({
    trackingKey: 'PREFIXED',
    origins: [ORIGIN, 'loopback', 'null', 'https://*.shop.example'],
    config: { eventPrefix: 'x_', events: { addToWishlist: 'liked' } },
  })
  collect = createCollectWith()
})
afterAll(async () => {
  await log.close()
  customers.close()
  rmSync(folder, { recursive: true })
})

const admissionWith = (metrics: Metrics) =>
  createAdmission({
    limits: DEFAULT_LIMITS,
    log,
    metrics,
    monotonicNow: () => performance.now(),
    addresses: createAddresses(),
    onUnknownProxy: () => {},
    quota: createQuota(DEFAULT_LIMITS.daily, () => NOW),
  })

const createCollectWith = (given: Partial<CollectDependencies> = {}) => {
  const metrics = createMetrics(() => 0)
  return createCollect({
    customers,
    log,
    addresses: createAddresses(),
    admission: admissionWith(metrics),
    keyThrottle: createKeyThrottle(() => 0),
    metrics,
    daySalt: () => SALT,
    problems: listProblems().problems,
    now: () => NOW,
    ...given,
  })
}

type Headers = Record<string, string>
const post = async (
  query: string,
  payload: unknown = PAYLOAD,
  headers: Headers = { origin: ORIGIN },
) => {
  const request = new Request(`http://t.example/t/r?${query}`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain', ...headers },
    body: payload === '' ? '' : JSON.stringify(payload),
  })
  const env = { readBody: readBodyOf(request) }
  const response = toResponse(await collect.collectOne(request, '203.0.113.9', { env }))
  return { status: response.status, body: await response.json(), headers: response.headers }
}
const postBatch = async (body: unknown, query = 'k=SHOPKEY1', into = collect) => {
  const request = new Request(`http://t.example/t/batch?${query}`, {
    method: 'POST',
    headers: { origin: ORIGIN },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const env = { readBody: readBodyOf(request) }
  const response = toResponse(await into.collectBatch(request, '203.0.113.9', { env }))
  return { status: response.status, body: await response.json() }
}
test.each([
  ['&v=1.4.0', '1.4.0'],
  ['&v=1.4.0-rc.1%2Bb7', '1.4.0-rc.1+b7'],
  [`&v=${'1'.repeat(32)}`, '1'.repeat(32)],
  [`&v=${'1'.repeat(33)}`, null],
  ['&v=', null],
  ['&v=1.4%0a0', null],
  ['&v=jane%40mail.example', null],
  ['', null],
])('the version of the script is stored with its events: %j is %j', async (query, version) => {
  const single = await post(`k=SHOPKEY1${query}`)
  expect([single.status, (await newest())?.version]).toEqual([200, version])
  const batch = { events: [{ id: randomUUID(), payload: PAYLOAD }] }
  expect((await postBatch(batch, `k=SHOPKEY1${query}`)).status).toBe(200)
  expect((await newest())?.version).toBe(version)
})

const newest = async () => (await recordsOf({ log })).at(-1)
const newestPayload = async () => JSON.parse((await newest())?.payload ?? '')

test.each<[string, string, Headers, number]>([
  ['an allowed Origin', 'k=SHOPKEY1', { origin: ORIGIN }, 200],
  ['an allowed Origin and an empty api_key', 'k=SHOPKEY1&api_key=', { origin: ORIGIN }, 200],
  ['another Origin', 'k=SHOPKEY1', { origin: 'https://evil.example' }, 403],
  ['the Origin over http', 'k=SHOPKEY1', { origin: 'http://shop.example' }, 403],
  ['the Origin on another port', 'k=SHOPKEY1', { origin: 'https://shop.example:8443' }, 403],
  ['an opaque Origin', 'k=SHOPKEY1', { origin: 'null' }, 403],
  ['an opaque Origin where it is allowed', 'k=PREFIXED', { origin: 'null' }, 200],
  ['a subdomain where all are allowed', 'k=PREFIXED', { origin: 'https://eu.shop.example' }, 200],
  [
    'a name that only ends like a subdomain',
    'k=PREFIXED',
    { origin: 'https://evil-shop.example' },
    403,
  ],
  ['a loopback Origin where it is not allowed', 'k=SHOPKEY1', { origin: 'http://localhost' }, 403],
  ['a loopback Origin where it is', 'k=PREFIXED', { origin: 'http://localhost:3000' }, 200],
  [
    'a name that only looks like loopback',
    'k=PREFIXED',
    { origin: 'http://localhost.evil.example' },
    403,
  ],
  ['neither Origin nor api_key', 'k=SHOPKEY1', {}, 401],
  ['no tracking key', '', { origin: ORIGIN }, 401],
  ['an empty tracking key', 'k=', { origin: ORIGIN }, 401],
  ['a tracking key in a list', 'k[]=SHOPKEY1', { origin: ORIGIN }, 401],
  ['two tracking keys, the first good', 'k=SHOPKEY1&k=NOTHING1', { origin: ORIGIN }, 200],
  ['two tracking keys, the first unknown', 'k=NOTHING1&k=SHOPKEY1', { origin: ORIGIN }, 404],
  ['an unknown tracking key', 'k=NOTHING1', { origin: ORIGIN }, 404],
  ['a wrong api_key', 'k=SHOPKEY1&api_key=wrong', {}, 401],
  ['a wrong api_key with an allowed Origin', 'k=SHOPKEY1&api_key=wrong', { origin: ORIGIN }, 401],
])('credentials: %s', async (_, query, headers, status) => {
  const answer = await post(query, PAYLOAD, headers)
  expect(answer.status).toBe(status)
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer.body).toHaveProperty(status === 200 ? 'id' : 'message')
})

test('a server with the restKey needs no Origin, and may state the address of its visitor', async () => {
  const payload = { ...PAYLOAD, remote_addr: '198.51.100.77', http_user_agent: 'Visitor/1' }
  expect((await post(`k=SHOPKEY1&api_key=${restKey}`, payload, {})).status).toBe(200)
  expect(await newestPayload()).toEqual(payload)
})

test('the address that a page states is replaced', async () => {
  await post('k=SHOPKEY1', { ...PAYLOAD, remote_addr: '198.51.100.77' })
  expect((await newestPayload()).remote_addr).toBe('203.0.113.9')
})

test.each([[undefined], [null], [''], [' '], [`${' '.repeat(1024)}x`]])(
  'a missing user agent is taken from the header: %.9j',
  async (agent) => {
    const headers = { origin: ORIGIN, 'user-agent': 'Header/1' }
    await post('k=SHOPKEY1', { ...PAYLOAD, http_user_agent: agent }, headers)
    expect((await newestPayload()).http_user_agent).toBe('Header/1')
  },
)

test('without a user agent the event is invalid, with the path', async () => {
  const { status, body } = await post('k=SHOPKEY1', { ...PAYLOAD, http_user_agent: undefined })
  expect(status).toBe(422)
  expect(body.issues[0].path).toBe('http_user_agent')
})

test.each([
  ['the field', { ...PAYLOAD, url: 'nope' }, /^The event is invalid: url: Expected .+/],
  ['no field, if the payload is not an object', [], /^The event is invalid: Expected an object/],
])('the message of a 422 names the first fault: %s', async (_, payload, message) => {
  const { status, body } = await post('k=SHOPKEY1', payload)
  expect(status).toBe(422)
  expect(body.message).toMatch(message)
  expect(body.message.endsWith(body.issues[0].message)).toBe(true)
  const batch = await postBatch({ events: [{ payload }] })
  expect(batch.body.results[0].message).toBe(body.message)
})

test.each<[number, string, unknown, Headers]>([
  [400, 'k=SHOPKEY1', '', { origin: ORIGIN }],
  [401, '', PAYLOAD, { origin: ORIGIN }],
  [401, 'k=SHOPKEY1', PAYLOAD, {}],
  [401, 'k=SHOPKEY1&api_key=wrong', PAYLOAD, {}],
  [403, 'k=SHOPKEY1', PAYLOAD, { origin: 'https://evil.example' }],
  [404, 'k=NOTHING1', PAYLOAD, { origin: ORIGIN }],
  [413, 'k=SHOPKEY1', { ...PAYLOAD, source: 'x'.repeat(131_072) }, { origin: ORIGIN }],
  [415, 'k=SHOPKEY1', PAYLOAD, { origin: ORIGIN, 'content-type': 'text/html' }],
  [422, 'k=SHOPKEY1', {}, { origin: ORIGIN }],
])('the refusal %i of ?%s names the event', async (status, query, payload, headers) => {
  const refused = await post(`${query}&id=${ID}`, payload, headers)
  expect(refused).toMatchObject({ status, body: { id: ID, message: expect.any(String) } })
  expect((await post(`${query}&id=none`, payload, headers)).body).not.toHaveProperty('id')
  expect((await post(query, payload, headers)).body).not.toHaveProperty('id')
})

test('bots are marked, not dropped', async () => {
  await post('k=SHOPKEY1')
  expect((await newest())?.bot).toBe(false)
  await post('k=SHOPKEY1', {
    ...PAYLOAD,
    http_user_agent: 'Googlebot/2.1 (+http://google.example)',
  })
  expect((await newest())?.bot).toBe(true)
})

test.each([
  ['k=SHOPKEY1', { event: 'initiate_checkout' }, 'initiateCheckout'],
  ['k=SHOPKEY1', { event: 'own', search_term: 'tea' }, 'search'],
  ['k=SHOPKEY1', { event: 'view_page' }, 'viewHomepage'],
  ['k=PREFIXED', { event: 'x_initiate_checkout' }, 'initiateCheckout'],
  [
    'k=PREFIXED',
    { event: 'x_liked', product_id: '7', quantity: 1, variation: { id: 'a', sku: 'b' } },
    'addToWishlist',
  ],
])('the operation, %s %j: %s', async (query, fields, operation) => {
  expect((await post(query, { ...PAYLOAD, ...fields })).status).toBe(200)
  expect(await newest()).toMatchObject({ operation, event: fields.event })
})

test('only fields of the contract are stored, converted', async () => {
  const line = {
    product_id: '007',
    quantity: 2,
    variation: { id: 'v', sku: 's', more: 1 },
    extra: 1,
  }
  await post('k=SHOPKEY1', { ...PAYLOAD, ...line, event: 'add_to_cart', source: null })
  expect(await newestPayload()).toEqual({
    ...PAYLOAD,
    event: 'add_to_cart',
    product_id: 7,
    quantity: 2,
    variation: { id: 'v', sku: 's' },
    remote_addr: '203.0.113.9',
  })
})

test('an id is stored once and answered every time; two customers may use the same', async () => {
  const before = (await recordsOf({ log })).length
  for (let i = 0; i < 3; i++) expect((await post(`k=SHOPKEY1&id=${ID}`)).body).toEqual({ id: ID })
  expect((await post(`k=PREFIXED&id=${ID}`)).body).toEqual({ id: ID })
  expect(await recordsOf({ log })).toHaveLength(before + 2)
})

test.each(['x', '', `${ID}0`, '0190f3a27c417d119a3e5f2b8c6d4e10'])(
  'an invalid id: %s',
  async (id) => {
    const { status, body } = await post(`k=SHOPKEY1&id=${id}`)
    expect(status).toBe(422)
    expect(body.issues).toEqual([{ path: 'id', message: 'Expected a UUID' }])
  },
)

test('an id of the gateway is a UUID of version 7 that begins with the time of arrival', async () => {
  const { body } = await post('k=SHOPKEY1')
  expect(body.id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  expect(Number.parseInt(body.id.replaceAll('-', '').slice(0, 12), 16)).toBe(NOW)
})

test('the time is corrected by the clock of the sender', async () => {
  await post(`k=SHOPKEY1&at=1000000000000&sent=1000000060000`)
  expect(await newest()).toMatchObject({ at: NOW - 60_000, receivedAt: NOW })
})

test('a batch gives each event its own verdict, in order', async () => {
  const good = { id: '0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e11', at: 1_000, payload: PAYLOAD }
  const { status, body } = await postBatch({
    sent: 61_000,
    events: [
      good,
      { id: '0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e12', at: 1, payload: { ...PAYLOAD, url: 'nope' } },
      good,
      { id: 'no uuid', payload: PAYLOAD },
      null,
      { id: '0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e13', payload: [] },
      {
        id: '0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e14',
        payload: { ...PAYLOAD, source: 'x'.repeat(131_072) },
      },
      { payload: PAYLOAD },
    ],
  })
  expect(status).toBe(200)
  expect(body.results.map((one: { status: number }) => one.status)).toEqual([
    200, 422, 200, 422, 422, 422, 413, 200,
  ])
  expect(body.results[0]).toEqual({ id: good.id, status: 200 })
  expect(body.results[1].issues[0].path).toBe('url')
  expect(body.results[1].id).toBe('0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e12')
  expect(body.results[3].id).toBe('')
  const records = (await recordsOf({ log })).filter(({ id }) => id === good.id)
  expect(records).toMatchObject([{ at: NOW - 60_000 }])
})

test('a body that nests too deeply is refused as a whole: pages then send its events one by one', async () => {
  const [deepId, goodId] = [21, 22].map((end) => `0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e${end}`)
  const deep = `{"x":${'['.repeat(60_000)}"\\ud800"${']'.repeat(60_000)}}`
  const payload = JSON.stringify(PAYLOAD)
  const before = (await recordsOf({ log })).length
  const message = 'Expected a body of at most 64 levels of lists and objects'
  const batch = `{"events":[{"id":"${goodId}","payload":${payload}},{"id":"${deepId}","payload":${deep}}]}`
  expect(await postBatch(batch)).toMatchObject({ status: 400, body: { message } })
  expect(await recordsOf({ log })).toHaveLength(before)
})

test('a short event that nests deeply does not affect the others of its batch', async () => {
  const deep = `{"x":${'['.repeat(1_000)}${']'.repeat(1_000)}}`
  const { status, body } = await postBatch(
    `{"events":[{"payload":${deep}},{"payload":${JSON.stringify(PAYLOAD)}}]}`,
  )
  expect(status).toBe(200)
  expect(body.results).toMatchObject([{ status: 422 }, { status: 200 }])
})

test('a user agent of any length is checked', async () => {
  const long = 'x'.repeat(60_000)
  await post('k=SHOPKEY1', { ...PAYLOAD, http_user_agent: `Googlebot/2.1 ${long}` })
  expect((await newest())?.bot).toBe(true)
  await post('k=SHOPKEY1', { ...PAYLOAD, http_user_agent: PAYLOAD.http_user_agent + long })
  expect((await newest())?.bot).toBe(false)
})

test.each([
  ['no list', { sent: 1, events: {} }, 422],
  ['a list alone', [], 422],
  ['nothing', null, 422],
  ['no JSON', '{', 400],
  ['500 events', { events: Array(500).fill({ payload: PAYLOAD }) }, 200],
  ['500 invalid events', { events: Array(500).fill(null) }, 422],
  ['501 events', { events: Array(501).fill(null) }, 413],
  ['above a mebibyte', `{"events":[],"x":"${'x'.repeat(2 ** 20)}"}`, 413],
  ['no events', { events: [] }, 200],
])('a batch of %s', async (_, body, status) => {
  expect((await postBatch(body)).status).toBe(status)
})

test('a batch needs the same credentials', async () => {
  expect((await postBatch({ events: [] }, 'k=NOTHING1')).status).toBe(404)
})

test.each([
  ['no credentials', '', PAYLOAD, 401],
  ['an unknown key', 'k=NOTHING1', PAYLOAD, 404],
  ['an invalid event', 'k=SHOPKEY1', { ...PAYLOAD, url: 'nope' }, 422],
  ['a body that is too large', 'k=SHOPKEY1', { x: 'x'.repeat(131_072) }, 413],
])('the refusal of %s names the event by its id', async (_, query, payload, status) => {
  const named = await post(`${query}&id=${ID}`, payload)
  expect(named).toMatchObject({ status, body: { id: ID } })
  for (const id of ['', 'x', `${ID}0`, '%00']) {
    const { body } = await post(`${query}&id=${id}`, payload)
    expect(body.id).toBeUndefined()
  }
})

test('the message of a refusal names the first fault', async () => {
  const { body } = await post('k=SHOPKEY1', { ...PAYLOAD, url: 'nope' })
  expect(body.message).toBe(
    'The event is invalid: url: Expected an http or https address of at most 8192 characters, its host of at most 253, received "nope"',
  )
  const { body: whole } = await post('k=SHOPKEY1', [])
  expect(whole.message).toBe('The event is invalid: Expected an object with the event’s fields')
  const { body: batch } = await postBatch({ events: [{ payload: { ...PAYLOAD, did: '' } }] })
  expect(batch.results[0].message).toMatch(/^The event is invalid: did: Expected/)
})

test('the answer to an invalid batch is no larger than the batch', async () => {
  const size = (value: unknown) => JSON.stringify(value).length
  const ids = (count: number, payload: unknown) =>
    Array.from({ length: count }, () => ({ id: ID, at: 1, payload }))
  for (const [events, detail] of [
    [ids(3, { ...PAYLOAD, did: 7 }), 'issues'],
    [ids(100, { ...PAYLOAD, did: 7, url: 'https://shop.example/' }), 'message'],
    [ids(400, {}), 'status'],
  ] as const) {
    const { status, body } = await postBatch({ events })
    expect(status).toBe(200)
    expect(size(body)).toBeLessThanOrEqual(Math.max(1_024, size({ events })))
    expect(body.results).toHaveLength(events.length)
    expect(Object.keys(body.results[0]).at(-1)).toBe(detail)
  }
})

test('a batch whose bare verdicts would be larger is refused as a whole, and nothing of it is stored', async () => {
  const before = (await recordsOf({ log } as never)).length
  const { status, body } = await postBatch({
    events: [{ payload: PAYLOAD }, ...Array(400).fill({})],
  })
  expect([status, body.issues[0].path]).toEqual([422, 'events'])
  expect(await recordsOf({ log } as never)).toHaveLength(before)
})

// Questions that a page asks before it sends an event again.

const idAt = (n: number) => `0190f3a2-7c41-7d11-9a3e-${`${n}`.padStart(12, '0')}`
const statusesOf = ({ results }: { results: { status: number }[] }) =>
  results.map(({ status }) => status)

test('an envelope without a payload asks whether the customer has that id', async () => {
  const [stored, missing, foreign] = [idAt(1), idAt(2), idAt(3)]
  await post(`k=SHOPKEY1&id=${stored}`)
  await post(`k=PREFIXED&id=${foreign}`)
  const before = (await recordsOf({ log })).length
  const { status, body } = await postBatch({
    sent: 1,
    events: [
      { id: missing, at: 1 },
      { id: stored, at: 1 },
      { id: foreign },
      { id: stored.toUpperCase() },
    ],
  })
  expect(status).toBe(207)
  expect(body.results).toEqual([
    { id: missing, status: 404 },
    { id: stored, status: 200 },
    { id: foreign, status: 404 },
    { id: stored.toUpperCase(), status: 200 },
  ])
  expect(await recordsOf({ log })).toHaveLength(before)
})

test('the status alone shows whether all ids are stored', async () => {
  const [stored, missing] = [idAt(4), idAt(5)]
  await post(`k=SHOPKEY1&id=${stored}`)
  const statusOf = async (...events: unknown[]) => (await postBatch({ events })).status
  expect(await statusOf({ id: stored }, { id: stored })).toBe(200)
  expect(await statusOf({ id: stored }, { id: missing })).toBe(207)
  expect(await statusOf({ id: missing }, { id: missing })).toBe(207)
  expect(await statusOf({ id: stored }, { id: 'none' })).toBe(207)
  expect(await statusOf({ id: missing }, { id: stored, payload: PAYLOAD })).toBe(200)
})

test.each([
  ['no id', {}],
  ['an id that is not a UUID', { id: 'x', at: 1 }],
  ['an id that is not a text', { id: 7 }],
  ['an id that is null', { id: null }],
])('a question with %s is invalid', async (_, ask) => {
  const { body } = await postBatch({ events: [ask, { id: idAt(6) }] })
  expect(statusesOf(body)).toEqual([422, 404])
  expect(body.results[0].issues).toEqual([{ path: 'id', message: 'Expected a UUID' }])
})

test('a payload that is null is an invalid event, not a question', async () => {
  const { body } = await postBatch({ events: [{ id: idAt(6), payload: null }] })
  expect(statusesOf(body)).toEqual([422])
})

test('questions and events share a batch, and a question about an event of the same batch is answered 200', async () => {
  const [sent, missing] = [idAt(7), idAt(8)]
  const { body } = await postBatch({
    events: [{ id: sent }, { id: missing }, { id: sent, payload: PAYLOAD }],
  })
  expect(statusesOf(body)).toEqual([200, 404, 200])
})

const IGNORING = {
  trackingKey: 'IGNORING',
  origins: [ORIGIN],
  ignored: ['198.51.100.1', '203.0.113.0/24'],
}

test('a visit from an address that the customer ignores is acknowledged as ignored and not stored', async () => {
  const { customer, restKey } = customers.add(IGNORING)
  const metrics = createMetrics(() => 0)
  const ignoring = createCollectWith({ metrics, admission: admissionWith(metrics) })
  const before = (await recordsOf({ log })).length
  const key = `k=${customer.trackingKey}`
  const id = idAt(20)
  expect((await post(`${key}&id=${id}`)).body).toEqual({ id, ignored: true })
  const batch = { events: [{ id, payload: PAYLOAD }, { id: idAt(21) }, { id, payload: {} }] }
  const { status, body } = await postBatch(batch, key, ignoring)
  expect(status).toBe(200)
  expect(body.results).toMatchObject([
    { id, status: 200, ignored: true },
    { id: idAt(21), status: 404 },
    { id, status: 422 },
  ])
  // The page then sends it again, and it is ignored again.
  expect((await postBatch({ events: [{ id }] }, key)).body.results).toEqual([{ id, status: 404 }])
  expect(await recordsOf({ log })).toHaveLength(before)
  expect((await metrics.render()).text).toContain('events_ignored_total 1\n')

  const other = await post(`${key}&id=${id}`, {}, { origin: 'https://evil.example' })
  expect(other.status).toBe(403)
  expect((await post(`k=SHOPKEY1&id=${id}`)).body).toEqual({ id })
  const ofServer = { ...PAYLOAD, remote_addr: '203.0.113.9' }
  const answer = await post(`${key}&api_key=${restKey}&id=${id}`, ofServer, {})
  expect(answer.body).toEqual({ id })
  customers.change(customer.customerId, { ignored: [] })
  expect((await post(`${key}&id=${idAt(22)}`)).body).toEqual({ id: idAt(22) })
  expect(await recordsOf({ log })).toHaveLength(before + 3)
})

test('ignored events take nothing from the limits of the customer’s pages', async () => {
  const { customer } = customers.add({ ...IGNORING, trackingKey: 'IGNORED2' })
  const metrics = createMetrics(() => 0)
  const accepted: number[] = []
  const admission = {
    ...admissionWith(metrics),
    accept: (_: unknown, events: number) => void accepted.push(events),
  }
  const counting = createCollectWith({ metrics, admission })
  const events = [{ id: idAt(23), payload: PAYLOAD }]
  await postBatch({ events }, `k=${customer.trackingKey}`, counting)
  expect(accepted).toEqual([0])
})

test('500 questions without `at` are answered, and count as 50 events', async () => {
  const taken: number[] = []
  const admission = admissionWith(createMetrics(() => 0))
  const counting = createCollectWith({
    admission: {
      ...admission,
      admit(source, events, ...rest) {
        taken.push(events)
        return admission.admit(source, events, ...rest)
      },
    },
  })
  const ask = async (events: unknown[]) =>
    (await postBatch({ events }, 'k=SHOPKEY1', counting)).body.results.length
  const asks = Array.from({ length: 500 }, (_, n) => ({ id: idAt(1_000 + n) }))
  expect(await ask(asks)).toBe(500)
  expect(await ask([asks[0], { payload: PAYLOAD }])).toBe(2)
  expect(await ask([asks[0]])).toBe(1)
  expect(taken).toEqual([50, 2, 1])
})

test('a batch with too many values is refused, but payloads with some hundred keys of their own are accepted', async () => {
  const own = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`own${i}`, i]))
  const events = Array.from({ length: 40 }, () => ({ payload: { ...own, ...PAYLOAD } }))
  const { status, body } = await postBatch({ events })
  expect(status).toBe(200)
  expect(new Set(body.results.map((one: { status: number }) => one.status))).toEqual(new Set([200]))
  expect((await post('k=SHOPKEY1', { ...own, ...PAYLOAD })).status).toBe(200)
  for (const many of ['{},', '[],', '0,', '"x",', '{"a":1},'])
    expect(await postBatch(`{"events":[${many.repeat(20_000)}0]}`)).toMatchObject({
      status: 413,
      body: { message: 'Expected a body of at most 20000 values' },
    })
})

const consentKey = (trackingKey: string, config: KeySettings, change: CustomerChange = {}) =>
  customers.add({ trackingKey, origins: [ORIGIN], config, ...change })
const { did: _did, ...NO_DID } = PAYLOAD
const UUID_8 = /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

test('a cookieless key takes events of pages without a did: the hash of the day, and the short address', async () => {
  consentKey('NOCOOKIE', { consent: 'cookieless' })
  const events = [
    { id: idAt(40), payload: NO_DID },
    { id: idAt(41), payload: { ...NO_DID, did: null, event: 'search', search_term: 'mug' } },
    { id: idAt(42), payload: PAYLOAD, consent: 'denied' },
    { id: idAt(43), payload: PAYLOAD },
    { id: idAt(44), payload: { ...NO_DID, did: '' } },
  ]
  const { body } = await postBatch({ events }, 'k=NOCOOKIE')
  expect(body.results.map(({ status }: { status: number }) => status)).toEqual([
    200, 200, 200, 200, 422,
  ])
  const stored = (await recordsOf({ log })).slice(-4)
  const payloads = stored.map(({ payload }) => JSON.parse(payload))
  const [first] = stored
  expect(first?.did).toMatch(UUID_8)
  expect(stored.map(({ did }) => did)).toEqual([first?.did, first?.did, first?.did, 'd-1'])
  expect(payloads.map(({ did }) => did)).toEqual(stored.map(({ did }) => did))
  expect(payloads.map((payload) => payload.remote_addr)).toEqual([
    '203.0.113.0',
    '203.0.113.0',
    '203.0.113.0',
    '203.0.113.9',
  ])
  for (const query of ['', '&consent=denied']) {
    const payload = query ? PAYLOAD : NO_DID
    expect((await post(`k=NOCOOKIE&id=${idAt(45)}${query}`, payload)).status).toBe(200)
    expect((await newest())?.did).toBe(first?.did)
  }
})

test('a cookieless key needs the did of an event that a server sends', async () => {
  const { restKey } = consentKey('NOCOOKI2', { consent: 'cookieless' })
  const query = `k=NOCOOKI2&id=${idAt(46)}&api_key=${restKey}`
  const { status, body } = await post(query, NO_DID, {})
  expect([status, body.issues[0].path]).toEqual([422, 'did'])
  expect((await post(query, PAYLOAD, {})).status).toBe(200)
})

test('a key that requires consent refuses an event without it, and only that one of a batch', async () => {
  const { restKey } = consentKey('REQUIRED', { consent: 'required' })
  const metrics = createMetrics(() => 0)
  const counting = createCollectWith({ metrics, admission: admissionWith(metrics) })
  const events = [
    { id: idAt(50), payload: NO_DID },
    { id: idAt(51), payload: PAYLOAD },
    { id: idAt(52), payload: PAYLOAD, consent: 'denied' },
    { id: idAt(53), payload: { ...PAYLOAD, did: 7 } },
  ]
  const { status, body } = await postBatch({ events }, 'k=REQUIRED', counting)
  expect(status).toBe(200)
  expect(body.results).toEqual([
    { id: idAt(50), status: 422, message: expect.stringMatching(/^no_consent: /) },
    { id: idAt(51), status: 200 },
    { id: idAt(52), status: 422, message: expect.stringMatching(/^no_consent: /) },
    { id: idAt(53), status: 422, message: expect.any(String), issues: expect.any(Array) },
  ])
  expect((await newest())?.id).toBe(idAt(51))
  const counts = (await metrics.render()).text
  expect(counts).toContain('events_without_consent_total 2\n')
  expect(counts).toContain('events_refused_total{status="422"} 3\n')

  for (const [query, payload, headers] of [
    ['', NO_DID, { origin: ORIGIN }],
    ['&consent=denied', PAYLOAD, { origin: ORIGIN }],
    [`&consent=denied&api_key=${restKey}`, PAYLOAD, {}],
  ] as [string, object, Headers][]) {
    const id = idAt(54)
    const refused = await post(`k=REQUIRED&id=${id}${query}`, payload, headers)
    expect(refused.status).toBe(422)
    expect(refused.body).toEqual({ id, message: expect.stringMatching(/^no_consent: /) })
  }
  const ofServer = await post(`k=REQUIRED&id=${idAt(55)}&api_key=${restKey}`, PAYLOAD, {})
  expect(ofServer.status).toBe(200)
})

test('another key refuses an event without a did as the contract does', async () => {
  const { status, body } = await post(`k=SHOPKEY1&id=${idAt(56)}`, NO_DID)
  expect(status).toBe(422)
  expect(body).toMatchObject({ id: idAt(56), issues: [{ path: 'did' }] })
  expect(body.message).not.toContain('no_consent')
})

test.each([
  ['whole', '203.0.113.9', '198.51.100.77'],
  ['short', '203.0.113.0', '198.51.100.0'],
  ['none', '0.0.0.0', '0.0.0.0'],
] as const)(
  'addresses %s: those of pages and of servers are stored as %s and %s',
  async (addresses, ofPage, ofServer) => {
    const key = `ADDR${addresses}`
    const { restKey } = consentKey(
      key,
      { consent: 'cookieless' },
      { addresses, ignored: ['203.0.113.8'] },
    )
    expect((await post(`k=${key}`)).body).not.toHaveProperty('ignored')
    expect((await newestPayload()).remote_addr).toBe(ofPage)
    await post(`k=${key}&api_key=${restKey}`, { ...PAYLOAD, remote_addr: '198.51.100.77' }, {})
    expect((await newestPayload()).remote_addr).toBe(ofServer)
    await post(`k=${key}`, NO_DID)
    expect((await newestPayload()).remote_addr).toBe(
      addresses === 'none' ? '0.0.0.0' : '203.0.113.0',
    )
    // The whole address is compared, in memory.
    customers.change(customers.findByTrackingKey(key)?.customerId ?? '', {
      ignored: ['203.0.113.9'],
    })
    expect((await post(`k=${key}`)).body).toHaveProperty('ignored', true)
  },
)

test('secrets and e-mail addresses in URLs are masked again, with the names of the key', async () => {
  const { restKey } = consentKey('MASKING1', { mask: ['voucher', 'half\ud800'] })
  const url =
    'https://jane:secret@shop.example/a?token=t&voucher=v&to=jane%40shop.example&utm_source=s#code=c'
  const masked = 'https://shop.example/a?token=***&voucher=***&to=***&utm_source=s#code=***'
  for (const [query, headers] of [
    ['', { origin: ORIGIN }],
    [`&api_key=${restKey}`, {}],
  ] as [string, Headers][]) {
    await post(`k=MASKING1${query}`, { ...PAYLOAD, remote_addr: '198.51.100.77', url }, headers)
    expect((await newestPayload()).url).toBe(masked)
  }
})

test('a batch whose URLs take long to mask is refused as too large, so that the page splits it', async () => {
  const url = `https://shop.example/?${'&'.repeat(1_999)}`
  const events = Array.from({ length: 11 }, (_, n) => ({
    id: idAt(60 + n),
    payload: { ...PAYLOAD, url },
  }))
  expect((await postBatch({ events: events.slice(0, 10) })).status).toBe(200)
  const { status, body } = await postBatch({ events })
  expect([status, body.message]).toEqual([413, expect.stringContaining('at most 20000 parameters')])
  expect((await postBatch({ events: events.slice(10) })).status).toBe(200)
})

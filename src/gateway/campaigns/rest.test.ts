import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf, type Sent, send } from '../../test/gateway.ts'
import { completePayloads } from '../../test/payloads.ts'
import { openConnection } from '../../test/rawRequest.ts'
import type { Gateway } from '../index.ts'

const KEYS = 'k=REST-KEY-00000001&u=CUST-1'
const CREATE = '/api/v1/campaigns/create'
const LIST = '/api/v1/campaigns/list'
const LATEST = '/api/v1/get-latest-campaign'
const CUSTOM = '/api/v1/custom_events'
const CHECK_API = '/api/v1/check-api-credentials'
const CHECK = '/api/v1/check-credentials'
const reportOf = (id: string) => `/api/v1/campaigns/${id}/email/get-report`
const CAMPAIGN = completePayloads.create
const EVENT = '{"email":"ana@shop.example","event":"quiz_done"}'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway

beforeAll(async () => {
  prepared = await prepareGateway()
  // Time passes fast, so that wrong keys are never answered 429.
  let clock = 0
  gateway = await prepared.start({ metricsPort: 0, monotonicNow: () => (clock += 60_000) })
  const { customers } = gateway
  customers.add({ customerId: 'CUST-1', restKey: 'REST-KEY-00000001', trackingKey: 'TRACKKEY1' })
  customers.add({ customerId: 'CUST-2', restKey: 'REST-KEY-00000002', trackingKey: 'TRACKKEY2' })
})
afterAll(() => prepared.end())

/** A request with the keys of CUST-1; a body makes it a POST. */
async function call(path: string, body?: unknown, sent: Sent & { query?: string } = {}) {
  const { query = KEYS, ...rest } = sent
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const answer = await send(gateway.url, `${path}?${query}`, {
    ...(text !== undefined && { method: 'POST', body: text }),
    ...rest,
  })
  if (rest.method !== 'HEAD')
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
  return { ...answer, json: answer.text ? JSON.parse(answer.text) : undefined }
}

const pathsOf = (json: { issues?: readonly { path: string }[] }) =>
  json.issues?.map(({ path }) => path)

const POSTS = [LIST, CREATE, CUSTOM, CHECK_API, CHECK]
const GETS = [LATEST, reportOf('1')]

test.each([
  ...POSTS.flatMap((path) => [
    ['GET', path, 'POST, OPTIONS'],
    ['PUT', path, 'POST, OPTIONS'],
  ]),
  ...GETS.map((path) => ['POST', path, 'GET, HEAD, OPTIONS']),
])('405 for %s %s, before the keys are checked', async (method, path, allow) => {
  const { status, headers, json } = await call(path, undefined, { method, query: 'k=x' })
  expect(status).toBe(405)
  expect(headers.allow).toBe(allow)
  expect(json).toHaveProperty('message')
})

test.each([...POSTS, ...GETS])('OPTIONS %s has no CORS headers', async (path) => {
  const answer = await send(gateway.url, path, {
    method: 'OPTIONS',
    headers: { origin: 'https://shop.example', 'access-control-request-method': 'POST' },
  })
  expect(answer.status).toBe(204)
  expect(Object.keys(answer.headers).filter((name) => name.startsWith('access'))).toEqual([])
})

test.each([
  ['', 401, 'The REST key (k) and the customer id (u) are missing'],
  ['u=CUST-1', 401, 'The REST key (k) is missing'],
  ['k=&u=CUST-1', 401, 'The REST key (k) is missing'],
  ['k=REST-KEY-00000001', 401, 'The customer id (u) is missing'],
  ['k=REST-KEY-00000001&u=NOBODY', 404, 'There is no customer with this id (u)'],
  ['k=wrong&u=NOBODY', 404, 'There is no customer with this id (u)'],
  ['k=REST-KEY-00000001&u=__proto__', 404, 'There is no customer with this id (u)'],
  ['k=REST-KEY-00000001&u=cust-1', 404, 'There is no customer with this id (u)'],
  ['k=wrong&u=CUST-1', 401, 'The REST key (k) is wrong'],
  ['k=REST-KEY-00000002&u=CUST-1', 401, 'The REST key (k) is wrong'],
  ['k=TRACKKEY1&u=CUST-1', 401, 'The REST key (k) is wrong'],
  ['k=wrong&k=REST-KEY-00000001&u=CUST-1', 401, 'The REST key (k) is wrong'],
  ['k=%&u=CUST-1', 401, 'The REST key (k) is wrong'],
])('keys ?%s: %i', async (query, status, message) => {
  for (const path of POSTS) {
    const answer = await call(path, 'not looked at', { query, headers: { 'content-type': 'x/y' } })
    expect(answer).toMatchObject({ status, json: { message: expect.stringContaining(message) } })
  }
  for (const path of GETS) expect(await call(path, undefined, { query })).toMatchObject({ status })
})

test('the first of repeated keys counts', async () => {
  const query = `${KEYS}&k=wrong&u=NOBODY`
  expect(await call(CHECK_API, '', { query })).toMatchObject({ status: 200, json: [] })
})

test.each([
  ...['/api', '/api/v1', '/api/v1/', `${LIST}/`, '/api/v1/%', '/api/v2/campaigns/list'],
  ...[reportOf('none'), reportOf('a/b'), '/api/v1/campaigns/a%20b/%C4%83'],
])('404 for %s', async (path) => {
  expect(await call(path)).toMatchObject({ status: 404, json: { message: expect.any(String) } })
})

test.each([
  ['POST', '/api/v1/save_orders'],
  ['POST', '/api/v1/add_review'],
  ['GET', '/api/v1/campaigns/99'],
  ['DELETE', '/api/v1/campaigns/99'],
  ['GET', '/api/v1/campaigns/99/sms/get-report'],
  ['PUT', '/api/v1/stock/update-v2'],
])('501 for %s %s, an operation of the wider service, with the right keys', async (...args) => {
  const [method, path] = args
  const sent = { method, ...(method !== 'GET' && { body: '{"a":1}' }) }
  const answer = await call(path, undefined, sent)
  const message = 'This gateway does not offer this operation'
  expect(answer).toMatchObject({ status: 501, json: { message } })
  for (const [query, status] of [
    ['', 401],
    ['k=wrong&u=CUST-1', 401],
    ['k=REST-KEY-00000001&u=NOBODY', 404],
  ] as const)
    expect(await call(path, undefined, { ...sent, query })).toMatchObject({ status })
})

test.each([
  [LIST, 16_384],
  [CUSTOM, 131_072],
  [CHECK, 4_096],
  [CHECK_API, 4_096],
  [CREATE, 7_340_032],
])('413 above the limit of %s', async (path, bound) => {
  const over = Buffer.alloc(bound + 1, ' ')
  expect((await call(path, over)).status).toBe(413)
  const chunked = { 'transfer-encoding': 'chunked' }
  expect((await call(path, over, { headers: chunked })).status).toBe(413)
  const whole = Buffer.alloc(bound, ' ')
  whole.write('"just fits"', 0)
  expect((await call(path, whole)).status).not.toBe(413)
})

test.each([
  ['application/json', 200],
  ['application/json; charset=utf-8', 200],
  ['text/plain;charset=UTF-8', 200],
  // JSON, whatever the type says.
  ['application/x-www-form-urlencoded', 200],
  ['multipart/form-data; boundary=x', 415],
])('content type %s: %i', async (type, status) => {
  expect((await call(CUSTOM, EVENT, { headers: { 'content-type': type } })).status).toBe(status)
  expect((await call(LIST, '{}', { headers: { 'content-type': type } })).status).toBe(status)
})

test('a body that is not JSON is 400, and null is not a payload', async () => {
  for (const path of [LIST, CREATE, CUSTOM, CHECK]) {
    expect(await call(path, '{"a":')).toMatchObject({ status: 400 })
    const { status, json } = await call(path, 'null')
    expect(status).toBe(422)
    expect(json.issues.length).toBeGreaterThan(0)
  }
  expect(await call(CHECK_API, 'null')).toMatchObject({ status: 422 })
  for (const path of [CREATE, CUSTOM]) expect(await call(path, '')).toMatchObject({ status: 400 })
})

test.each([
  ['Content-Length: 0\nContent-Type: application/json'],
  ['Content-Length: 0\nContent-Type: application/x-www-form-urlencoded'],
  ['Content-Type: application/json'],
  ['Transfer-Encoding: chunked\nContent-Type: application/json', '0\r\n\r\n'],
])('no body, %j, is the empty filter, and nothing to check', async (headers, body = '') => {
  const connection = await openConnection(gateway.port)
  const post = (path: string) =>
    connection.request(`POST ${path}?${KEYS} HTTP/1.1\nHost: a\n${headers}`, body)
  const listed = await post(LIST)
  expect(JSON.parse(listed.text)).toMatchObject({ page: 1, limit: 20 })
  expect(await post(CHECK_API)).toMatchObject({ status: 200, text: '[]' })
  expect(await post(CHECK)).toMatchObject({ status: 422 })
  connection.socket.destroy()
})

test.each([
  [{ k: 'TRACKKEY1', r: 'REST-KEY-00000001', u: 'CUST-1' }, 200, undefined],
  [{ k: 'NOTHING1', r: 'REST-KEY-00000001', u: 'CUST-1' }, 404, undefined],
  [{ k: 'TRACKKEY2', r: 'REST-KEY-00000001', u: 'CUST-1' }, 401, undefined],
  [{ k: 'TRACKKEY1', r: 'REST-KEY-00000002', u: 'CUST-1' }, 401, undefined],
  [{ k: 'TRACKKEY1', r: 'REST-KEY-00000001', u: 'CUST-2' }, 401, undefined],
  [{ k: 'TRACKKEY1', r: 'REST-KEY-00000001', u: 'NOBODY' }, 401, undefined],
  [{ k: 'TRACKKEY1', r: 'REST-KEY-00000001' }, 422, ['u']],
  [{ k: ' ', r: 7, u: null }, 422, ['k', 'r', 'u']],
  [[], 422, ['k', 'r', 'u']],
  ['"SECRET-9"', 422, ['k', 'r', 'u']],
])('check-credentials of %j: %i', async (body, status, paths) => {
  const answer = await call(CHECK, body)
  expect(answer.status).toBe(status)
  if (status === 200) expect(answer.text).toBe('[]')
  expect(pathsOf(answer.json)).toEqual(paths)
  expect(answer.text).not.toMatch(/REST-KEY|SECRET-9/)
})

test('properties of a prototype are not credentials', async () => {
  const answer = await call(
    CHECK,
    '{"__proto__":{"k":"TRACKKEY1","r":"REST-KEY-00000001","u":"CUST-1"}}',
  )
  expect(pathsOf(answer.json)).toEqual(['k', 'r', 'u'])
})

test('sendCustomApi is an event of the log, without a device and without a page', async () => {
  const { status, json } = await call(CUSTOM, `{"__proto__":{"x":1},"more":1,${EVENT.slice(1)}`)
  expect(status).toBe(200)
  const record = (await recordsOf(gateway)).at(-1)
  expect(record).toMatchObject({
    id: json.id,
    customer: 'CUST-1',
    operation: 'sendCustomApi',
    event: 'quiz_done',
    did: null,
    bot: false,
    payload: EVENT,
  })
  expect(record?.at).toBe(record?.receivedAt)
  expect(Object.keys(json)).toEqual(['id'])
})

test.each([
  ['{}', ['email', 'event']],
  ['{"email":"ana","event":"x"}', ['email']],
  ['{"email":"ana@shop.example","event":" "}', ['event']],
  ['[]', ['']],
  ['7', ['']],
])('sendCustomApi of %s is refused and not stored', async (body, paths) => {
  const before = (await recordsOf(gateway)).length
  const { status, json } = await call(CUSTOM, body)
  expect(status).toBe(422)
  expect(pathsOf(json)?.filter((path) => paths.includes(path))).toEqual(paths)
  expect(await recordsOf(gateway)).toHaveLength(before)
})

test('an event that can not be stored is a 503 with Retry-After, and no page may read it', async () => {
  const full = await prepared.start({ queue: { maxEvents: 0 } })
  const answer = await send(full.url, `${CUSTOM}?${KEYS}`, { method: 'POST', body: EVENT })
  expect(answer.status).toBe(503)
  expect(answer.headers['retry-after']).toBe('1')
  expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
})

const head = (path: string, length: number, query = KEYS) =>
  [
    `POST ${path}?${query} HTTP/1.1`,
    'Host: a',
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    'eXpEcT: 100-CONTINUE',
  ].join('\n')

test.each([
  [CREATE, JSON.stringify(CAMPAIGN)],
  [LIST, '{}'],
  [CUSTOM, EVENT],
])('100 Continue before the body of %s, again and again', async (path, body) => {
  const connection = await openConnection(gateway.port)
  for (let i = 0; i < 2; i++) {
    const answer = await connection.request(head(path, body.length), body)
    expect(answer).toMatchObject({ status: 200, continued: true })
  }
  connection.socket.destroy()
})

test.each([
  ['a wrong key', 'k=wrong&u=CUST-1', 10, 401],
  ['a stranger', 'k=wrong&u=NOBODY', 10, 404],
  ['a body that is too long', KEYS, 8_000_000, 413],
])(
  '%s is refused before the body is sent, and the connection ends',
  async (_, query, length, status) => {
    const connection = await openConnection(gateway.port)
    const closed = new Promise((resolve) => connection.socket.once('close', resolve))
    const answer = await connection.request(head(CREATE, length, query), 'never sent')
    expect(answer).toMatchObject({ status, continued: false })
    expect(answer.headers.get('connection')).toBe('close')
    await closed
  },
)

test('one customer may create two large campaigns at once, and does not block others', async () => {
  const large = JSON.stringify({ ...CAMPAIGN, content: { html: 'x'.repeat(300_000) } })
  const other = 'k=REST-KEY-00000002&u=CUST-2'
  /** A create that has a permit, and sends nothing more. */
  const begin = async (request: string) => {
    const { socket } = await openConnection(gateway.port)
    socket.write(`${request.replaceAll('\n', '\r\n')}\r\n\r\n`)
    await new Promise((resolve) => socket.once('data', resolve))
    return socket
  }
  const chunked = head(CREATE, 0).replace('Content-Length: 0', 'Transfer-Encoding: chunked')
  const held = await Promise.all([begin(head(CREATE, large.length)), begin(chunked)])
  const waiting = call(CREATE, large)
  const refused = await call(CREATE, large)
  expect(refused).toMatchObject({
    status: 429,
    json: { message: 'Too many large campaigns are being created' },
  })
  expect(refused.headers['retry-after']).toBe('1')
  expect((await waiting).status).toBe(429)
  // Small campaigns, other customers and events are accepted meanwhile.
  const small = await Promise.all(Array.from({ length: 20 }, () => call(CREATE, CAMPAIGN)))
  expect(new Set(small.map(({ status }) => status))).toEqual(new Set([200]))
  expect((await call(CREATE, large, { query: other })).status).toBe(200)
  expect((await call(CUSTOM, EVENT)).status).toBe(200)
  // A waiting create gets the permit of one that was answered or aborted.
  const [first, second] = held
  const next = call(CREATE, large)
  first?.write(large)
  expect((await next).status).toBe(200)
  second?.destroy()
  const all = await Promise.all(Array.from({ length: 4 }, () => call(CREATE, large)))
  expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  first?.destroy()
})

test('lists that are not read take a bounded memory, and small lists are answered meanwhile', async () => {
  const bounded = await prepared.start({ bodyBudgetBytes: 4 * 2 ** 20 })
  const { restKey } = bounded.customers.add({ customerId: 'large' })
  const longest = '\u0001'.repeat(2_047)
  for (let i = 0; i < 100; i++)
    await bounded.campaigns.create('large', {
      ...CAMPAIGN,
      id: `${i}`,
      status: 'scheduled',
      created_at: '2026-01-01T00:00:00.000Z',
      subject: { name: longest, subject_line: longest, preview_text: longest },
      tracking: { utm_campaign: longest, utm_medium: longest, utm_source: longest },
    })
  const target = `${LATEST}?k=${restKey}&u=large`
  const { socket } = await openConnection(bounded.port)
  socket.write(`GET ${target}&limit=100 HTTP/1.1\r\nHost: a\r\n\r\n`)
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  for (const peer of ['127.0.0.1', '127.0.0.2']) {
    const refused = await send(bounded.url, `${target}&limit=100`, { peer })
    expect(refused.status).toBe(503)
    expect(refused.headers['retry-after']).toBe('2')
    expect(JSON.parse(refused.text)).toEqual({ message: 'Too many large answers are being sent' })
  }
  expect((await send(bounded.url, `${LATEST}?${KEYS}`)).status).toBe(200)
  socket.destroy()
  const whole = () => send(bounded.url, `${target}&limit=100`)
  await expect.poll(async () => (await whole()).status).toBe(200)
  expect((await whole()).bytes.length).toBeGreaterThan(7 * 2 ** 20)
})

test('refusals are counted by status', async () => {
  const counted = async (status: number) => {
    const { text } = await send(gateway.metricsUrl as string, '/metrics')
    return Number(new RegExp(`events_refused_total{status="${status}"} (\\d+)`).exec(text)?.[1])
  }
  const before = [await counted(401), await counted(404), await counted(422)]
  await call(LIST, '{}', { query: 'k=wrong&u=CUST-1' })
  await call(reportOf('none'))
  await call(LIST, '{"page":"x"}')
  expect([await counted(401), await counted(404), await counted(422)]).toEqual(
    before.map((count) => count + 1),
  )
})

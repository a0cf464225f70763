import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf, type Sent, send } from '../../test/gateway.ts'
import { completePayloads } from '../../test/payloads.ts'
import { openConnection } from '../../test/rawRequest.ts'
import type { Gateway } from '../index.ts'
import { MAX_KEYED_BYTES } from './guard.ts'

const KEY = 'REST-KEY-00000001'
const IN_FORM = `k=${KEY}&u=CUST-1`
const IN_JSON = { k: KEY, u: 'CUST-1' }
const CUSTOM = '/api/v1/custom_events'
const LIST = '/api/v1/campaigns/list'
const CREATE = '/api/v1/campaigns/create'
const CHECK_API = '/api/v1/check-api-credentials'
const CHECK = '/api/v1/check-credentials'
const UNKNOWN = '/api/v1/stock/update-v2'
const FORM = 'application/x-www-form-urlencoded'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
const written: unknown[] = []

beforeAll(async () => {
  prepared = await prepareGateway()
  // Time passes fast, so that wrong keys are never answered 429.
  let clock = 0
  gateway = await prepared.start({
    metricsPort: 0,
    monotonicNow: () => (clock += 60_000),
    onRequest: (line) => written.push(line),
    onRefused: (line) => written.push(line),
    onError: (error) => written.push(`${error}`),
  })
  gateway.customers.add({ customerId: 'CUST-1', restKey: KEY, trackingKey: 'TRACKKEY1' })
  gateway.customers.add({ customerId: 'CUST-2', restKey: 'REST-KEY-00000002' })
})
afterAll(() => prepared.end())

async function post(
  path: string,
  body: unknown,
  sent: Sent & { type?: string; to?: Gateway } = {},
) {
  const { type, to = gateway, ...rest } = sent
  const isText = typeof body === 'string'
  const answer = await send(to.url, path, {
    method: 'POST',
    body: isText ? body : JSON.stringify(body),
    headers: { 'content-type': type ?? (isText ? FORM : 'application/json') },
    ...rest,
  })
  return { ...answer, json: JSON.parse(answer.text) }
}

const EVENT = { email: 'ana+news@shop.example', event: 'quiz done' }

test.each([
  ['in a form', CUSTOM, `${IN_FORM}&email=ana%2Bnews%40shop.example&event=quiz+done`, {}],
  [
    'in a form with a charset',
    CUSTOM,
    `email=ana%2Bnews%40shop.example&event=quiz%20done&${IN_FORM}`,
    { type: `${FORM}; charset=UTF-8` },
  ],
  ['in JSON', CUSTOM, { ...IN_JSON, ...EVENT }, {}],
  ['in JSON of the type of a form', CUSTOM, ` ${JSON.stringify({ ...IN_JSON, ...EVENT })}`, {}],
  [
    'in JSON of the type of a form, after a byte order mark',
    CUSTOM,
    `\ufeff${JSON.stringify({ ...IN_JSON, ...EVENT })}`,
    {},
  ],
  ['in JSON without a type', CUSTOM, { ...IN_JSON, ...EVENT }, { headers: {} }],
  [
    'in the query, of a form',
    `${CUSTOM}?${IN_FORM}`,
    'email=ana%2Bnews%40shop.example&event=quiz+done',
    {},
  ],
  ['in both: the query counts', `${CUSTOM}?${IN_FORM}`, { k: 'wrong', u: 'NOBODY', ...EVENT }, {}],
  ['one in each', `${CUSTOM}?u=CUST-1`, { k: KEY, u: 'NOBODY', ...EVENT }, {}],
  ['empty in the query', `${CUSTOM}?k=&u=`, { ...IN_JSON, ...EVENT }, {}],
])('keys %s: the event is stored without them', async (_, path, body, sent) => {
  const { status, json } = await post(path, body, sent)
  expect(status).toBe(200)
  const record = (await recordsOf(gateway)).at(-1)
  expect(record).toMatchObject({ id: json.id, customer: 'CUST-1', payload: JSON.stringify(EVENT) })
})

test.each([
  ['no body', '', 401, 'The REST key (k) and the customer id (u) are missing'],
  ['neither', 'a=1', 401, 'The REST key (k) and the customer id (u) are missing'],
  ['no key', 'u=CUST-1', 401, 'The REST key (k) is missing'],
  ['no customer', `k=${KEY}`, 401, 'The customer id (u) is missing'],
  ['an unknown customer', `k=${KEY}&u=NOBODY`, 404, 'There is no customer with this id (u)'],
  ['a wrong key', 'k=SECRET-9&u=CUST-1', 401, 'The REST key (k) is wrong'],
  ["another customer's key", 'k=REST-KEY-00000002&u=CUST-1', 401, 'The REST key (k) is wrong'],
  ['the tracking key', 'k=TRACKKEY1&u=CUST-1', 401, 'The REST key (k) is wrong'],
  [
    'keys in a list',
    `k[]=${KEY}&u[]=CUST-1`,
    401,
    'The REST key (k) and the customer id (u) are missing',
  ],
  ['no text', { k: true, u: null }, 401, 'The REST key (k) and the customer id (u) are missing'],
  ['numbers', { k: 7, u: 12_345 }, 404, 'There is no customer with this id (u)'],
  ['a fraction', { k: 7.5, u: 12_345 }, 401, 'The REST key (k) is missing'],
  ['a list', [KEY, 'CUST-1'], 401, 'The REST key (k) and the customer id (u) are missing'],
  [
    'keys of a prototype',
    `{"__proto__":${JSON.stringify(IN_JSON)}}`,
    401,
    'The REST key (k) and the customer id (u) are missing',
  ],
  [
    'a name of a prototype',
    { k: KEY, u: '__proto__' },
    404,
    'There is no customer with this id (u)',
  ],
])('%s in the body', async (_, body, status, message) => {
  for (const path of [CUSTOM, LIST, CREATE, CHECK_API, UNKNOWN])
    expect(await post(path, body)).toMatchObject({ status, json: { message } })
})

test('an id of digits may be a number in JSON', async () => {
  gateway.customers.add({ customerId: '12345', restKey: 'REST-KEY-00000005' })
  const body = { k: 'REST-KEY-00000005', u: 12_345, ...EVENT }
  expect(await post(CUSTOM, body)).toMatchObject({ status: 200 })
  expect((await recordsOf(gateway)).at(-1)).toMatchObject({ customer: '12345' })
})

test('a body of another type has no keys, one that can not be read says why', async () => {
  const text = `${IN_FORM}&email=a@b.example&event=x`
  for (const type of ['multipart/form-data; boundary=x', 'text/html'])
    expect(await post(CUSTOM, text, { type })).toMatchObject({
      status: 401,
      json: {
        message:
          'The REST key (k) and the customer id (u) are missing in the query, and the body was not searched. Expected a body of type application/json or application/x-www-form-urlencoded',
      },
    })
  const zipped = { headers: { 'content-encoding': 'gzip', 'content-type': FORM } }
  expect(await post(`${CUSTOM}?k=${KEY}`, text, zipped)).toMatchObject({
    status: 401,
    json: {
      message:
        'The customer id (u) is missing in the query, and the body was not searched. Expected a body without Content-Encoding',
    },
  })
  expect(await post(CUSTOM, text, { type: 'application/json' })).toMatchObject({
    status: 400,
    json: { message: 'The body is not JSON' },
  })
  expect(await post(CUSTOM, `${text}&${'a=1&'.repeat(1_000)}`)).toMatchObject({ status: 413 })
  expect(await post(CUSTOM, `${text}&a${'[]'.repeat(9)}=1`)).toMatchObject({ status: 400 })
})

test('every route that takes a body takes its keys there, and a form', async () => {
  expect(await post(LIST, `${IN_FORM}&search=nothing+at+all&page=1`)).toMatchObject({
    status: 200,
    json: { data: [], total: 0 },
  })
  expect(await post(CHECK_API, IN_FORM)).toMatchObject({ status: 200, json: [] })
  expect(await post(CHECK_API, IN_JSON)).toMatchObject({ status: 200, json: [] })
  expect(await post(UNKNOWN, `${IN_FORM}&sku=7`)).toMatchObject({ status: 501 })
  expect(await post(UNKNOWN, { ...IN_JSON, sku: '7' }, { method: 'PUT' })).toMatchObject({
    status: 501,
  })
})

test('check-credentials has another k and u in its body, also in a form', async () => {
  const body = `k=TRACKKEY1&r=${KEY}&u=CUST-1`
  expect(await post(CHECK, body)).toMatchObject({ status: 401 })
  expect(await post(`${CHECK}?${IN_FORM}`, body)).toMatchObject({ status: 200, json: [] })
  expect(await post(`${CHECK}?${IN_FORM}`, 'k=TRACKKEY1')).toMatchObject({ status: 422 })
})

test('a campaign may be a form, as PHP writes true and numbers', async () => {
  const { audience, scheduling } = completePayloads.create
  const flat = (name: string, fields: object) =>
    Object.entries(fields).map(([key, value]) => [
      `${name}[${key}]`,
      `${value === true ? 1 : value}`,
    ])
  const fields = Object.entries(completePayloads.create).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value]] : flat(name, value),
  )
  const text = `${new URLSearchParams(fields)}`
  const { status, json } = await post(CREATE, `${text}&${IN_FORM}`)
  expect(json).toMatchObject(completePayloads.create)
  expect(status).toBe(200)
  expect(json).not.toHaveProperty('k')
  const off = text.replace('smart_sending%5D=1', 'smart_sending%5D=0')
  expect((await post(CREATE, `${off}&${IN_FORM}`)).json.audience).toEqual({
    ...audience,
    smart_sending: false,
  })
  const odd = text.replace('use_optimal_time%5D=1', 'use_optimal_time%5D=2')
  expect((await post(CREATE, `${odd}&${IN_FORM}`)).json.issues).toMatchObject([
    { path: 'scheduling.use_optimal_time' },
  ])
  // Text in JSON is no number.
  const typed = { ...completePayloads.create, scheduling: { ...scheduling, use_optimal_time: '1' } }
  expect(await post(CREATE, { ...IN_JSON, ...typed })).toMatchObject({ status: 422 })
})

test('a body with keys is bounded, and a large campaign has them in the query', async () => {
  const large = { ...completePayloads.create, content: { html: 'x'.repeat(MAX_KEYED_BYTES) } }
  expect(await post(`${CREATE}?${IN_FORM}`, large)).toMatchObject({ status: 200 })
  const refused = await post(CREATE, { ...IN_JSON, ...large })
  expect(refused.status).toBe(401)
  expect(refused.json.message).toContain('is not searched for them')
  const chunked = { 'transfer-encoding': 'chunked' }
  const counted = await post(CREATE, { ...IN_JSON, ...large }, { headers: chunked })
  expect(counted).toMatchObject({ status: 413 })
  const event = { ...IN_JSON, ...EVENT, more: 'x'.repeat(140_000) }
  expect(await post(CUSTOM, event)).toMatchObject({ status: 413 })
})

test('100 Continue comes before a body with keys, and not to a body that is too long', async () => {
  const body = JSON.stringify({ ...IN_JSON, ...EVENT })
  const head = (length: number) =>
    `POST ${CUSTOM} HTTP/1.1\nHost: a\nContent-Length: ${length}\nExpect: 100-continue`
  const connection = await openConnection(gateway.port)
  expect(await connection.request(head(body.length), body)).toMatchObject({
    status: 200,
    continued: true,
  })
  expect(await connection.request(head(8_000_000), body)).toMatchObject({
    status: 413,
    continued: false,
  })
})

test('strangers who send bodies without keys are limited by their address, before the body is read', async () => {
  let clock = 0
  const limited = await prepared.start({
    monotonicNow: () => clock,
    limits: {
      address: { events: { perSecond: 1, burst: 3 }, bytes: { perSecond: 1_000, burst: 100_000 } },
    },
  })
  const to = limited
  const statuses = async (times: number, body: unknown, path = CUSTOM, peer = '127.0.0.5') => {
    const all: number[] = []
    for (let i = 0; i < times; i++) all.push((await post(path, body, { to, peer })).status)
    return all
  }
  expect(await statuses(4, 'a=1')).toEqual([401, 401, 401, 429])
  // Right keys in a body are not known before it is read. In the query they are.
  const right = { ...IN_JSON, ...EVENT }
  expect(await statuses(1, right)).toEqual([429])
  expect(await statuses(5, EVENT, `${CUSTOM}?${IN_FORM}`)).toEqual([200, 200, 200, 200, 200])
  expect(await statuses(1, right, CUSTOM, '127.0.0.6')).toEqual([200])
  clock += 1_000
  const large = 'x'.repeat(90_000)
  expect(await statuses(2, `a=${large}`, CUSTOM, '127.0.0.7')).toEqual([401, 429])
  expect(await statuses(4, 'a=1', CUSTOM, '127.0.0.1')).toEqual([401, 401, 401, 429])
  const connection = await openConnection(limited.port)
  const head = `POST ${CUSTOM} HTTP/1.1\nHost: a\nContent-Length: 100\nExpect: 100-continue`
  expect(await connection.request(head, 'never sent')).toMatchObject({
    status: 429,
    continued: false,
  })
})

test('wrong keys in bodies are slowed down like those in the query', async () => {
  const slow = await prepared.start({ monotonicNow: () => 0 })
  const statuses: number[] = []
  for (let i = 0; i < 12; i++)
    statuses.push((await post(CUSTOM, { k: `wrong-${i}`, u: 'CUST-1' }, { to: slow })).status)
  expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
  expect(await post(CUSTOM, { ...IN_JSON, ...EVENT }, { to: slow })).toMatchObject({ status: 200 })
})

test('keys are in no answer, no line and no list of problems', async () => {
  for (const body of [`${IN_FORM}&email=ana`, { ...IN_JSON, event: 7 }, 'k=SECRET-9&u=CUST-1'])
    expect((await post(CUSTOM, body)).text).not.toMatch(/REST-KEY|SECRET-9/)
  // A client that sends them twice.
  expect((await post(`${CUSTOM}?${IN_FORM}`, { ...IN_JSON, event: 7 })).status).toBe(422)
  const problems = await send(gateway.url, `/api/v1/problems?${IN_FORM}`)
  expect(problems.text).toContain('refused')
  const metrics = await send(gateway.metricsUrl as string, '/metrics')
  for (const text of [problems.text, metrics.text, JSON.stringify(written)]) {
    expect(text.length).toBeGreaterThan(100)
    expect(text).not.toMatch(/REST-KEY|SECRET-9/)
  }
})

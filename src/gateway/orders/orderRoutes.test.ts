import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf, type Sent, send } from '../../test/gateway.ts'
import { completePayloads } from '../../test/payloads.ts'
import { openConnection } from '../../test/rawRequest.ts'
import type { Gateway } from '../index.ts'
import { MAX_ORDER_BYTES } from './orderRoutes.ts'

const KEYS = 'k=REST-KEY-00000001&u=CUST-1'
const ORDER = '/api/v1/save_order'
const STATUS = '/api/v1/update_order_status'
const ADD = '/api/v1/add_subscriber'
const REMOVE = '/api/v1/remove_subscriber'
const UNSUBSCRIBED = '/api/v1/unsubscribed_emails'
const REVIEWS = '/api/v1/product_reviews'
const HEALTH = '/api/v1/health'
const POSTS = [ORDER, ADD, REMOVE]
const GETS = [UNSUBSCRIBED, REVIEWS, HEALTH]
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
let now = Date.parse('2027-03-01T12:00:00Z')

beforeAll(async () => {
  prepared = await prepareGateway()
  // Time passes fast, so that wrong keys are never answered 429.
  let clock = 0
  gateway = await prepared.start({
    metricsPort: 0,
    now: () => now,
    monotonicNow: () => (clock += 60_000),
  })
  gateway.customers.add({ customerId: 'CUST-1', restKey: 'REST-KEY-00000001' })
  gateway.customers.add({ customerId: 'CUST-2', restKey: 'REST-KEY-00000002' })
})
afterAll(() => prepared.end())

/** A request with the keys of CUST-1; a body makes it a POST. */
async function call(
  path: string,
  body?: unknown,
  sent: Sent & { query?: string; to?: Gateway } = {},
) {
  const { query = KEYS, to = gateway, ...rest } = sent
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const answer = await send(to.url, `${path}?${query}`, {
    ...(text !== undefined && { method: 'POST', body: text }),
    ...rest,
  })
  const isJson = answer.headers['content-type'] === 'application/json; charset=utf-8'
  return { ...answer, json: isJson && answer.text ? JSON.parse(answer.text) : undefined }
}

const order = (number: unknown, more: object = {}) => ({
  ...completePayloads.saveOrder,
  number,
  ...more,
})

test.each([
  ...POSTS.flatMap((path) => [
    ['GET', path, 'POST, OPTIONS'],
    ['PUT', path, 'POST, OPTIONS'],
  ]),
  ...GETS.map((path) => ['POST', path, 'GET, HEAD, OPTIONS']),
  ['PUT', STATUS, 'GET, POST, HEAD, OPTIONS'],
])('405 for %s %s', async (method, path, allow) => {
  const { status, headers } = await call(path, undefined, { method, query: 'k=x' })
  expect(status).toBe(405)
  expect(headers.allow).toBe(allow)
})

test.each([...POSTS, ...GETS, STATUS])('%s needs the right keys', async (path) => {
  const method = POSTS.includes(path) ? 'POST' : 'GET'
  for (const [query, status] of [
    ['', 401],
    ['u=CUST-1', 401],
    ['k=wrong&u=CUST-1', 401],
    ['k=REST-KEY-00000002&u=CUST-1', 401],
    ['k=REST-KEY-00000001&u=NOBODY', 404],
  ] as const) {
    const answer = await call(path, undefined, { method, query })
    expect(answer.status).toBe(status)
    expect(answer.json).toEqual({ message: expect.any(String) })
  }
  if (method === 'GET' && path !== STATUS) expect((await call(path)).status).toBe(200)
})

test.each<[string, unknown, string]>([
  [ORDER, {}, 'number'],
  [ORDER, [], ''],
  [ORDER, 'null', ''],
  [ORDER, order(' '), 'number'],
  [ORDER, order({}), 'number'],
  [ORDER, order(1, { total_value: '12,50' }), 'total_value'],
  [ORDER, order(1, { total_value: '1,2345' }), 'total_value'],
  [ORDER, order(1, { total_value: '1.005' }), 'total_value'],
  [ORDER, order(1, { total_value: 'NaN' }), 'total_value'],
  [ORDER, order(1, { shipping: '90071992547409.92' }), 'shipping'],
  [ORDER, order(1, { email_address: 'ana' }), 'email_address'],
  [ORDER, order(1, { products: [{ product_id: 1, price: 'x', quantity: 1 }] }), 'products.0.price'],
  [ORDER, order(1, { products: 7 }), 'products'],
  [ORDER, order(1, { products: 0 }), 'products'],
  [ORDER, order(1, { products: { 12: { product_id: 1, quantity: 1 } } }), 'products.12.price'],
  [
    ORDER,
    order(1, { products: { 12: { product_id: 1, price: '0.001', quantity: 1 } } }),
    'products.12.price',
  ],
  [STATUS, {}, 'order_number'],
  [STATUS, { order_number: 1 }, 'order_status'],
  [ADD, {}, 'email'],
  [ADD, { email: 'ana' }, 'email'],
  [ADD, { email: 'ana@shop.example', birthday: '1990-02-30' }, 'birthday'],
  [REMOVE, { email: null }, 'email'],
])('%s of %j: 422 with the path %s', async (path, body, fault) => {
  const before = (await recordsOf(gateway)).length
  const { status, json } = await call(path, body)
  expect(status).toBe(422)
  expect(json.issues[0].path).toBe(fault)
  expect(json.message).toContain(fault)
  expect(json.message).toContain(json.issues[0].message)
  expect(await recordsOf(gateway)).toHaveLength(before)
})

test('the first fault of a form is in the message, with its path in the payload', async () => {
  const body =
    'number=7&total_value=1&products[0][product_id]=1&products[0][price]=1,2345&products[0][quantity]=1'
  const { status, json } = await call(ORDER, body, { headers: FORM })
  expect(status).toBe(422)
  expect(json.message).toMatch(/^The order is invalid: products\.0\.price: Expected an amount/)
})

test('an order without products is stored, in each way that PHP may send none', async () => {
  const { products: _, ...total } = order('NONE')
  const sent = [
    total,
    ...[null, '', ' ', false, [], {}].map((products) => ({ ...total, products })),
  ]
  const stored: unknown[] = []
  for (const body of sent) stored.push((await call(ORDER, body)).json.stored)
  for (const products of ['', '&products=', '&products=+', '&products=0']) {
    const body = `number=NONE-2&total_value=10.00${products}`
    stored.push((await call(ORDER, body, { headers: FORM })).json.stored)
  }
  expect(stored).toEqual([true, ...Array(6).fill(false), true, false, false, false])
  expect(JSON.parse((await recordsOf(gateway)).at(-1)?.payload ?? '')).toMatchObject({
    number: 'NONE-2',
    products: [],
  })
})

test('money is read in the currency of the customer', async () => {
  gateway.customers.add({ customerId: 'YEN', restKey: 'REST-KEY-00000003', currency: 'JPY' })
  const query = 'k=REST-KEY-00000003&u=YEN'
  const products = [{ product_id: 1, price: '1,200', quantity: 1 }]
  const yen = { number: 1, total_value: 1200, products }
  expect((await call(ORDER, yen, { query })).status).toBe(200)
  const record = JSON.parse((await recordsOf(gateway)).at(-1)?.payload ?? '')
  expect(record).toMatchObject({
    currency: 'JPY',
    total_value: '1200',
    minor: { total_value: 1200 },
  })
  const { json } = await call(ORDER, { ...yen, total_value: '1200.50' }, { query })
  expect(json.issues).toMatchObject([{ path: 'total_value' }])
})

test('what is already so is not stored again, what changes is', async () => {
  const stored = async (path: string, body: unknown) => (await call(path, body)).json.stored
  const before = (await recordsOf(gateway)).length
  const first = order('A-1')
  expect(await stored(ORDER, first)).toBe(true)
  expect(await stored(ORDER, first)).toBe(false)
  expect(await stored(ORDER, { ...first, total_value: 2 })).toBe(true)
  expect(await stored(ORDER, first)).toBe(true)

  const status = (order_status: string) => ({ order_number: 'A-1', order_status })
  expect(await stored(STATUS, status('paid'))).toBe(true)
  expect(await stored(STATUS, status('paid'))).toBe(false)
  // The order is not changed by its status.
  expect(await stored(ORDER, first)).toBe(false)
  expect(await stored(STATUS, status('refunded'))).toBe(true)
  expect(await stored(STATUS, status('paid'))).toBe(true)

  const ana = { email: 'ana.a@shop.example' }
  expect(await stored(ADD, ana)).toBe(true)
  expect(await stored(ADD, ana)).toBe(false)
  expect(await stored(ADD, { ...ana, firstname: 'Ana' })).toBe(true)
  expect(await stored(REMOVE, ana)).toBe(true)
  expect(await stored(REMOVE, ana)).toBe(false)
  expect(await stored(ADD, ana)).toBe(true)
  expect(await recordsOf(gateway)).toHaveLength(before + 10)

  // Other customers have numbers and subscribers of their own.
  const other = await call(ORDER, first, { query: 'k=REST-KEY-00000002&u=CUST-2' })
  expect(other.json.stored).toBe(true)
})

test('a status may be in the query or in the body', async () => {
  const fields = 'order_number=B-1&order_status=On%20hold%2B'
  expect((await call(STATUS, undefined, { query: `${KEYS}&${fields}` })).json.stored).toBe(true)
  expect((await call(STATUS, `${fields}&${KEYS}`, { query: '', headers: FORM })).json.stored).toBe(
    false,
  )
  expect(
    (await call(STATUS, undefined, { method: 'POST', query: `${fields}&${KEYS}` })).json.stored,
  ).toBe(false)
  const inGet = { method: 'GET', query: '', headers: FORM }
  expect((await call(STATUS, `${fields}&${KEYS}`, inGet)).json.stored).toBe(false)
  expect(JSON.parse((await recordsOf(gateway)).at(-1)?.payload ?? '')).toEqual({
    order_number: 'B-1',
    order_status: 'On hold+',
  })
})

test('an order may have 500 products as a form, and is bounded', async () => {
  const line = (i: number) =>
    `&products%5B${i}%5D%5Bproduct_id%5D=${100_000 + i}&products%5B${i}%5D%5Bprice%5D=1%2C234.50&products%5B${i}%5D%5Bquantity%5D=1&products%5B${i}%5D%5Bvariation_sku%5D=SKU-${i}`
  const lines = (count: number) => Array.from({ length: count }, (_, i) => line(i)).join('')
  const form = (number: string, count: number) =>
    `${KEYS}&number=${number}&total_value=617%2C250.00${lines(count)}`
  const sent = { query: '', headers: FORM }
  expect(await call(ORDER, form('LARGE', 500), sent)).toMatchObject({ status: 200 })
  const record = (await recordsOf(gateway)).at(-1)
  expect(JSON.parse(record?.payload ?? '').products).toHaveLength(500)
  expect((await call(ORDER, form('LARGER', 501), sent)).json.issues).toMatchObject([
    { path: 'products' },
  ])
  expect(await call(ORDER, form('VALUES', 800), sent)).toMatchObject({ status: 413 })
  expect(await call(ORDER, Buffer.alloc(MAX_ORDER_BYTES + 1, ' '))).toMatchObject({ status: 413 })
  // Less than a body may have, and more than a record may have.
  const sku = 'x'.repeat(2_000)
  const products = Array.from({ length: 100 }, () => ({
    product_id: 1,
    price: 1,
    quantity: 1,
    variation_sku: sku,
  }))
  const refused = await call(ORDER, order('C-1', { products }))
  expect(refused).toMatchObject({ status: 413 })
  expect(refused.json.message).toContain('131072 bytes')
})

test('the addresses that are unsubscribed, by the day of the customer', async () => {
  const { restKey } = gateway.customers.add({ customerId: 'DAYS', timeZone: 'Asia/Tokyo' })
  const query = `k=${restKey}&u=DAYS`
  const list = async (more: string) =>
    (await call(UNSUBSCRIBED, undefined, { query: query + more })).json
  const remove = async (at: string, email: string) => {
    now = Date.parse(at)
    expect((await call(REMOVE, { email }, { query })).json.stored).toBe(true)
  }
  expect(await list('')).toEqual([])
  await remove('2027-04-01T14:59:59Z', 'first@shop.example')
  await remove('2027-04-01T15:00:00Z', 'Second@Shop.example')
  await remove('2027-04-02T15:00:00Z', 'third@shop.example')
  now = Date.parse('2027-04-03T00:00:00Z')
  expect(await list('')).toEqual([
    'first@shop.example',
    'Second@Shop.example',
    'third@shop.example',
  ])
  expect(await list('&date_from=2027-04-02&date_to=2027-04-02')).toEqual(['Second@Shop.example'])
  expect(await list('&date_to=2027-04-01')).toEqual(['first@shop.example'])
  expect(await list(`&date_from=${Date.parse('2027-04-01T15:00:00Z') / 1_000}`)).toEqual([
    'Second@Shop.example',
    'third@shop.example',
  ])
  await call(ADD, { email: 'second@shop.example' }, { query })
  expect(await list('&date_from=2027-04-02&date_to=2027-04-02')).toEqual([])
  const refused = await call(UNSUBSCRIBED, undefined, {
    query: `${query}&date_from=x&date_to=2027-02-30`,
  })
  expect(refused).toMatchObject({
    status: 422,
    json: { issues: [{ path: 'date_from' }, { path: 'date_to' }] },
  })
  expect(refused.json.message).toContain('date_from: Expected seconds since 1970')
})

test('a long list of addresses is sent in parts, and one that is not read holds no other up', async () => {
  const { restKey } = gateway.customers.add({ customerId: 'MANY' })
  const query = `k=${restKey}&u=MANY`
  const emails = Array.from({ length: 1_201 }, (_, i) => `ana.${i}@${'x'.repeat(60)}.example`)
  await gateway.log.append(
    emails.map((email, i) => ({
      ...{
        customer: 'MANY',
        id: `00000000-0000-7000-8000-${`${i}`.padStart(12, '0')}`,
        at: now,
        receivedAt: now,
      },
      ...{
        operation: 'removeSubscriber',
        event: 'remove_subscriber',
        did: null,
        bot: false,
        version: null,
      },
      payload: JSON.stringify({ email }),
    })),
  )
  const whole = await call(UNSUBSCRIBED, undefined, { query })
  expect(whole.headers).not.toHaveProperty('content-length')
  expect(whole.json).toEqual(emails)
  // Those that nobody reads to the end keep no permit.
  for (let i = 0; i < 3; i++) {
    const { socket } = await openConnection(gateway.port)
    socket.write(`GET ${UNSUBSCRIBED}?${query} HTTP/1.1\r\nHost: a\r\n\r\n`)
    await new Promise((resolve) => socket.once('data', resolve))
    socket.destroy()
    const { status } = await call(UNSUBSCRIBED, undefined, { query, method: 'HEAD' })
    expect(status).toBe(200)
  }
  expect((await call(UNSUBSCRIBED, undefined, { query })).json).toHaveLength(1_201)
})

test('a HEAD request stores nothing', async () => {
  const before = (await recordsOf(gateway)).length
  const query = `${KEYS}&order_number=HEAD&order_status=paid`
  expect(await call(STATUS, undefined, { query, method: 'HEAD' })).toMatchObject({
    status: 200,
    text: '',
  })
  expect(await recordsOf(gateway)).toHaveLength(before)
})

test('no reviews, in XML', async () => {
  const { headers, text } = await call(REVIEWS, undefined, { query: `${KEYS}&t=1767225600` })
  expect(headers['content-type']).toBe('application/xml; charset=utf-8')
  expect(text).toBe('<?xml version="1.0" encoding="UTF-8"?>\n<reviews></reviews>\n')
})

test('what can not be stored is 503, above the quota 429, and what is already so is still 200', async () => {
  expect((await call(ORDER, order('D-1'))).status).toBe(200)
  const full = await prepared.start({ queue: { maxEvents: 0 } })
  const refused = await call(ORDER, order('D-2'), { to: full })
  expect(refused.status).toBe(503)
  expect(refused.headers['retry-after']).toBe('1')
  expect((await call(ORDER, order('D-1'), { to: full })).json).toEqual({ stored: false })
  gateway.customers.add({ customerId: 'SMALL', restKey: 'REST-KEY-00000004', dailyEvents: 1 })
  const query = 'k=REST-KEY-00000004&u=SMALL'
  expect((await call(ORDER, order(1), { query })).status).toBe(200)
  expect((await call(ORDER, order(2), { query })).status).toBe(429)
  expect((await call(ORDER, order(1), { query })).status).toBe(200)
})

test('calls are counted like events, and keys and addresses are in no list of problems', async () => {
  const counted = async (name: string) => {
    const { text } = await send(gateway.metricsUrl as string, '/metrics')
    return Number(new RegExp(`${name} (\\d+)`).exec(text)?.[1] ?? 0)
  }
  const outcomes = ['stored', 'duplicate'].map(
    (outcome) => `events_total\\{outcome="${outcome}"\\}`,
  )
  const before = await Promise.all(outcomes.map(counted))
  for (let i = 0; i < 3; i++) await call(ORDER, order('E-1'))
  const after = await Promise.all(outcomes.map(counted))
  expect(after.map((count, i) => count - (before[i] as number))).toEqual([1, 2])
  await call(ORDER, {
    ...order('E-1'),
    total_value: 'x',
    email_address: 'secret@shop.example',
    ...{ k: 'SECRET-9' },
  })
  const { text } = await call('/api/v1/problems')
  expect(text).toContain('/api/v1/save_order')
  expect(text).not.toMatch(/SECRET-9|secret@|REST-KEY/)
})

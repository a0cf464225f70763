import { safeParse } from 'valibot'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeForwardEvent } from '../../test/forwardEvents.ts'
import { type Handle, type Receiver, startReceiver, status } from '../../test/receiver.ts'
import type { ForwardEvent } from './kind.ts'
import { service } from './service.ts'

const REST_KEY = 'REST/KEY+secret=0123456789'
const NOW = Date.UTC(2026, 10, 29, 12)

let receiver: Receiver

beforeEach(async () => {
  receiver = await startReceiver()
  receiver.answer(status(200, { 'content-type': 'application/json' }, '{"id":"x"}'))
})
afterEach(() => receiver.close())

const settings = (given: object = {}) => ({
  baseUrl: receiver.url,
  customerId: 'ACME',
  restKey: REST_KEY,
  trackingKey: 'TRACK123',
  ...given,
})

const send = async (
  event: ForwardEvent = makeForwardEvent(1),
  given: object = {},
  signal = new AbortController().signal,
) => {
  const sender = service.open(settings(given), {
    destinationId: 'd',
    customer: 'acme',
    refundStatuses: () => [],
    folder: '',
    fetch,
    now: () => NOW,
  })
  return (await sender.send([event], signal))[0]
}

const sent = () => receiver.received.map(({ path, body }) => [path, JSON.parse(body)])

test('an event arrives as it was stored, with its id, its time and the keys', async () => {
  const event = makeForwardEvent(1)
  expect(await send(event)).toEqual({ status: 'delivered' })
  const query = new URLSearchParams({
    k: 'TRACK123',
    api_key: REST_KEY,
    id: event.id,
    at: `${event.at}`,
  })
  expect(sent()).toEqual([[`/t/r?${query}`, event.payload]])
})

test('an event without a visitor goes to the other path', async () => {
  const payload = { email: 'anna@example.org', event: 'quiz_done' }
  const given = { operation: 'sendCustomApi', event: 'quiz_done', did: null }
  const event = { ...makeForwardEvent(1, given), payload }
  expect(await send(event, { apiPath: '/v2' })).toEqual({ status: 'delivered' })
  const query = new URLSearchParams({ k: REST_KEY, u: 'ACME' })
  expect(sent()).toEqual([[`/v2/custom_events?${query}`, payload]])
})

test('event names and paths can be those of the service', async () => {
  await send(makeForwardEvent(1), {
    baseUrl: `${receiver.url}/shop`,
    trackingPath: '/track',
    events: { viewProduct: 'de_view_product' },
  })
  const [[path, payload]] = sent() as [[string, object]]
  expect(path).toMatch(/^\/shop\/track\/r\?/)
  expect(payload).toMatchObject({ event: 'de_view_product', product_id: '42' })
})

test('fields that are left out are neutral where the service needs them', async () => {
  const event = makeForwardEvent(1, { operation: 'setEmail' })
  const { remote_addr: _, http_user_agent: __, product_id: ___, ...rest } = event.payload
  await send({ ...event, payload: { ...rest, email_address: 'anna@example.org' } })
  expect(sent()[0]?.[1]).toEqual({
    ...rest,
    email_address: 'anna@example.org',
    remote_addr: '0.0.0.0',
    http_user_agent: 'unknown',
    firstname: '',
    lastname: '',
    phone: '',
  })
})

const json = (code: number, body: object, headers = {}): Handle =>
  status(code, { 'content-type': 'application/json', ...headers }, JSON.stringify(body))

test.each<[string, Handle, object]>([
  ['refuses the event', json(422, { message: 'No such product' }), { status: 'refused' }],
  ['finds the event malformed', status(400), { status: 'refused' }],
  ['finds it too large', status(413), { status: 'refused' }],
  ['knows no such key', status(401), { reason: expect.stringMatching(/^Check restKey/) }],
  ['forbids it', status(403), { reason: expect.stringMatching(/^Check restKey/) }],
  ['has no such path', status(404), { reason: expect.stringMatching(/^Check baseUrl/) }],
  ['is overloaded', status(503), {}],
  ['asks for time', status(429, { 'retry-after': '7' }), { retryAfterMs: 7_000 }],
  [
    'asks for time until a date',
    status(503, { 'retry-after': new Date(NOW + 90_000).toUTCString() }),
    { retryAfterMs: 90_000 },
  ],
  ['answers with something else', status(200, { 'content-type': 'text/html' }, '<h1>Hi</h1>'), {}],
  ['answers with broken JSON', status(200, {}, '{"id":'), {}],
  ['closes the connection', (_, __, socket) => void socket.destroy(), {}],
  [
    'closes it within the answer',
    (_, response, socket) => {
      response.writeHead(200, { 'content-length': '100' }).write('{')
      setImmediate(() => socket.destroy())
    },
    {},
  ],
])('a service that %s', async (_, handle, expected) => {
  receiver.answer(handle)
  const delivery = await send()
  expect(delivery).toMatchObject({ status: 'failed', ...expected })
  expect(receiver.received).toHaveLength(1)
})

test('nothing is sent to where a redirect points', async () => {
  const other = await startReceiver()
  for (const code of [301, 302, 303, 307, 308]) {
    receiver.answer(status(code, { location: `${other.url}/t/r` }))
    expect(await send()).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('redirected'),
    })
  }
  expect(other.received).toEqual([])
  await other.close()
})

test('of a long answer only the beginning is read', async () => {
  let written = 0
  const chunk = Buffer.alloc(65_536, 'x')
  receiver.answer((_, response) => {
    response.writeHead(200)
    const write = () => {
      written += chunk.length
      if (written < 50 * 2 ** 20 && response.write(chunk)) setImmediate(write)
      else response.once('drain', write)
    }
    write()
  })
  expect(await send()).toMatchObject({ status: 'failed' })
  // What fits into the buffers of the sockets was written.
  expect(written).toBeLessThan(20 * 2 ** 20)
})

test.each<[string, Handle]>([
  ['does not answer', () => {}],
  [
    'sends its answer drop by drop',
    (_, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write(' '), 5)
      response.on('close', () => clearInterval(timer))
    },
  ],
])('an attempt at a service that %s can be ended', async (_, handle) => {
  receiver.answer(handle)
  const controller = new AbortController()
  const delivery = send(makeForwardEvent(1), {}, controller.signal)
  await receiver.wait(1)
  controller.abort()
  expect(await delivery).toMatchObject({ status: 'failed' })
})

test('no reason contains the keys', async () => {
  for (const handle of [
    json(422, { message: `Bad ${REST_KEY}` }),
    status(500, { 'content-type': 'text/plain' }, `k=${encodeURIComponent(REST_KEY)}`),
    status(302, { location: `http://other.example/?api_key=${encodeURIComponent(REST_KEY)}` }),
  ]) {
    receiver.answer(handle)
    const text = JSON.stringify(await send())
    expect(text).not.toContain('secret')
  }
  const shown = service.describe(settings())
  expect(shown).toBe(`${new URL(receiver.url).host}, customer ACME`)
})

test('an event that the contract does not allow is refused without a request', async () => {
  const event = makeForwardEvent(1)
  const { product_id: _, ...payload } = event.payload
  expect(await send({ ...event, payload })).toMatchObject({
    status: 'refused',
    reason: expect.stringContaining('product_id'),
  })
  expect(receiver.received).toEqual([])
})

test('everything that is wrong with the settings is said', () => {
  const read = safeParse(service.settings, {
    baseUrl: 'http://service.example',
    customerId: 'ACME',
    restKey: REST_KEY,
    trakingKey: 'x',
  })
  const messages = read.issues?.map(({ path, message }) => [path?.[0]?.key, message])
  expect(messages).toEqual([
    ['baseUrl', expect.stringContaining('https')],
    ['trackingKey', 'It is missing'],
    ['trakingKey', expect.stringContaining('trackingKey')],
  ])
  const second = safeParse(service.settings, settings({ events: { viewPage: 'x' } }))
  expect(second.issues?.[0]?.message).toContain('viewHomepage')
  expect(JSON.stringify([read.issues, second.issues])).not.toContain('is a secret')
  expect(safeParse(service.settings, settings()).success).toBe(true)
})

const ORDER = {
  number: '1042',
  email_address: 'ana@shop.example',
  phone: '+40712345678',
  firstname: 'Ana',
  lastname: 'Pop',
  city: 'Cluj',
  county: 'CJ',
  address: 'Strada Lungă 5',
  discount_value: '-5.00',
  discount_code: '',
  shipping: '15.00',
  tax: '0.00',
  total_value: '1234.50',
  products: [{ product_id: '42', price: '617.25', quantity: 2, variation_sku: 'MUG' }],
}
const ADDED = { currency: 'RON', minor: { discount_value: -500, total_value: 123450 } }
const STORED = {
  ...ORDER,
  products: ORDER.products.map((product) => ({ ...product, price_minor: 61725 })),
  ...ADDED,
}

const record = (operation: string, payload: object): ForwardEvent => ({
  ...makeForwardEvent(1, { operation, event: operation, did: null }),
  payload: payload as ForwardEvent['payload'],
})

test.each([
  ['saveOrder', STORED, '/save_order', ORDER],
  [
    'addSubscriber',
    { email: 'ana@shop.example', add_tags: ['a'], attributes: { size: 'M' } },
    '/add_subscriber',
    { email: 'ana@shop.example', add_tags: ['a'], attributes: { size: 'M' } },
  ],
  [
    'removeSubscriber',
    { email: 'ana@shop.example', channels: ['sms'] },
    '/remove_subscriber',
    { email: 'ana@shop.example', channels: ['sms'] },
  ],
] as const)(
  '%s goes to its own path, as the API takes it',
  async (operation, stored, path, expected) => {
    const events = { viewProduct: 'de_view_product' }
    expect(await send(record(operation, stored), { apiPath: '/v2', events })).toEqual({
      status: 'delivered',
    })
    const query = new URLSearchParams({ k: REST_KEY, u: 'ACME' })
    expect(sent()).toEqual([[`/v2${path}?${query}`, expected]])
  },
)

test('a status is asked for in the query', async () => {
  const payload = { order_number: '10/42 é', order_status: 'Expediată & plătită' }
  expect(await send(record('updateOrderStatus', payload))).toEqual({ status: 'delivered' })
  const [{ path, body } = { path: '', body: '' }] = receiver.received
  const { pathname, searchParams } = new URL(path, 'http://x')
  expect([pathname, body]).toEqual(['/api/v1/update_order_status', ''])
  expect(Object.fromEntries(searchParams)).toEqual({ k: REST_KEY, u: 'ACME', ...payload })
})

test('texts of an order that are left out are empty, and those of a subscriber are missing', async () => {
  const { phone: _, address: __, firstname: ___, ...rest } = STORED
  await send(record('saveOrder', rest))
  await send(record('addSubscriber', { email: 'ana@shop.example' }))
  expect(sent().map(([, body]) => body)).toEqual([
    { ...ORDER, phone: '', address: '', firstname: '' },
    { email: 'ana@shop.example' },
  ])
})

test.each<[string, Handle, object]>([
  ['answers with nothing', status(200), { status: 'delivered' }],
  [
    'answers with text',
    status(200, { 'content-type': 'text/html' }, 'ok'),
    { status: 'delivered' },
  ],
  ['answers false', status(200, {}, 'false'), { reason: expect.stringContaining('false') }],
  [
    'does not let it in',
    status(200, {}, 'access not allowed\n'),
    { reason: expect.stringContaining('access not allowed') },
  ],
  ['refuses it', json(422, { message: 'number: Expected text' }), { status: 'refused' }],
  ['knows no such key', status(401), { reason: expect.stringMatching(/^Check restKey/) }],
  ['is overloaded', status(503), {}],
])('a service that gets an order and %s', async (_, handle, expected) => {
  receiver.answer(handle)
  expect(await send(record('saveOrder', STORED))).toMatchObject({ status: 'failed', ...expected })
})

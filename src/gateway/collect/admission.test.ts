import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf, type Sent, send } from '../../test/gateway.ts'
import type { GivenLimits } from '../http/limits.ts'
import type { Gateway, GatewayOptions } from '../index.ts'

/** Addresses of senders, all of this machine. */
const A = '127.0.0.2'
const B = '127.0.0.3'
const REST_KEY = 'REST-KEY-OF-THE-SHOP'
const ORIGIN = 'https://shop.example'
const PAYLOAD = {
  did: 'd-1',
  event: 'view_homepage',
  url: 'https://shop.example/',
  http_user_agent: 'Mozilla/5.0',
}
const EVENT = JSON.stringify(PAYLOAD)
/** A rate so slow that no bucket refills during a test. */
const never = (burst: number) => ({ perSecond: 0.001, burst })

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway

beforeAll(async () => {
  prepared = await prepareGateway()
})
afterEach(() => gateway.close())
afterAll(() => prepared.end())

async function start(limits: GivenLimits, options: Partial<GatewayOptions> = {}) {
  gateway = await prepared.start({ limits, metricsPort: 0, ...options })
  const { customers } = gateway
  if (customers.find('shop')) return
  const origins = [ORIGIN]
  customers.add({ customerId: 'shop', trackingKey: 'SHOPKEY1', restKey: REST_KEY, origins })
  customers.add({ customerId: 'other', trackingKey: 'OTHERKEY', origins })
}

const post = (target: string, body: string, sent: Sent = {}) =>
  send(gateway.url, target, {
    method: 'POST',
    body,
    peer: A,
    ...sent,
    headers: { origin: ORIGIN, 'content-type': 'text/plain', ...sent.headers },
  })
const postEvent = (peer: string, key = 'SHOPKEY1') =>
  post(`/t/r?k=${key}&id=${randomUUID()}`, EVENT, { peer })
const postBatch = (count: number, sent: Sent = {}) =>
  post(
    '/t/batch?k=SHOPKEY1',
    JSON.stringify({ events: Array.from({ length: count }, () => ({ payload: PAYLOAD })) }),
    sent,
  )
const script = (peer: string, accept = '*/*') =>
  send(gateway.url, '/t/j/SHOPKEY1', { peer, headers: { accept } })
const stored = async () =>
  (await recordsOf(gateway)).filter(({ customer }) => customer === 'shop').length
const limitedBy = async (limit: string, unit: string) => {
  const { text } = await send(gateway.metricsUrl ?? '', '/metrics')
  return Number(
    new RegExp(`requests_limited_total{limit="${limit}",unit="${unit}"} (\\d+)`).exec(text)?.[1] ??
      0,
  )
}

test('an address that sends too many events is refused with Retry-After, others are not', async () => {
  await start({ address: { events: never(3) } })
  const before = await stored()
  for (let i = 0; i < 3; i++) expect((await postEvent(A)).status).toBe(200)
  const id = randomUUID()
  const refused = await post(`/t/r?k=SHOPKEY1&id=${id}`, EVENT)
  expect(refused.status).toBe(429)
  const wait = Number(refused.headers['retry-after'])
  expect(wait).toBeGreaterThan(900)
  expect(wait).toBeLessThanOrEqual(1_000)
  expect(refused.headers['access-control-allow-origin']).toBe('*')
  expect(JSON.parse(refused.text)).toEqual({
    id,
    message: `Too many events from this address. Try again in ${wait} s`,
  })
  expect((await postEvent(B)).status).toBe(200)
  expect(await stored()).toBe(before + 4)
  expect(await limitedBy('address', 'events')).toBe(1)
})

test('a batch counts as its events', async () => {
  await start({ address: { events: never(100) } })
  const before = await stored()
  expect((await postBatch(60)).status).toBe(200)
  const refused = await postBatch(60)
  expect(refused.status).toBe(429)
  expect(JSON.parse(refused.text)).toEqual({ message: expect.stringContaining('Too many events') })
  expect((await postBatch(30)).status).toBe(200)
  expect(await stored()).toBe(before + 90)
})

test('a batch of more than the bucket holds passes when the bucket is full', async () => {
  await start({ address: { events: never(10), bytes: never(1_000) } })
  expect((await postBatch(100)).status).toBe(200)
  expect((await postEvent(A)).status).toBe(429)
})

test.each([
  ['declared', {}, 5_000],
  // A body of unknown length counts as the largest one until it is read.
  ['chunked', { 'transfer-encoding': 'chunked' }, 131_072 + 3_000],
])('bytes are counted too, %s', async (_, headers, burst) => {
  await start({ address: { bytes: never(burst) } })
  const body = JSON.stringify({ ...PAYLOAD, url: `https://shop.example/?${'x'.repeat(2_000)}` })
  for (const status of [200, 200, 429])
    expect((await post('/t/r?k=SHOPKEY1', body, { headers })).status).toBe(status)
  expect((await postBatch(10, { headers })).status).toBe(429)
  expect((await postEvent(B)).status).toBe(200)
  expect(await limitedBy('address', 'bytes')).toBe(2)
})

test('a declared length that is too large is refused before the body arrives', async () => {
  await start({ address: { bytes: never(1_000) }, customer: { bytes: never(100_000) } })
  await post('/t/r?k=SHOPKEY1', EVENT)
  for (const path of ['r', 'batch']) {
    const socket = connect({ port: gateway.port, localAddress: A })
    socket.write(
      `POST /t/${path}?k=SHOPKEY1 HTTP/1.1\r\nHost: a\r\nOrigin: ${ORIGIN}\r\nContent-Length: 100000\r\n\r\n{`,
    )
    const head = await new Promise<string>((resolve) =>
      socket.once('data', (chunk) => resolve(`${chunk}`)),
    )
    socket.destroy()
    expect(head).toMatch(/^HTTP\/1.1 429 /)
  }
})

test('a request that is refused or never sent takes nothing from its customer', async () => {
  await start({
    address: { events: never(5) },
    customer: { events: never(8), bytes: never(300_000) },
  })
  for (let i = 0; i < 5; i++) expect((await postEvent(A)).status).toBe(200)
  for (let i = 0; i < 30; i++) expect((await postEvent(A)).status).toBe(429)
  expect((await postBatch(500)).status).toBe(429)
  for (let i = 0; i < 4; i++) {
    const socket = connect({ port: gateway.port, localAddress: B })
    const ended = new Promise((resolve) => socket.once('close', resolve))
    socket.end(
      `POST /t/r?k=SHOPKEY1 HTTP/1.1\r\nHost: a\r\nOrigin: ${ORIGIN}\r\nContent-Length: 100000\r\n\r\n{`,
    )
    socket.resume()
    await ended
  }
  for (let i = 0; i < 3; i++) expect((await postEvent('127.0.0.4')).status).toBe(200)
  expect((await postEvent('127.0.0.4')).status).toBe(429)
})

test('invalid events take nothing from their customer', async () => {
  await start({ customer: { events: never(12) } })
  const junk = JSON.stringify({ events: Array.from({ length: 10 }, () => ({ payload: {} })) })
  for (let i = 0; i < 5; i++) {
    expect((await post('/t/batch?k=SHOPKEY1', junk)).status).toBe(200)
    expect((await post('/t/r?k=SHOPKEY1', '{}')).status).toBe(422)
  }
  const mixed = [...Array.from({ length: 10 }, () => ({ payload: {} })), { payload: PAYLOAD }]
  const half = await post('/t/batch?k=SHOPKEY1', JSON.stringify({ events: mixed }))
  expect(JSON.parse(half.text).results.at(-1).status).toBe(200)
  expect((await postBatch(11, { peer: B })).status).toBe(200)
  expect((await postEvent(B)).status).toBe(429)
})

test.each(['/t/r', '/t/batch'])(
  '%s: a chunked body that is refused counts for its address',
  async (path) => {
    const mostOfOne = path === '/t/r' ? 131_072 : 2 ** 20
    await start({ address: { bytes: never(mostOfOne + 1_000) } })
    const chunked = (body: string) =>
      post(`${path}?k=SHOPKEY1`, body, { headers: { 'transfer-encoding': 'chunked' } })
    const valid = path === '/t/r' ? EVENT : JSON.stringify({ events: [{ payload: PAYLOAD }] })
    // An accepted body counts with its own size.
    for (let i = 0; i < 3; i++) expect((await chunked(valid)).status).toBe(200)
    expect((await chunked(`{"a":"${'x'.repeat(100_000)}`)).status).toBe(400)
    expect((await chunked(valid)).status).toBe(429)
  },
)

test('many addresses together have the limits of the customer; its servers and other customers are not affected', async () => {
  await start({ customer: { events: never(4) } })
  for (let i = 0; i < 4; i++) expect((await postEvent(`127.0.1.${i}`)).status).toBe(200)
  const refused = await postEvent('127.0.1.9')
  expect(refused.status).toBe(429)
  expect(JSON.parse(refused.text).message).toMatch('Too many events with this tracking key')
  expect((await postEvent('127.0.1.9', 'OTHERKEY')).status).toBe(200)
  const server = `/t/r?k=SHOPKEY1&api_key=${REST_KEY}`
  expect((await post(server, EVENT)).status).toBe(200)
  expect(await limitedBy('customer', 'events')).toBe(1)
  expect(await limitedBy('server', 'events')).toBe(0)
})

test('a server with the REST key sends for all its visitors: only its customer is limited', async () => {
  await start({ address: { events: never(1), bytes: never(1) }, customer: { events: never(6) } })
  const server = `/t/r?k=SHOPKEY1&api_key=${REST_KEY}`
  for (let i = 0; i < 4; i++) expect((await post(server, EVENT)).status).toBe(200)
  const rest = `?k=${REST_KEY}&u=shop`
  const custom = '{"email":"ana@shop.example","event":"quiz_done"}'
  expect((await post(`/api/v1/custom_events${rest}`, custom)).status).toBe(200)
  expect((await send(gateway.url, `/api/v1/get-latest-campaign${rest}`)).status).toBe(200)
  for (const refused of [
    await post(server, EVENT),
    await post(`/api/v1/custom_events${rest}`, custom),
    await send(gateway.url, `/api/v1/get-latest-campaign${rest}`),
  ]) {
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(1)
    expect(JSON.parse(refused.text).message).toMatch('with this REST key')
  }
  expect(await limitedBy('server', 'events')).toBe(3)
})

test.each([
  ['declared', {}],
  ['chunked', { 'transfer-encoding': 'chunked' }],
])('bytes of a REST call count for its customer, %s', async (_, headers) => {
  await start({ customer: { bytes: never(1_500) } })
  const body = JSON.stringify({ search: 'x'.repeat(1_000) })
  const path = `/api/v1/campaigns/list?k=${REST_KEY}&u=shop`
  expect((await post(path, body, { headers })).status).toBe(200)
  expect((await post(path, body, { headers })).status).toBe(429)
  expect(await limitedBy('server', 'bytes')).toBe(1)
})

test('a wrong REST key does not bypass the limit of the address', async () => {
  await start({ address: { events: never(2) } })
  const wrong = '/t/r?k=SHOPKEY1&api_key=WRONGWRONGWRONGW'
  for (const status of [401, 401, 429]) expect((await post(wrong, EVENT)).status).toBe(status)
})

test('scripts are counted by address, separately from events, and refused in the requested form', async () => {
  await start({ address: { events: never(2) } })
  for (let i = 0; i < 3; i++) await postEvent(A)
  expect((await script(A)).status).toBe(200)
  expect((await script(A)).status).toBe(200)
  const refused = await script(A)
  expect(refused.status).toBe(429)
  expect(refused.headers['content-type']).toMatch('text/javascript')
  expect(refused.headers['cache-control']).toBe('no-store')
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(1)
  expect(refused.text).toMatch(/^\/\* Too many requests from this address.* \*\/\n$/)
  const json = await script(A, 'application/json')
  expect([json.status, JSON.parse(json.text).message]).toEqual([
    429,
    expect.stringContaining('Too many requests'),
  ])
  expect((await script(B)).status).toBe(200)
  expect(await limitedBy('script', 'events')).toBe(2)
})

test('a limited address that may be a proxy is reported once an hour', async () => {
  const reported: string[] = []
  let clock = 0
  await start(
    { address: { events: never(1) } },
    {
      trustedProxies: ['127.0.0.9'],
      monotonicNow: () => clock,
      onUnknownProxy: (peer) => reported.push(peer),
    },
  )
  const forwarded = { 'x-forwarded-for': '203.0.113.7' }
  const postFrom = (peer: string, headers = {}) => post('/t/r?k=SHOPKEY1', EVENT, { peer, headers })
  for (let i = 0; i < 3; i++) await postFrom(B)
  expect((await postFrom('127.0.0.9', forwarded)).status).toBe(200)
  expect((await postFrom('127.0.0.9', forwarded)).status).toBe(429)
  expect((await postFrom(A, forwarded)).status).toBe(200)
  expect(reported).toEqual([])
  for (let i = 0; i < 3; i++) expect((await postFrom(A, forwarded)).status).toBe(429)
  expect(reported).toEqual([A])
  clock += 3_600_000
  for (let i = 0; i < 9; i++) await postFrom(A, forwarded)
  expect(reported).toEqual([A, A])
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../../test/gateway.ts'
import type { Gateway } from '../index.ts'

/** Senders of wrong keys have to wait. Senders of the right key never do. */
let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
let wall = Date.now()

const SHOP = { customerId: 'SHOP', restKey: 'REST-KEY-OF-THE-SHOP', trackingKey: 'TRACKKEY1' }
const OTHER = { customerId: 'OTHER', restKey: 'REST-KEY-OF-ANOTHER', trackingKey: 'TRACKKEY2' }
const EVENT = JSON.stringify({
  event: 'search',
  search_term: 'mug',
  did: 'd-1',
  url: 'https://shop.example/',
  http_user_agent: 'UA/1',
  remote_addr: '203.0.113.9',
})

beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(() => prepared.end())

let starts = 0
/** A gateway of its own. Its monotonic clock does not move by default. */
async function start(monotonicNow = () => 0) {
  const dataDir = `${prepared.folder}/data-${++starts}`
  gateway = await prepared.start({ dataDir, now: () => wall, monotonicNow })
  for (const customer of [SHOP, OTHER]) gateway.customers.add(customer)
}

const post = (target: string, body: unknown, peer: string) =>
  send(gateway.url, target, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    peer,
  })

type Customer = typeof SHOP
type SendKey = (customer: Customer, restKey: string, peer: string) => ReturnType<typeof send>

const signIn: SendKey = ({ customerId }, restKey, peer) =>
  post('/live/login', { customerId, restKey }, peer)
const ENTRIES: [string, SendKey, string][] = [
  ['a sign-in', signIn, 'The customer id or the REST key is wrong'],
  [
    'the REST API',
    ({ customerId }, key, peer) =>
      post(`/api/v1/check-api-credentials?k=${key}&u=${customerId}`, '', peer),
    'The REST key (k) is wrong',
  ],
  [
    'an operation that is not offered',
    ({ customerId }, key, peer) => post(`/api/v1/orders?k=${key}&u=${customerId}`, '', peer),
    'The REST key (k) is wrong',
  ],
  [
    'check-credentials',
    ({ customerId, trackingKey }, key, peer) =>
      post(
        `/api/v1/check-credentials?k=${OTHER.restKey}&u=${OTHER.customerId}`,
        { k: trackingKey, r: key, u: customerId },
        peer,
      ),
    'The tracking key (k), the REST key (r) and the customer id (u) do not belong together',
  ],
  [
    'an event of a server',
    ({ trackingKey }, key, peer) => post(`/t/r?k=${trackingKey}&api_key=${key}`, EVENT, peer),
    'The REST key (api_key) is wrong',
  ],
  [
    'a batch of a server',
    ({ trackingKey }, key, peer) =>
      post(`/t/batch?k=${trackingKey}&api_key=${key}`, { events: [] }, peer),
    'The REST key (api_key) is wrong',
  ],
]

test.each(ENTRIES)(
  '%s: the eleventh wrong key is answered 429, the right key never',
  async (_, sendKey, message) => {
    await start()
    const peer = '127.0.0.3'
    for (let i = 0; i < 10; i++) {
      const { status, text } = await sendKey(SHOP, `guess-${i}`, peer)
      expect([status, JSON.parse(text).message]).toEqual([401, message])
    }
    const waits: number[] = []
    for (let i = 0; i < 20; i++) {
      const { status, headers, text } = await sendKey(SHOP, `guess-${i}`, peer)
      const wait = Number(headers['retry-after'])
      expect([status, JSON.parse(text).message]).toEqual([
        429,
        `${message}, and too many wrong keys were sent. Try again in ${wait} s`,
      ])
      waits.push(wait)
      expect((await sendKey(SHOP, SHOP.restKey, peer)).status).not.toBe(429)
    }
    expect(waits).toEqual([1, 2, 3, 4, ...Array(16).fill(5)])
    // Other customers of this address, and this customer from another address, do not have to wait.
    expect((await sendKey(OTHER, 'guess', peer)).status).toBe(401)
    expect((await sendKey(SHOP, 'guess', '127.0.0.4')).status).toBe(401)
  },
)

test('wrong keys of all routes count together', async () => {
  await start()
  const statuses: number[] = []
  for (let round = 0; round < 3; round++)
    for (const [, sendKey] of ENTRIES)
      statuses.push((await sendKey(SHOP, 'guess', '127.0.0.5')).status)
  expect(statuses).toEqual([...Array(10).fill(401), ...Array(8).fill(429)])
})

test('the right key is accepted at once on every route while wrong keys flood from the same address', async () => {
  await start(() => performance.now())
  let isOver = false
  let wrong = 0
  const flood = async (i: number) => {
    while (!isOver) {
      const [, sendKey] = ENTRIES[i % ENTRIES.length] as (typeof ENTRIES)[number]
      const { status } = await sendKey(SHOP, `guess-${i}-${wrong++}`, '127.0.0.1')
      expect([401, 429]).toContain(status)
    }
  }
  const floods = Array.from({ length: 24 }, (_, i) => flood(i))
  while (wrong < 200) await new Promise(setImmediate)
  for (let i = 0; i < 5; i++)
    for (const [entry, sendKey] of ENTRIES) {
      const { status } = await sendKey(SHOP, SHOP.restKey, '127.0.0.1')
      expect([entry, status]).toEqual([entry, entry.startsWith('an operation') ? 501 : 200])
    }
  isOver = true
  await Promise.all(floods)
})

test('an unknown customer is answered like a wrong key, limited or not', async () => {
  await start()
  const nobody = { ...SHOP, customerId: 'NOBODY' }
  for (let i = 0; i < 12; i++) {
    const [unknown, known] = [
      await signIn(nobody, 'guess', '127.0.0.6'),
      await signIn(SHOP, 'guess', '127.0.0.7'),
    ]
    expect([unknown.status, unknown.text]).toEqual([known.status, known.text])
    expect(unknown.headers['retry-after']).toBe(known.headers['retry-after'])
  }
})

test('setting the clock of the machine limits no request, and operators can sign in', async () => {
  await start(() => performance.now())
  for (let i = 0; i < 12; i++) await signIn(SHOP, 'guess', '127.0.0.8')
  for (const days of [-5, 10, -400]) {
    wall += days * 86_400_000
    const wrong = await signIn(SHOP, 'guess', '127.0.0.8')
    if (wrong.status === 429) expect(Number(wrong.headers['retry-after'])).toBeLessThanOrEqual(5)
    const { status, headers } = await signIn(SHOP, SHOP.restKey, '127.0.0.8')
    expect(status).toBe(200)
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const seen = await send(gateway.url, '/live/customers', { headers: { cookie } })
    expect(JSON.parse(seen.text)).toMatchObject([{ customerId: SHOP.customerId }])
  }
})

test('a sign-in outlives a restart, and every gateway over the folder knows it', async () => {
  await start()
  const { headers } = await signIn(SHOP, SHOP.restKey, '127.0.0.9')
  const cookie = (port: number) => {
    const [pair = ''] = headers['set-cookie']?.[0]?.split(';') ?? []
    return { cookie: `shoptrail-${port}=${pair.slice(pair.indexOf('=') + 1)}` }
  }
  const idsAt = async (at: Gateway) => {
    const { status, text } = await send(at.url, '/live/customers', { headers: cookie(at.port) })
    return status === 200 ? JSON.parse(text).map((one: typeof SHOP) => one.customerId) : status
  }
  const dataDir = `${prepared.folder}/data-${starts}`
  const options = { dataDir, now: () => wall }
  await gateway.close()
  const [first, second] = [await prepared.start(options), await prepared.start(options)]
  expect([await idsAt(first), await idsAt(second)]).toEqual([['SHOP'], ['SHOP']])
  wall += 12 * 3_600_000 - 1
  expect(await idsAt(first)).toEqual(['SHOP'])
  wall += 1
  expect([await idsAt(first), await idsAt(second)]).toEqual([401, 401])
})

test.each<[string, (other: Gateway, cookie: string) => unknown]>([
  [
    'signing out',
    (at, cookie) =>
      send(at.url, '/live/logout', {
        method: 'POST',
        headers: { cookie: `shoptrail-${at.port}=${cookie}`, 'content-type': 'application/json' },
        body: '{}',
      }),
  ],
  ['a new REST key', (at) => at.customers.rotate('SHOP', 'rest')],
  ['the removal of the customer', (at) => at.customers.remove('SHOP')],
  [
    'the end of an overlap',
    (at) => {
      at.customers.rotate('SHOP', 'rest', 60_000)
      wall += 60_000
    },
  ],
])('%s in one gateway ends the session in the others', async (_, end) => {
  await start()
  const dataDir = `${prepared.folder}/data-${starts}`
  const second = await prepared.start({ dataDir, now: () => wall })
  const { headers } = await signIn(SHOP, SHOP.restKey, '127.0.0.10')
  const token = /=([\w-]{43});/.exec(headers['set-cookie']?.[0] ?? '')?.[1] ?? ''
  const statusAt = async ({ url, port }: Gateway) =>
    (await send(url, '/live/customers', { headers: { cookie: `shoptrail-${port}=${token}` } }))
      .status
  expect([await statusAt(gateway), await statusAt(second)]).toEqual([200, 200])
  await end(second, token)
  expect([await statusAt(gateway), await statusAt(second)]).toEqual([401, 401])
})

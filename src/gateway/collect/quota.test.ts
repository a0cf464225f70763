import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf, type Sent, send } from '../../test/gateway.ts'
import { completePayloads } from '../../test/payloads.ts'
import { dayOf } from '../customers/usage.ts'
import type { GivenLimits } from '../http/limits.ts'
import type { Customer, Gateway } from '../index.ts'
import { createQuota } from './quota.ts'

const ORIGIN = 'https://shop.example'
const REST_KEY = 'REST-KEY-OF-THE-SHOP'
const MIDNIGHT = Date.UTC(2026, 10, 29)
const PAYLOAD = {
  did: 'd-1',
  event: 'view_homepage',
  url: 'https://shop.example/ă',
  http_user_agent: 'Mozilla/5.0',
}

let prepared: Awaited<ReturnType<typeof prepareGateway>>
const running: Gateway[] = []
let clock = MIDNIGHT - 3_600_000
let customerId = ''
let trackingKey = ''

beforeAll(async () => {
  prepared = await prepareGateway()
})
afterEach(() => Promise.all(running.splice(0).map((gateway) => gateway.close())))
afterAll(() => prepared.end())

/** A gateway over the same data as the other ones. */
async function start(daily: GivenLimits['daily'] = {}): Promise<Gateway> {
  const gateway = await prepared.start({ limits: { daily }, now: () => clock })
  running.push(gateway)
  return gateway
}

async function startWithCustomer(daily: GivenLimits['daily'] = {}): Promise<Gateway> {
  const gateway = await start(daily)
  const added = gateway.customers.add({ origins: [ORIGIN], restKey: REST_KEY })
  customerId = added.customer.customerId
  trackingKey = added.customer.trackingKey
  return gateway
}

const post = ({ url }: Gateway, target: string, body: unknown, sent: Sent = {}) =>
  send(url, target, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { origin: ORIGIN, 'content-type': 'application/json' },
    ...sent,
  })
const postEvent = (gateway: Gateway, id = randomUUID()) =>
  post(gateway, `/t/r?k=${trackingKey}&id=${id}`, PAYLOAD)
const postBatch = (gateway: Gateway, count: number) =>
  post(gateway, `/t/batch?k=${trackingKey}`, {
    events: Array.from({ length: count }, () => ({ payload: PAYLOAD })),
  })
/** A call of the customer's server. */
const postApi = (gateway: Gateway, path: string, body: unknown) =>
  post(gateway, `/api/v1/${path}?k=${REST_KEY}&u=${customerId}`, body)
const postOrder = (gateway: Gateway, number: number) =>
  postApi(gateway, 'save_order', { ...completePayloads.saveOrder, number })
const statusesOf = async (answers: readonly Promise<{ status: number }>[]) =>
  (await Promise.all(answers)).map(({ status }) => status)
const stored = async (gateway: Gateway) =>
  (await recordsOf(gateway)).filter(({ customer }) => customer === customerId)

/** The quota of the customer, as an operator gets it. */
async function seen(gateway: Gateway) {
  const login = await post(gateway, '/live/login', { customerId, restKey: REST_KEY })
  const cookie = `${login.headers['set-cookie']}`.split(';')[0] as string
  const { text } = await send(gateway.url, '/live/customers', { headers: { cookie } })
  return JSON.parse(text)[0].quota
}

test('events above the quota are refused until the day ends', async () => {
  const gateway = await startWithCustomer({ events: 3 })
  for (let i = 0; i < 3; i++) expect((await postEvent(gateway)).status).toBe(200)
  const id = randomUUID()
  const refused = await postEvent(gateway, id)
  expect(refused.status).toBe(429)
  expect(refused.headers['retry-after']).toBe('3600')
  expect(JSON.parse(refused.text)).toEqual({
    id,
    message: 'The daily quota of this customer is used up. Try again in 3600 s',
  })
  expect((await postBatch(gateway, 2)).status).toBe(429)
  expect(await stored(gateway)).toHaveLength(3)

  clock = MIDNIGHT - 1
  expect((await postEvent(gateway)).headers['retry-after']).toBe('1')
  clock = MIDNIGHT
  expect((await postEvent(gateway)).status).toBe(200)
  expect((await seen(gateway)).events).toEqual({ used: 1, limit: 3 })
  clock = MIDNIGHT - 3_600_000
})

test('the events of pages do not use up the quota of the servers', async () => {
  const gateway = await startWithCustomer({ events: 4 })
  await postBatch(gateway, 4)
  expect((await postEvent(gateway)).status).toBe(429)
  expect((await postOrder(gateway, 1)).status).toBe(200)
  const { updateOrderStatus, addSubscriber, sendCustomApi } = completePayloads
  const calls: [string, unknown][] = [
    ['update_order_status', updateOrderStatus],
    ['add_subscriber', addSubscriber],
    ['custom_events', sendCustomApi],
  ]
  for (const [path, body] of calls) expect((await postApi(gateway, path, body)).status).toBe(200)
  const refused = await postOrder(gateway, 2)
  expect(refused.status).toBe(429)
  expect(JSON.parse(refused.text).message).toBe(
    'The daily quota of this customer’s servers is used up. Try again in 3600 s',
  )
  await gateway.close()
  const again = await start({ events: 4 })
  expect(await seen(again)).toMatchObject({
    events: { used: 4, limit: 4 },
    servers: { events: { used: 4, limit: 4 } },
  })
  expect((await postOrder(again, 2)).status).toBe(429)
})

test('the calls of servers do not use up the quota of the pages', async () => {
  const gateway = await startWithCustomer({ events: 2 })
  for (const number of [1, 2]) expect((await postOrder(gateway, number)).status).toBe(200)
  expect((await postOrder(gateway, 3)).status).toBe(429)
  expect((await postBatch(gateway, 2)).status).toBe(200)
  expect((await postBatch(gateway, 2)).status).toBe(429)
})

test('bytes count as they are stored', async () => {
  const gateway = await startWithCustomer({ bytes: 1_000 })
  while ((await postEvent(gateway)).status === 200);
  const records = await stored(gateway)
  const bytes = records.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0)
  const last = Buffer.byteLength(records.at(-1)?.payload ?? '')
  expect(bytes).toBeGreaterThanOrEqual(1_000)
  expect(bytes - last).toBeLessThan(1_000)
  expect(await seen(gateway)).toEqual({
    events: { used: records.length, limit: 10_000_000 },
    bytes: { used: bytes, limit: 1_000 },
    servers: { events: { used: 0, limit: 10_000_000 }, bytes: { used: 0, limit: 1_000 } },
    secondsLeft: 3_600,
  })
})

test('duplicates and invalid events do not count', async () => {
  const gateway = await startWithCustomer({ events: 3 })
  const id = randomUUID()
  for (let i = 0; i < 5; i++) expect((await postEvent(gateway, id)).status).toBe(200)
  const target = `/t/r?k=${trackingKey}`
  for (let i = 0; i < 5; i++) expect((await post(gateway, target, {})).status).toBe(422)
  expect((await seen(gateway)).events.used).toBe(1)
  expect(await statusesOf([postEvent(gateway), postEvent(gateway)])).toEqual([200, 200])
  expect((await postEvent(gateway)).status).toBe(429)
})

test('many requests at once do not exceed the quota together', async () => {
  const gateway = await startWithCustomer({ events: 5 })
  const statuses = await statusesOf(Array.from({ length: 60 }, () => postEvent(gateway)))
  expect(statuses.filter((status) => status === 200)).toHaveLength(5)
  expect(await stored(gateway)).toHaveLength(5)
})

test('a batch larger than the rest of the quota is stored whole, the next one is refused', async () => {
  const gateway = await startWithCustomer({ events: 10 })
  expect((await postBatch(gateway, 6)).status).toBe(200)
  expect((await postBatch(gateway, 6)).status).toBe(200)
  expect((await postBatch(gateway, 6)).status).toBe(429)
  expect(await stored(gateway)).toHaveLength(12)
})

test('a restart keeps the sums of the day', async () => {
  const gateway = await startWithCustomer({ events: 3 })
  await postBatch(gateway, 2)
  await gateway.close()
  const again = await start({ events: 3 })
  expect((await seen(again)).events).toEqual({ used: 2, limit: 3 })
  expect((await postEvent(again)).status).toBe(200)
  expect((await postEvent(again)).status).toBe(429)
})

test('gateways over one file share the quota', async () => {
  const first = await startWithCustomer({ events: 4 })
  const second = await start({ events: 4 })
  await postBatch(first, 3)
  await expect.poll(async () => (await seen(second)).events.used).toBe(3)
  expect((await postEvent(second)).status).toBe(200)
  expect((await postEvent(second)).status).toBe(429)
  await expect.poll(async () => (await seen(first)).events.used).toBe(4)
  expect((await postEvent(first)).status).toBe(429)
  expect(await stored(first)).toHaveLength(4)
})

test('each customer has a quota of its own, which may differ from the settings', async () => {
  const gateway = await startWithCustomer({ events: 2 })
  await postBatch(gateway, 2)
  const full = trackingKey
  const { customers } = gateway
  const other = customers.add({ origins: [ORIGIN], dailyEvents: 1 }).customer
  trackingKey = other.trackingKey
  expect(await statusesOf([postEvent(gateway)])).toEqual([200])
  expect(await statusesOf([postEvent(gateway)])).toEqual([429])
  trackingKey = full
  expect((await postEvent(gateway)).status).toBe(429)
  customers.change(customerId, { dailyEvents: 3 })
  expect((await postEvent(gateway)).status).toBe(200)
  expect((await postEvent(gateway)).status).toBe(429)
  customers.change(customerId, { dailyEvents: null, dailyBytes: 1 })
  expect(await seen(gateway)).toMatchObject({ events: { limit: 2 }, bytes: { limit: 1 } })
})

test('scripts and lists of campaigns are answered after the quota is used up', async () => {
  const gateway = await startWithCustomer({ events: 1 })
  await postEvent(gateway)
  expect((await postEvent(gateway)).status).toBe(429)
  expect((await send(gateway.url, `/t/j/${trackingKey}`)).status).toBe(200)
  const list = `/api/v1/campaigns/list?k=${REST_KEY}&u=${customerId}`
  expect((await post(gateway, list, {})).status).toBe(200)
})

test('a clock that is set back over midnight finds the sums of that day', () => {
  let now = MIDNIGHT + 1_000
  const quota = createQuota({ events: 10, bytes: 1e6 }, () => now)
  const customer = { customerId: 'c' } as Customer
  const today = { customer: 'c', day: dayOf(now), isServer: false, events: 10, bytes: 5 }
  quota.learn([today, { ...today, day: today.day - 1, events: 3 }])
  expect(quota.check(customer, false)).toMatchObject({ unit: 'events' })
  now = MIDNIGHT - 2_000
  expect(quota.check(customer, false)).toBeUndefined()
  quota.learn([today, { ...today, day: today.day - 1, events: 12 }])
  expect(quota.check(customer, false)).toEqual({ unit: 'events', retryAfterSeconds: 2 })
})

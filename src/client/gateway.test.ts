import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Gateway } from '../gateway/index.ts'
import { startApi } from '../test/api.ts'
import { prepareGateway, recordsOf } from '../test/gateway.ts'
import { completePayloads } from '../test/payloads.ts'
import { type Client, createClient } from './index.ts'

const TRACKING_KEY = 'TRACKKEY1'
const tracking = [
  'viewHomepage',
  'setEmail',
  'viewProduct',
  'addToCart',
  'removeFromCart',
  'addToWishlist',
  'removeFromWishlist',
  'initiateCheckout',
  'search',
] as const

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
let restKey: string
let client: Client

const connect = (options: object = {}): Client =>
  createClient({
    customerId: 'CUST-1',
    restKey,
    trackingKey: TRACKING_KEY,
    baseUrl: gateway.url,
    retries: 0,
    ...options,
  })

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
  restKey = gateway.customers.add({ customerId: 'CUST-1', trackingKey: TRACKING_KEY }).restKey
  client = connect()
})
afterAll(() => prepared.end())

test.each(tracking)('%s is stored as given, with its usual event name', async (operation) => {
  const { event: _, ...payload } = completePayloads[operation]
  const send = client.events[operation] as (payload: object) => Promise<{ readonly id: string }>
  const { id } = await send(payload)
  const record = (await recordsOf(gateway)).find((one) => one.id === id)

  expect(record).toMatchObject({ operation, did: payload.did })
  const name = operation.replace(/[A-Z]/g, '_$&').toLowerCase()
  expect(JSON.parse(record?.payload ?? '')).toEqual({ ...payload, event: name })
})

test('sendCustom is stored with its event name', async () => {
  const { id } = await client.events.sendCustom(completePayloads.sendCustom)
  const record = (await recordsOf(gateway)).find((one) => one.id === id)
  expect(JSON.parse(record?.payload ?? '')).toEqual(completePayloads.sendCustom)
})

test('sendCustomApi is stored without a device', async () => {
  const { id } = await client.events.sendCustomApi(completePayloads.sendCustomApi)
  const record = (await recordsOf(gateway)).find((one) => one.id === id)
  expect(record).toMatchObject({ operation: 'sendCustomApi', did: null })
  expect(JSON.parse(record?.payload ?? '')).toEqual(completePayloads.sendCustomApi)
})

const order = completePayloads.saveOrder

/** The payloads of an operation that are stored, in order. */
const storedOf = async (operation: string) =>
  (await recordsOf(gateway))
    .filter((record) => record.operation === operation)
    .map(({ payload }) => JSON.parse(payload))

test('an order is stored with its amounts in the currency, and the same order only once', async () => {
  const saved = await client.orders.save(order)
  expect(saved).toEqual({ stored: true, id: expect.any(String) })
  // The same content in another form.
  expect(await client.orders.save({ ...order, number: 1001, shipping: '15.0000' })).toEqual({
    stored: false,
  })
  expect(await client.orders.save({ ...order, tax: 20 })).toMatchObject({ stored: true })

  const stored = { ...order, shipping: '15.00', total_value: '1234.50', currency: 'EUR' }
  expect(await storedOf('saveOrder')).toMatchObject(
    ['19.99', '20.00'].map((tax) => ({
      ...stored,
      tax,
      products: [{ price_minor: 61_725 }, { price_minor: 0 }],
      minor: { discount_value: -500, shipping: 1_500, total_value: 123_450 },
    })),
  )
})

test('a status is stored with any characters', async () => {
  const status = { order_number: 'A/7?#&=+%2F', order_status: 'Livrată & plătită + 5% 発送' }
  expect(await client.orders.updateStatus(status)).toMatchObject({ stored: true })
  expect(await storedOf('updateOrderStatus')).toEqual([status])
})

test('a subscriber is stored, and its removal', async () => {
  const { addSubscriber, removeSubscriber } = completePayloads
  expect(await client.subscribers.add(addSubscriber)).toMatchObject({ stored: true })
  expect(await client.subscribers.add(addSubscriber)).toEqual({ stored: false })
  expect(await client.subscribers.remove(removeSubscriber)).toMatchObject({ stored: true })
  expect(await storedOf('addSubscriber')).toEqual([addSubscriber])
  expect(await storedOf('removeSubscriber')).toEqual([removeSubscriber])
})

test('a list that breaks off is an error, and not a part of it', async () => {
  const api = await startApi((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('["ana@shop.example"', () => response.destroy())
  })
  const { subscribers } = connect({ baseUrl: api.url })
  const listed = subscribers.unsubscribed()
  await expect(listed).rejects.toMatchObject({ name: 'ApiException', status: 0 })
  await api.close()
})

test('an order whose answer is lost is sent again and stored once', async () => {
  let requests = 0
  const losing = connect({
    retries: 2,
    fetch: async (url: string, init: RequestInit) => {
      const response = await fetch(url, init)
      if (++requests === 3) return response
      await response.text()
      throw new TypeError('The answer was lost')
    },
  })
  expect(await losing.orders.save({ ...order, number: 'lost' })).toEqual({ stored: false })
  expect(requests).toBe(3)
  const numbers = (await storedOf('saveOrder')).map(({ number }) => number)
  expect(numbers.filter((number) => number === 'lost')).toHaveLength(1)
})

test('an order of 500 products is stored', async () => {
  const products = Array.from({ length: 500 }, (_, n) => ({
    product_id: 1_000_000 + n,
    price: '1,249.99',
    quantity: 1 + n,
    variation_sku: `SHIRT-ORGANIC-BLUE-XXL-${n}`,
  }))
  expect(await client.orders.save({ ...order, number: 'long', products })).toMatchObject({
    stored: true,
  })
})

test('problems lists what went wrong, and how the operations come', async () => {
  const wrong = connect({ restKey: 'wrong-key-123' })
  await expect(wrong.problems()).rejects.toMatchObject({ name: 'UnauthorizedException' })
  await client.events.sendCustomApi(completePayloads.sendCustomApi)
  await vi.waitFor(async () => {
    const { data, coverage } = await client.problems({ timeoutMs: 5_000 })
    expect(data).toMatchObject([
      { reason: 'wrong_key', source: 'gateway', path: 'k', page: '/api/v1/problems' },
    ])
    expect(coverage.find(({ operation }) => operation === 'sendCustomApi')).toMatchObject({
      state: 'comes',
      hour: expect.any(Number),
    })
  }, 5_000)
  const faulty = client.problems({ retries: -1 })
  await expect(faulty).rejects.toMatchObject({ name: 'ValidationException' })
})

test('an event whose answer is lost is stored once, with the time of the call', async () => {
  const at = Date.now() - 5_000
  const ids: string[] = []
  const losing = connect({
    now: () => at,
    retries: 2,
    fetch: async (url: string, init: RequestInit) => {
      ids.push(new URL(url).searchParams.get('id') ?? '')
      const response = await fetch(url, init)
      if (ids.length === 3) return response
      await response.text()
      throw new TypeError('The answer was lost')
    },
  })
  const { id } = await losing.events.viewHomepage(completePayloads.viewHomepage)
  const records = (await recordsOf(gateway)).filter((record) => record.id === id)

  expect(ids).toEqual([id, id, id])
  expect(records).toHaveLength(1)
  expect(records[0]).toMatchObject({ at })
})

test('serveJavascript returns the script with its integrity hash and settings', async () => {
  const served = await client.events.serveJavascript()
  expect(served).toMatchObject({ trackingKey: TRACKING_KEY, config: {} })
  const digest = createHash('sha384').update(served.script).digest('base64')
  expect(served.integrity).toBe(`sha384-${digest}`)
  await expect(client.events.serveJavascript('UNKNOWN1')).rejects.toMatchObject({
    name: 'CustomerNotFoundException',
    status: 404,
  })
})

test('a campaign is created, listed and found', async () => {
  const { create } = completePayloads
  const made = await client.campaigns.create(create)
  expect(made).toMatchObject({ ...create, status: 'scheduled' })
  expect(Date.parse(made.created_at)).not.toBeNaN()
  const sms = await client.campaigns.create({ ...create, type: 'sms' })

  const [madeSummary, smsSummary] = [made, sms].map(({ content, ...summary }) => summary)
  expect(await client.campaigns.getLatestCampaign()).toEqual([smsSummary])
  expect(await client.campaigns.getLatestCampaign(5)).toEqual([smsSummary, madeSummary])
  const listed = await client.campaigns.list({ type: 'email', search: '', limit: '10' })
  expect(listed).toMatchObject({ page: 1, limit: 10, total: 1, data: [{ id: made.id }] })
  expect((await client.campaigns.list()).total).toBe(2)
})

test('the largest campaign is accepted, also with letters that JSON escapes', async () => {
  for (const letter of ['é', '\u0001', '"']) {
    const html = `x${letter.repeat(511_999)}`
    const { content } = await client.campaigns.create({
      ...completePayloads.create,
      content: { html },
    })
    expect(content.html === html).toBe(true)
  }
})

test('an unknown campaign id is not found, with any characters', async () => {
  for (const id of ['nobody', 'a/b', '../list', 'a?x=1', 'a#b', '%2e%2e', 'été', ' ', "'--"])
    await expect(client.campaigns.getEmailReport(id)).rejects.toMatchObject({
      name: id.trim() ? 'CustomerNotFoundException' : 'ValidationException',
    })
})

const calls: ReadonlyArray<(client: Client) => Promise<unknown>> = [
  ({ campaigns }) => campaigns.list(),
  ({ campaigns }) => campaigns.create(completePayloads.create),
  ({ campaigns }) => campaigns.getLatestCampaign(),
  ({ events }) => events.sendCustomApi(completePayloads.sendCustomApi),
  ({ events }) => events.search(completePayloads.search),
  ({ orders }) => orders.save(order),
  ({ orders }) => orders.updateStatus(completePayloads.updateOrderStatus),
  ({ subscribers }) => subscribers.add(completePayloads.addSubscriber),
  ({ subscribers }) => subscribers.remove(completePayloads.removeSubscriber),
  ({ subscribers }) => subscribers.unsubscribed(),
]

test('a wrong key is a 401, an unknown customer a 404', async () => {
  for (const [number, call] of calls.entries()) {
    // From the eleventh wrong key for a customer on, the answer is 429.
    const own = { customerId: `WRONG-${number}`, trackingKey: `WRONGKEY${number}` }
    gateway.customers.add(own)
    const wrongKey = connect({ ...own, restKey: 'wrong-key-123' })
    const unknown = connect({ customerId: 'nobody', trackingKey: 'NOBODY1' })
    for (const [failing, status, name] of [
      [wrongKey, 401, 'UnauthorizedException'],
      [unknown, 404, 'CustomerNotFoundException'],
    ] as const) {
      const error = await call(failing).catch((error: unknown) => error)
      expect(error).toMatchObject({ status, name, mayHaveArrived: false })
    }
  }
})

test('a wrong apiPath is a CustomerNotFoundException', async () => {
  const { campaigns } = connect({ apiPath: '/api/v9' })
  await expect(campaigns.list()).rejects.toMatchObject({ name: 'CustomerNotFoundException' })
})

test('an error of a payload that only the gateway refuses has the issues of the answer', async () => {
  await expect(client.campaigns.list({ page: 'first' })).rejects.toMatchObject({
    name: 'ApiException',
    status: 422,
    issues: [{ path: 'page' }],
  })
})

test('an amount that the currency does not have is refused with its path', async () => {
  const products = [order.products[0], { ...order.products[1], price: '0.001' }]
  await expect(client.orders.save({ ...order, number: 'half', products })).rejects.toMatchObject({
    name: 'ApiException',
    status: 422,
    message: expect.stringContaining('products.1.price'),
    mayHaveArrived: false,
    issues: [{ path: 'products.1.price', message: expect.stringContaining('EUR') }],
  })
})

test('the report of a campaign counts its visits', async () => {
  const { create } = completePayloads
  const tracking = { utm_campaign: 'client', utm_medium: 'email', utm_source: 'letter' }
  const { id } = await client.campaigns.create({ ...create, tracking })
  const visitor = {
    ...completePayloads.viewHomepage,
    did: '3f0e9a52-76c1-4b1e-8d5f-0c6b7a9e1d23',
    http_user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    url: `https://shop.example/?${new URLSearchParams(tracking)}`,
  }
  await client.events.viewProduct({ ...visitor, event: null, product_id: '42' })
  const line = { product_id: 42, quantity: 1, variation: { id: '42', sku: '42' } }
  await client.events.addToCart({ ...visitor, event: null, ...line })

  await expect
    .poll(() => client.campaigns.getEmailReport(id))
    .toMatchObject({
      campaign_id: id,
      visitors: 1,
      events: { view_product: 1, add_to_cart: 1 },
      funnel: { view_product: 1, add_to_cart: 1, initiate_checkout: 0 },
    })

  // A scanner of mails.
  const bot = { ...visitor, did: 'scanner-1', http_user_agent: 'Googlebot/2.1' }
  await client.events.viewHomepage({ ...bot, event: null })
  await expect
    .poll(() => client.campaigns.getEmailReport({ id, bots: 'include' }))
    .toMatchObject({ visitors: 2, bots: { visitors: 1, events: 1, included: true } })
  expect(await client.campaigns.getEmailReport({ id, bots: 'exclude' })).toMatchObject({
    visitors: 1,
    bots: { visitors: 1, events: 1, included: false },
  })
})

test('the addresses that were unsubscribed are listed, oldest first, without those that came back', async () => {
  const { subscribers } = client
  const emails = ['one@list.example', 'Two@list.example', 'three@list.example']
  const before = Math.floor(Date.now() / 1_000)
  for (const email of emails) await subscribers.remove({ email })
  await subscribers.add({ email: 'one@list.example' })
  const listed = async (period?: Parameters<typeof subscribers.unsubscribed>[0]) =>
    (await subscribers.unsubscribed(period)).filter((email) => email.endsWith('@list.example'))
  expect(await listed()).toEqual(emails.slice(1))
  expect(await listed({ date_from: before })).toEqual(emails.slice(1))
  expect(await listed({ date_from: '2020-01-01', date_to: '2020-01-31' })).toEqual([])
  const reversed = subscribers.unsubscribed({ date_from: '2020-02-01', date_to: '2020-01-31' })
  await expect(reversed).rejects.toMatchObject({
    name: 'ApiException',
    status: 422,
    issues: [{ path: 'date_to' }],
  })
})

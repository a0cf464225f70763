import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf, type Sent, send } from '../test/gateway.ts'
import { MAX_DEMO_BYTES } from './demoShop.ts'
import type { Gateway } from './index.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
let now = Date.parse('2026-11-29T10:00:00Z')
beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start({ demo: true, now: () => now })
})
afterAll(() => prepared.end())

async function post(path: string, json: unknown, sent: Sent & { to?: Gateway } = {}) {
  const { to = gateway, ...rest } = sent
  const answer = await send(to.url, `/shop/server/${path}`, {
    method: 'POST',
    body: typeof json === 'string' ? json : JSON.stringify(json),
    headers: { 'content-type': 'application/json' },
    ...rest,
  })
  return { status: answer.status, json: JSON.parse(answer.text) }
}

const ORDER = {
  ...{ email_address: 'ann@example.com', firstname: 'Ann', total_value: '52.90', shipping: '4.90' },
  products: [{ product_id: 12, price: '24.00', quantity: 2, variation_sku: 'MUG-COBALT' }],
}

test('an order of the demo shop gets a number, is stored like that of a real shop, and can be cancelled', async () => {
  const first = await post('order', ORDER)
  const second = await post('order', { ...ORDER, number: 7 })
  expect([first.status, second.status]).toEqual([200, 200])
  const { number } = first.json
  expect(second.json.number).toBe(number + 1)
  now += 60_000
  expect((await post('order', ORDER)).json.number).toBeGreaterThan(number + 1)
  expect(await post('cancel', { number })).toMatchObject({ status: 200, json: { stored: true } })

  const [saved, , , status, ...more] = (await recordsOf(gateway)).map((record) => ({
    ...record,
    payload: JSON.parse(record.payload),
  }))
  expect(more).toEqual([])
  expect(saved).toMatchObject({
    ...{ customer: 'demo', operation: 'saveOrder', event: 'save_order', did: null },
    payload: { number: String(number), total_value: '52.90', currency: 'EUR' },
  })
  expect(status?.payload).toEqual({ order_number: String(number), order_status: 'cancelled' })
})

test('a subscriber of the demo shop comes and goes', async () => {
  const before = (await recordsOf(gateway)).length
  const email = 'ben@example.com'
  expect((await post('subscribe', { email })).json).toMatchObject({ stored: true })
  expect((await post('subscribe', { email })).json).toEqual({ stored: false })
  expect((await post('unsubscribe', { email })).json).toMatchObject({ stored: true })
  const added = (await recordsOf(gateway)).slice(before)
  expect(added.map(({ operation }) => operation)).toEqual(['addSubscriber', 'removeSubscriber'])
})

test.each([
  ['order', {}, 422],
  ['order', { ...ORDER, total_value: '1,2345' }, 422],
  ['order', [], 422],
  ['order', '{', 400],
  ['order', ' '.repeat(MAX_DEMO_BYTES + 1), 413],
  ['cancel', {}, 422],
  ['subscribe', { email: 'ann' }, 422],
  ['unsubscribe', {}, 422],
])('%s of %.20j is refused with %i, and nothing is stored', async (path, json, status) => {
  const before = (await recordsOf(gateway)).length
  const refused = await post(path, json)
  expect(refused).toMatchObject({ status, json: { message: expect.any(String) } })
  expect(await recordsOf(gateway)).toHaveLength(before)
})

test('pages of other origins and other machines can not use it, and it exists only in the demo', async () => {
  // What a page of another origin may send without a preflight.
  const form = { headers: { 'content-type': 'text/plain' } }
  expect((await post('order', ORDER, form)).status).toBe(415)
  const preflight = await send(gateway.url, '/shop/server/order', {
    ...{ method: 'OPTIONS', headers: { origin: 'https://other.example' } },
  })
  expect(preflight.headers).not.toHaveProperty('access-control-allow-origin')
  const json = { 'content-type': 'application/json' }
  for (const headers of [
    { ...json, host: 'shop.example' },
    { ...json, 'x-forwarded-for': '203.0.113.7' },
  ])
    expect((await post('order', ORDER, { headers })).status).toBe(403)
  const real = await prepared.start({})
  expect((await post('order', ORDER, { to: real })).status).toBe(404)
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf } from '../../test/gateway.ts'
import { type Recorded, recorded, replay } from '../../test/recordedOrders.ts'
import type { Gateway } from '../index.ts'

const REST_KEY = 'REST-KEY-00000001'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
  gateway.customers.add({ customerId: 'CUST-1', restKey: REST_KEY })
})
afterAll(() => prepared.end())

const ID = expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)

test('every call is recorded in the shapes in which it is sent', () => {
  const shapes = (operation: string) =>
    new Set(
      recorded
        .filter((one) => one.operation === operation)
        .map(({ sender }) => sender.split(' ')[0]),
    )
  for (const operation of ['saveOrder', 'updateOrderStatus', 'addSubscriber', 'removeSubscriber'])
    expect(shapes(operation)).toEqual(new Set(['plugin', 'client', 'add-on']))
  for (const operation of ['unsubscribedEmails', 'productReviews', 'health'])
    expect(shapes(operation)).toContain('plugin')
})

test.each(recorded.map((one) => [one.operation, one.sender, one] as const))(
  '%s of the %s',
  async (operation, _sender, one) => {
    const { expected } = one
    const before = (await recordsOf(gateway)).length
    const answer = await replay(gateway.port, one)
    expect(answer.text).not.toContain(REST_KEY)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe(
      expected.type ?? 'application/json; charset=utf-8',
    )
    if (expected.body !== undefined) expect(answer.text).toBe(expected.body)
    if (expected.list)
      expect(JSON.parse(answer.text)).toEqual([
        'ana+1@shop.example',
        'ana+3@shop.example',
        'ana+4@shop.example',
        'maria1@shop.example',
        'maria2@shop.example',
      ])
    const records = (await recordsOf(gateway)).slice(before)
    expect(records).toHaveLength(expected.event ? 1 : 0)
    if (!expected.event) return
    const [record] = records
    expect(record).toMatchObject({
      ...{ customer: 'CUST-1', operation, event: expected.event },
      ...{ did: null, bot: false, version: null },
    })
    expect(record?.at).toBe(record?.receivedAt)
    expect(JSON.parse(record?.payload ?? '')).toEqual(expected.payload)
    const json = JSON.parse(answer.text)
    expect(json.id).toEqual(ID)
    expect(record?.id).toBe(json.id)
    if (operation === 'sendCustomApi') return
    expect(json).toEqual({ stored: true, id: ID })

    // Plugins send it again and again.
    const again = await replay(gateway.port, one)
    expect(again).toMatchObject({ status: 200, text: '{"stored":false}' })
    expect(await recordsOf(gateway)).toHaveLength(before + 1)
  },
)

test('an order is the same in each shape, so it is stored once', async () => {
  const { expected, ...order } = recorded[0] as Recorded
  const number = 'the same'
  const products = [{ product_id: '42', price: 617.25, quantity: 2, variation_sku: 'TEE/S+M' }]
  const json = { ...expected.payload, total_value: '1249.5', shipping: '15', products, number }
  const body = order.body.replace('number=1001', 'number=the+same')
  const type = { 'Content-Type': 'application/json' }
  const bodies = [
    { ...order, body },
    { ...order, headers: type, body: JSON.stringify({ ...json, k: REST_KEY, u: 'CUST-1' }) },
    {
      ...order,
      headers: type,
      body: JSON.stringify(json),
      target: `${order.target}?k=${REST_KEY}&u=CUST-1`,
    },
  ]
  const stored: unknown[] = []
  for (const one of bodies) stored.push(JSON.parse((await replay(gateway.port, one)).text).stored)
  expect(stored).toEqual([true, false, false])
})

test('an add-on that writes both credentials in upper case works with those that the gateway makes', async () => {
  const { customer, restKey } = gateway.customers.add({ name: 'Made here' })
  const { customerId } = customer
  const [k, u] = [restKey.toUpperCase(), customerId.toUpperCase()]
  const one = recorded.find(({ sender }) => sender === 'add-on') as Recorded
  const body = JSON.stringify({ ...JSON.parse(one.body), k, u })
  expect(await replay(gateway.port, { ...one, body })).toMatchObject({ status: 200 })
  expect((await recordsOf(gateway)).at(-1)).toMatchObject({ customer: customerId })
})

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { EventLog, LogEvent } from '../gateway/collect/eventLog.ts'
import {
  digestOf,
  type Orders,
  type Place,
  type UnsubscribedRange,
} from '../gateway/orders/orders.ts'
import type { LogPlace } from './appendEvents.ts'
import { appendUntilKilled } from './eventLogContract.ts'
import {
  makeOrder,
  makeRecord,
  RANDOM_ADDRESSES,
  RANDOM_NUMBERS,
  type RecordOperation,
  statesFrom,
} from './orderRecords.ts'

/** The engine under test. */
export type OrdersEngine = {
  readonly log: EventLog
  readonly orders: Orders
  /** The same data, through another gateway if the engine has several. */
  readonly other: Orders
  /** Where the process of appendEvents.ts finds the log. */
  readonly place: LogPlace
  close(): Promise<void>
}

/** Time for an answer of a cluster, ms. Long, for busy machines. */
const PATIENCE = { timeout: 30_000, interval: 20 }

export const makeCustomer = () => `c${randomUUID().slice(0, 8)}`

/** Resolves when it is known: a cluster answers undefined if it is late. */
const known = <Found>(find: () => Promise<Found | undefined>): Promise<Found> =>
  vi.waitFor(async () => {
    const found = await find()
    if (found === undefined) throw new Error('not known yet')
    return found
  }, PATIENCE)

/** Tests that an engine keeps what `Orders` promises. */
export function testOrders(open: () => Promise<OrdersEngine>): void {
  let engine: OrdersEngine
  beforeAll(async () => {
    engine = await open()
  }, 180_000)
  afterAll(() => engine.close())

  const append = (events: readonly LogEvent[]) => engine.log.append(events)
  const save = async (customer: string, payload: object, receivedAt?: number) => {
    const at = receivedAt === undefined ? {} : { receivedAt }
    await append([makeRecord(customer, 'saveOrder', payload, at)])
  }
  const setStatus = (customer: string, order_number: string, order_status: string) =>
    append([makeRecord(customer, 'updateOrderStatus', { order_number, order_status })])
  const find = (customer: string, number: string) =>
    known(() => engine.other.find(customer, number))
  const findSubscriber = (customer: string, email: string) =>
    known(() => engine.other.findSubscriber(customer, email))
  const newest = async (customer: string) => (await engine.log.findTail(customer, 1)).newest

  test('an order is found with its newest content, and contents are counted', async () => {
    const customer = makeCustomer()
    await save(customer, makeOrder('7'), 1_000)
    const first = await find(customer, '7')
    expect(first).toEqual({
      digest: digestOf(JSON.stringify(makeOrder('7'))),
      versions: 1,
      status: null,
      seq: await newest(customer),
      savedAt: 1_000,
    })
    await save(customer, makeOrder('7', 2), 2_000)
    const second = await find(customer, '7')
    expect(second).toEqual({
      ...first,
      digest: digestOf(JSON.stringify(makeOrder('7', 2))),
      versions: 2,
      seq: await newest(customer),
      savedAt: 2_000,
    })
    await save(customer, makeOrder('7'), 3_000)
    expect(await find(customer, '7')).toMatchObject({
      ...first,
      versions: 3,
      seq: expect.any(Number),
      savedAt: 3_000,
    })
  })

  test('an equal content is no new version, also if it is appended twice', async () => {
    const customer = makeCustomer()
    await Promise.all([
      save(customer, makeOrder('1'), 1_000),
      save(customer, makeOrder('1'), 1_000),
    ])
    await save(customer, makeOrder('1'), 5_000)
    expect(await find(customer, '1')).toMatchObject({
      versions: 1,
      savedAt: 1_000,
      seq: await newest(customer),
    })
  })

  test('an id that comes again changes nothing', async () => {
    const customer = makeCustomer()
    const [one, two] = [1, 2].map((content) =>
      makeRecord(customer, 'saveOrder', makeOrder('1', content)),
    ) as [LogEvent, LogEvent]
    await append([one, one])
    await append([two])
    await append([{ ...one, id: one.id.toUpperCase() }])
    expect(await find(customer, '1')).toMatchObject({ versions: 2, digest: digestOf(two.payload) })
  })

  test('an order is found by its customer and its whole number', async () => {
    const [customer, another] = [makeCustomer(), makeCustomer()]
    const numbers = ['12', '012', ' 12', 'AB-12/ü 🛒', 'ab-12/ü 🛒', 'x'.repeat(128)]
    for (const [i, number] of numbers.entries()) await save(customer, makeOrder(number, i + 10))
    for (const [i, number] of numbers.entries())
      expect((await find(customer, number)).digest).toEqual(
        digestOf(JSON.stringify(makeOrder(number, i + 10))),
      )
    await save(another, makeOrder('12', 99))
    expect((await find(another, '12')).versions).toBe(1)
    expect(await engine.other.find(customer, '')).toBeUndefined()
    expect(await engine.other.find(another, '012')).toBeUndefined()
    expect(await engine.orders.find(makeCustomer(), '12')).toBeUndefined()
  })

  test('the newest status counts, also one that came before the order', async () => {
    const customer = makeCustomer()
    await setStatus(customer, '5', 'pending')
    expect(await find(customer, '5')).toEqual({
      digest: new Uint8Array(),
      versions: 0,
      status: 'pending',
      seq: 0,
      savedAt: 0,
    })
    await save(customer, makeOrder('5'))
    expect(await find(customer, '5')).toMatchObject({ versions: 1, status: 'pending' })
    await setStatus(customer, '5', 'Zurückerstattet')
    await save(customer, makeOrder('5', 2))
    expect(await find(customer, '5')).toMatchObject({ versions: 2, status: 'Zurückerstattet' })
  })

  test('an answer is never older than an append that was acknowledged', async () => {
    const customer = makeCustomer()
    for (let content = 1; content <= 20; content++) {
      await save(customer, makeOrder('1', content))
      // Undefined if it is not known in time.
      const found = await engine.other.find(customer, '1')
      expect(found?.versions ?? content).toBe(content)
    }
  })

  test('a subscriber is found by the address in any spelling, and records are counted', async () => {
    const customer = makeCustomer()
    const payload = { email: 'Jürgen@München.example', firstname: 'Jürgen' }
    await append([makeRecord(customer, 'addSubscriber', payload, { receivedAt: 1_000 })])
    const added = {
      digest: digestOf(JSON.stringify(payload)),
      operation: 'addSubscriber',
      subscribed: true,
      versions: 1,
      seq: await newest(customer),
      at: 1_000,
    }
    for (const email of ['jürgen@münchen.example', 'JÜRGEN@xn--mnchen-3ya.example'])
      expect(await findSubscriber(customer, email)).toEqual(added)
    expect(await engine.other.findSubscriber(customer, 'urgen@münchen.example')).toBeUndefined()
    expect(await engine.other.findSubscriber(makeCustomer(), payload.email)).toBeUndefined()

    // The same payload, and another operation.
    await append([makeRecord(customer, 'removeSubscriber', payload, { receivedAt: 2_000 })])
    await append([makeRecord(customer, 'removeSubscriber', payload, { receivedAt: 3_000 })])
    expect(await findSubscriber(customer, payload.email)).toEqual({
      ...added,
      operation: 'removeSubscriber',
      subscribed: false,
      versions: 2,
      seq: await newest(customer),
      at: 2_000,
    })
    await append([makeRecord(customer, 'addSubscriber', payload, { receivedAt: 4_000 })])
    const again = await findSubscriber(customer, payload.email)
    expect(again).toMatchObject({ subscribed: true, versions: 3, at: 4_000 })
  })

  test('a record about other channels does not change whether e-mail may be sent', async () => {
    const customer = makeCustomer()
    const email = 'anna@example.org'
    const states: boolean[] = []
    for (const [operation, channels] of [
      ['removeSubscriber', ['sms']],
      ['removeSubscriber', ['SMS', 'Email']],
      ['addSubscriber', ['push']],
      ['addSubscriber', ['e-mail']],
      ['removeSubscriber', []],
      ['addSubscriber', undefined],
    ] as const) {
      await append([makeRecord(customer, operation, { email, channels })])
      states.push((await findSubscriber(customer, email)).subscribed)
    }
    expect(states).toEqual([true, false, false, true, false, true])
  })

  test('unsubscribed addresses are listed by time, without those that came back', async () => {
    const [customer, another] = [makeCustomer(), makeCustomer()]
    const record = (operation: RecordOperation, email: string, receivedAt: number, of = customer) =>
      makeRecord(of, operation, { email }, { receivedAt })
    await append([
      record('removeSubscriber', 'c@x.test', 3_000),
      record('removeSubscriber', 'A@x.test', 1_000),
      record('addSubscriber', 'new@x.test', 1_500),
      record('removeSubscriber', 'back@x.test', 1_500),
      record('addSubscriber', 'BACK@x.test', 1_600),
      record('removeSubscriber', 'b@x.test', 2_000),
      record('removeSubscriber', 'b2@x.test', 2_000),
      record('removeSubscriber', 'b3@x.test', 2_000),
      record('removeSubscriber', 'other@x.test', 2_000, another),
    ])
    const list = (range: UnsubscribedRange) => engine.other.unsubscribed(customer, range)
    const all = ['A@x.test', 'b@x.test', 'b2@x.test', 'b3@x.test', 'c@x.test']
    expect(await list({ from: 0, to: 9_000 })).toEqual({ addresses: all })
    expect(await list({ from: 1_000, to: 2_000 })).toEqual({ addresses: ['A@x.test'] })
    expect(await list({ from: 1_001, to: 3_000 })).toEqual({ addresses: all.slice(1, 4) })
    expect(await list({ from: 3_001, to: 9_000 })).toEqual({ addresses: [] })
    expect(await list({ from: 9_000, to: 0 })).toEqual({ addresses: [] })

    const pages: (readonly string[])[] = []
    let after: Place | undefined
    do {
      const page = await list({ from: 0, to: 9_000, max: 2, ...(after && { after }) })
      pages.push(page.addresses)
      after = page.next
    } while (after)
    expect(pages).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4)])
  })

  test('a record whose payload no gateway has written stops nothing', async () => {
    const customer = makeCustomer()
    const payloads = ['null', '[]', '"x"', '{}', '{"number":5,"email":5}', '{"order_number":"1"}']
    for (const operation of [
      'saveOrder',
      'updateOrderStatus',
      'addSubscriber',
      'removeSubscriber',
    ] as const)
      await append(payloads.map((payload) => makeRecord(customer, operation, payload)))
    await save(customer, makeOrder('1'))
    expect(await find(customer, '1')).toMatchObject({ versions: 1, status: null })
  })

  test('after kill -9 of a process that appends, the states are those of the log', async () => {
    const customer = makeCustomer()
    await appendUntilKilled(engine.place, customer, 500, 'orders')
    const records = await engine.log.read({ customer, max: 99_999 })
    expect(records.length).toBeGreaterThanOrEqual(500)
    const { orders, subscribers } = statesFrom(records)
    expect([orders.size, subscribers.size]).toEqual([
      RANDOM_NUMBERS.length,
      RANDOM_ADDRESSES.length,
    ])
    for (const [number, order] of orders) expect(await find(customer, number)).toEqual(order)
    for (const [email, subscriber] of subscribers)
      expect(await findSubscriber(customer, email)).toEqual(subscriber)
    const { addresses } = await engine.other.unsubscribed(customer, { from: 0, to: Date.now() })
    const isOut = ([, { subscribed }]: [string, { subscribed: boolean }]) => !subscribed
    expect([...addresses].sort()).toEqual(
      [...subscribers]
        .filter(isOut)
        .map(([email]) => email)
        .sort(),
    )
  })
}

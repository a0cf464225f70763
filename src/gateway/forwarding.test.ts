import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createClient } from '../client/index.ts'
import { RECORD_OPERATIONS } from '../contract/recordOperations.ts'
import { readDayFile } from '../test/dayFile.ts'
import { prepareGateway, recordsOf, send } from '../test/gateway.ts'
import { type Receiver, startReceiver } from '../test/receiver.ts'
import type { LogRecord } from './collect/eventLog.ts'
import type { DestinationGiven } from './forward/forwarding.ts'
import type { Gateway } from './index.ts'
import { createSqliteForwarding } from './sqlite/forwarding.ts'

/** Two whole gateways: one forwards to the other. */

const ORIGIN = 'https://shop.example'
const BROWSER =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36'

/** The fields of an event for Google that the tests read. */
type GoogleEvent = { readonly name: string; readonly params: { readonly transaction_id?: string } }

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let source: Gateway
let target: Gateway
let errors: unknown[]

beforeEach(async () => {
  prepared = await prepareGateway()
  errors = []
  const onError = (error: unknown) => void errors.push(error)
  source = await prepared.start({ onError })
  target = await prepared.start({ dataDir: join(prepared.folder, 'target'), onError })
  source.customers.add({ customerId: 'shop', trackingKey: 'SHOPKEY1', origins: [ORIGIN] })
})
afterEach(() => prepared.end())

function filesOf(folder: string) {
  const pathOf = (name: string) => join(folder, 'data', name)
  return {
    forwardFile: pathOf('forward.db'),
    eventsFile: pathOf('events.db'),
    customersFile: pathOf('customers.db'),
    folder: pathOf('forward'),
  }
}

async function post(event: string, payload: object, query = ''): Promise<string> {
  const id = randomUUID()
  const answer = await send(source.url, `/t/r?k=SHOPKEY1&id=${id}${query}`, {
    method: 'POST',
    headers: { origin: ORIGIN, 'user-agent': BROWSER },
    body: JSON.stringify({ event, did: 'd-1', url: 'https://shop.example/', ...payload }),
  })
  expect(answer.status).toBe(200)
  return id
}

test('another gateway stores what it gets from two destinations once, as it was stored first', async () => {
  const { restKey } = target.customers.add({ customerId: 'ACME', trackingKey: 'ACMEKEY1' })
  expect(existsSync(join(prepared.folder, 'data/forward.db'))).toBe(false)
  expect(await source.forwarding.list()).toEqual([])
  await post('view_page', {})
  await post('view_product', { product_id: '12' }, `&at=${Date.now() - 60_000}`)
  const line = { product_id: 12, quantity: 2, variation: { id: '12-1', sku: 'MUG' } }
  await post('add_to_cart', line)
  await post('search', { search_term: 'blue mug' })
  await post('quiz_done', { email: 'anna@example.org' })
  for (const name of ['one', 'two'])
    expect(
      await source.forwarding.add({
        ...{ customer: 'shop', kind: 'service', name, from: 'beginning' },
        settings: {
          ...{ baseUrl: target.url, customerId: 'ACME', trackingKey: 'ACMEKEY1' },
          restKey,
        },
      }),
    ).toMatchObject({ ok: true })
  await vi.waitFor(
    async () =>
      expect(await source.forwarding.list('shop')).toMatchObject([
        { delivered: 5, lagEvents: 0, failed: 0, letters: 0 },
        { delivered: 5, lagEvents: 0, failed: 0, letters: 0 },
      ]),
    { timeout: 20_000 },
  )
  const stored = await recordsOf(source)
  const arrived = await recordsOf(target)
  const comparable = (records: typeof stored) =>
    records.map(({ id, at, operation, event, did, payload }) => ({
      ...{ id, at, operation, event, did, payload },
    }))
  expect(comparable(arrived)).toEqual(comparable(stored))
  expect(errors).toEqual([])
})

describe('orders and subscribers', () => {
  const ORDER = {
    number: 1042,
    email_address: 'ana@shop.example',
    phone: '+40 712 345 678',
    firstname: 'Ana',
    lastname: 'Pop',
    city: 'Cluj',
    discount_value: -5,
    discount_code: '',
    shipping: 15,
    total_value: '1,249.50',
    products: [{ product_id: 42, price: '617.25', quantity: 2, variation_sku: 'MUG' }],
  }
  let receiver: Receiver
  let restKey: string
  let shop: ReturnType<typeof createClient>

  beforeEach(async () => {
    receiver = await startReceiver()
    restKey = target.customers.add({ customerId: 'ACME', trackingKey: 'ACMEKEY1' }).restKey
    const shopKey = source.customers.add({ customerId: 'shop2', trackingKey: 'SHOPKEY2' }).restKey
    shop = createClient({ baseUrl: source.url, customerId: 'shop2', restKey: shopKey })
  })
  afterEach(() => receiver.close())

  const forward = async (given: Omit<DestinationGiven, 'customer'>): Promise<string> => {
    const added = await source.forwarding.add({ customer: 'shop2', ...given })
    if (!added.ok) throw new Error(added.faults.join())
    return added.destination.id
  }
  const toTarget = (given: Partial<DestinationGiven> = {}) =>
    forward({
      kind: 'service',
      operations: RECORD_OPERATIONS,
      settings: { baseUrl: target.url, customerId: 'ACME', trackingKey: 'ACMEKEY1', restKey },
      ...given,
    })
  const isSent = (ids: readonly string[]) =>
    vi.waitFor(
      async () => {
        const list = await source.forwarding.list('shop2')
        for (const id of ids)
          expect(list.find(({ destination }) => destination.id === id)).toMatchObject({
            lagEvents: 0,
            failed: 0,
            letters: 0,
          })
      },
      { timeout: 20_000 },
    )
  const contentOf = (records: readonly LogRecord[]) =>
    records.map(({ operation, event, did, payload }) => ({
      ...{ operation, event, did, payload: JSON.parse(payload) },
    }))

  async function sendAll(): Promise<void> {
    await shop.orders.updateStatus({ order_number: 1042, order_status: 'pending' })
    await shop.orders.save(ORDER)
    // Nothing new, so there is nothing to send.
    await shop.orders.save({ ...ORDER, total_value: 1249.5 })
    await shop.orders.save({ ...ORDER, total_value: 1200, discount_value: '-54.50' })
    await shop.orders.updateStatus({ order_number: '1042', order_status: 'Rambursată & anulată' })
    await shop.subscribers.add({
      email: 'Ana@Shop.example',
      add_tags: ['footer', 'spring'],
      birthday: '1990-02-28',
      attributes: { size: 'M', loyal: true },
    })
    await shop.subscribers.remove({ email: 'ana@shop.example', channels: 'email' })
  }

  test('arrive at another gateway equal, each once, in order', async () => {
    const ids = [await toTarget(), await toTarget()]
    await sendAll()
    await isSent(ids)
    const stored = contentOf((await recordsOf(source)).filter(({ did }) => did === null))
    expect(stored.map(({ operation }) => operation)).toEqual([
      ...['updateOrderStatus', 'saveOrder', 'saveOrder', 'updateOrderStatus'],
      ...['addSubscriber', 'removeSubscriber'],
    ])
    const arrived = contentOf(await recordsOf(target))
    const about = (records: typeof stored, operations: string[]) =>
      records.filter(({ operation }) => operations.some((word) => operation.includes(word)))
    // Each of the two destinations sends everything, at its own pace: what is already there is not stored again.
    const newest = (records: typeof stored, operation: string) =>
      records.filter((record) => record.operation === operation).at(-1)
    for (const operation of RECORD_OPERATIONS)
      expect(newest(arrived, operation)).toEqual(newest(stored, operation))
    for (const words of [['Order'], ['Subscriber']])
      for (const record of about(stored, words))
        expect(about(arrived, words)).toContainEqual(record)
  })

  test('of one destination arrive without repetition', async () => {
    const id = await toTarget()
    await sendAll()
    await isSent([id])
    const stored = contentOf(await recordsOf(source))
    const arrived = contentOf(await recordsOf(target))
    for (const word of ['Order', 'Subscriber']) {
      const about = (records: typeof stored) =>
        records.filter(({ operation }) => operation.includes(word))
      expect(about(arrived)).toEqual(about(stored))
    }
    expect(arrived).toHaveLength(6)
  })

  test('come to a webhook and a file as they are stored, without what is left out', async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const operations = ['saveOrder', 'addSubscriber'] as const
    const leaveOut = ['address', 'phone', 'attributes']
    const ids = [
      await forward({
        kind: 'webhook',
        operations,
        leaveOut,
        settings: { url: receiver.url, secret },
      }),
      await forward({ kind: 'file', operations, leaveOut, settings: {} }),
    ]
    await sendAll()
    await isSent(ids)
    const sent = receiver.received.flatMap(
      ({ body }) => (JSON.parse(body) as { events: Record<string, unknown>[] }).events,
    )
    const expected = (await recordsOf(source))
      .filter(({ operation }) => (operations as readonly string[]).includes(operation))
      .map(({ id, at, receivedAt, operation, event, payload }) => {
        const { address: _, phone: __, attributes: ___, ...rest } = JSON.parse(payload)
        return { id, at, receivedAt, operation, event, did: null, payload: rest }
      })
    expect(sent).toEqual(expected)
    expect(expected[0]?.payload).toMatchObject({
      number: '1042',
      total_value: '1249.50',
      minor: { total_value: 124950, discount_value: -500 },
      currency: 'EUR',
    })
    const folder = join(prepared.folder, 'data/forward', ids[1] as string)
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.part'))
    expect(readDayFile(join(folder, file))).toEqual(expected)
  })

  test('a dead letter does not overwrite what its order got later', async () => {
    target.customers.change('ACME', { currency: 'JPY' })
    const id = await toTarget({ operations: ['saveOrder', 'updateOrderStatus'] })
    const lettersOf = async () => (await source.forwarding.letters('shop2', id))?.letters ?? []
    const isSettled = (expected: object) =>
      vi.waitFor(
        async () => expect(await source.forwarding.list('shop2')).toMatchObject([expected]),
        { timeout: 20_000 },
      )
    const yen = { ...ORDER, total_value: 1249, products: [] }
    // Yen have no decimals.
    await shop.orders.save({ ...yen, total_value: 1249.5 })
    await shop.orders.save({ ...yen, number: 7, total_value: 1.5 })
    await shop.orders.save(yen)
    await isSettled({ lagEvents: 0, delivered: 1, letters: 2 })
    target.customers.change('ACME', { currency: 'EUR' })
    await source.forwarding.replay('shop2', id)
    // That of the other order is delivered.
    await isSettled({ delivered: 2, letters: 1 })
    await vi.waitFor(
      async () =>
        expect(await lettersOf()).toMatchObject([
          {
            isReplayed: false,
            reason: expect.stringContaining('newer content or status of the same order'),
          },
        ]),
      { timeout: 20_000 },
    )
    const totals = (await recordsOf(target)).map(({ payload }) => {
      const { number, total_value } = JSON.parse(payload)
      return [number, total_value]
    })
    expect(totals).toEqual([
      ['1042', '1249'],
      ['7', '1.50'],
    ])
  })

  test('are refunds for Google by the statuses of the customer, also after a change of them', async () => {
    const google = { measurementId: 'G-ABC1234567', apiSecret: 'secret-1', endpoint: receiver.url }
    const operations = ['updateOrderStatus'] as const
    const all = await forward({ kind: 'ga4', operations, settings: google })
    const own = { ...google, measurementId: 'G-OWN1234567', refundStatuses: ['lost'] }
    const ids = [all, await forward({ kind: 'ga4', operations, settings: own })]
    const numbers = (measurementId: string) =>
      receiver.received
        .filter(({ path }) => path.includes(measurementId))
        .flatMap(({ body }) => (JSON.parse(body) as { events: GoogleEvent[] }).events)
        .map(({ name, params }) => [name, params.transaction_id])
    const setStatus = (order_number: string, order_status: string) =>
      shop.orders.updateStatus({ order_number, order_status })
    await setStatus('1', 'Refunded')
    await setStatus('2', 'Retur')
    await isSent(ids)
    source.customers.change('shop2', { refundStatuses: ['retur'] })
    await setStatus('3', 'Refunded')
    await setStatus('4', 'Retur')
    await setStatus('5', 'Lost')
    await isSent(ids)
    expect(numbers('G-ABC1234567')).toEqual([
      ['refund', '1'],
      ['refund', '4'],
    ])
    expect(numbers('G-OWN1234567')).toEqual([['refund', '5']])
  })

  test('of another currency are refused if they can not be exact in it', async () => {
    target.customers.change('ACME', { currency: 'JPY' })
    const id = await toTarget()
    await shop.orders.save({ ...ORDER, total_value: 1249.5 })
    await shop.orders.save({ ...ORDER, number: 7, total_value: 1249, products: [] })
    await vi.waitFor(
      async () =>
        expect(await source.forwarding.list('shop2')).toMatchObject([
          { lagEvents: 0, delivered: 1, letters: 1 },
        ]),
      { timeout: 20_000 },
    )
    const page = await source.forwarding.letters('shop2', id)
    expect(page?.letters[0]).toMatchObject({
      operation: 'saveOrder',
      reason: expect.stringContaining('total_value'),
    })
    expect(await recordsOf(target)).toMatchObject([{ operation: 'saveOrder' }])
  })
})

test('a wrong key is told, and everything arrives when it is corrected', async () => {
  const { restKey } = target.customers.add({ customerId: 'ACME', trackingKey: 'ACMEKEY1' })
  const added = await source.forwarding.add({
    ...{ customer: 'shop', kind: 'service' },
    settings: {
      ...{ baseUrl: target.url, customerId: 'ACME', trackingKey: 'ACMEKEY1' },
      restKey: 'a wrong key of the service',
    },
  })
  const id = added.ok ? added.destination.id : ''
  const sent = [await post('view_page', {}), await post('view_page', {})]
  await vi.waitFor(
    async () =>
      expect(await source.forwarding.list('shop')).toMatchObject([
        {
          state: {
            name: 'waiting',
            reason: expect.stringMatching(/^Check restKey and trackingKey\. .*answered 401/),
          },
          letters: 0,
        },
      ]),
    { timeout: 20_000 },
  )
  await source.forwarding.change('shop', id, { settings: { restKey } })
  await vi.waitFor(async () => expect(await recordsOf(target)).toHaveLength(2), { timeout: 20_000 })
  expect((await recordsOf(target)).map((record) => record.id)).toEqual(sent)
})

test('a thread that ends is started again, and continues', async () => {
  const { restKey } = target.customers.add({ customerId: 'ACME', trackingKey: 'ACMEKEY1' })
  const workerFile = pathToFileURL(join(prepared.folder, 'dist/ending-forward-worker.js'))
  // Ends at the first list, and otherwise works like the real one.
  writeFileSync(
    workerFile,
    `import { existsSync, writeFileSync } from 'node:fs'
     import { parentPort, workerData } from 'node:worker_threads'
     const mark = workerData.forwardFile + '.ended'
     await import('./forward-worker.js')
     parentPort.on('message', ({ name }) => {
       if (name !== 'list' || existsSync(mark)) return
       writeFileSync(mark, '')
       process.exit(7)
     })`,
  )
  const ends: Error[] = []
  const forwarding = createSqliteForwarding({
    ...filesOf(prepared.folder),
    workerFile,
    onEnd: (error) => ends.push(error),
    backoff: { baseMs: 10 },
  })
  const settings = { baseUrl: target.url, customerId: 'ACME', trackingKey: 'ACMEKEY1', restKey }
  expect(await forwarding.add({ customer: 'shop', kind: 'service', settings })).toMatchObject({
    ok: true,
  })
  await expect(forwarding.list()).rejects.toThrow('The forwarding')
  expect(ends).toHaveLength(1)
  // Not by a call: it must continue by itself.
  await post('view_page', {})
  await vi.waitFor(async () => expect(await recordsOf(target)).toHaveLength(1), { timeout: 20_000 })
  await vi.waitFor(async () => expect(await forwarding.list()).toHaveLength(1))
  await forwarding.close()
  await expect(forwarding.list()).rejects.toThrow('closed')
})

test('a file that could not be read at the start is read again, also if nobody changes it', async () => {
  const { restKey } = target.customers.add({ customerId: 'ACME', trackingKey: 'ACMEKEY1' })
  const settings = { baseUrl: target.url, customerId: 'ACME', trackingKey: 'ACMEKEY1', restKey }
  await source.forwarding.add({ customer: 'shop', kind: 'service', settings, isPaused: true })
  await post('view_page', {})
  await source.close()
  const other = new Database(join(prepared.folder, 'data/forward.db'))
  // In this mode readers wait for a writer, as they do in others while a file is repaired.
  other.pragma('journal_mode = DELETE')
  other.exec('UPDATE destinations SET paused = 0')
  other.exec('BEGIN EXCLUSIVE')
  const faults: string[] = []
  const forwarding = createSqliteForwarding({
    ...filesOf(prepared.folder),
    workerFile: pathToFileURL(join(prepared.folder, 'dist/forward-worker.js')),
    onError: ({ message }) => faults.push(message),
  })
  // Not reported at once, since it is usually over at the next look.
  expect(faults).toEqual([])
  await vi.waitFor(() => expect(faults).toEqual(['database is locked']), { timeout: 20_000 })
  other.exec('ROLLBACK')
  other.close()
  await vi.waitFor(async () => expect(await recordsOf(target)).toHaveLength(1), { timeout: 20_000 })
  await forwarding.close()
})

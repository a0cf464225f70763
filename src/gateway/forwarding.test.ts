import { randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { prepareGateway, recordsOf, send } from '../test/gateway.ts'
import type { Gateway } from './index.ts'
import { createSqliteForwarding } from './sqlite/forwarding.ts'

/** Two whole gateways: one forwards to the other. */

const ORIGIN = 'https://shop.example'
const BROWSER =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36'

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

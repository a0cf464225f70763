import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Answer, prepareGateway, send } from '../../test/gateway.ts'
import { type Receiver, startReceiver, status } from '../../test/receiver.ts'
import type { ShownDestination } from '../forward/forwarding.ts'
import { LOG_OPERATIONS, type LogOperation } from '../forward/operations.ts'
import type { Gateway } from '../index.ts'

/** The data of the forwarding page, over real sockets, with the real thread and a real receiver. */
let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
let receiver: Receiver
/** Cookies of an operator who may see the shop. */
let cookie = ''

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
/** An operator on another machine. */
const REMOTE = { host: 't.shop.example' }

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
  const { restKey } = gateway.customers.add({ customerId: 'shop' })
  gateway.customers.add({ customerId: 'other' })
  const answer = await post('/live/login', { customerId: 'shop', restKey }, REMOTE)
  cookie = answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
})
afterAll(() => prepared.end())
beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(async () => {
  for (const { destination } of await gateway.forwarding.list())
    await gateway.forwarding.remove(destination.customer, destination.id)
  await receiver.close()
})

const post = (target: string, body: unknown, headers: Record<string, string> = {}) =>
  send(gateway.url, target, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
const ask = (path: string, body: unknown, query = 'customer=shop', headers = {}) =>
  post(`/forward/data/${path}?${query}`, body, { ...REMOTE, cookie, ...headers })
const list = (query = 'customer=shop', headers: Record<string, string> = { cookie }) =>
  send(gateway.url, `/forward/data/list?${query}`, { headers: { ...REMOTE, ...headers } })
const jsonOf = ({ text }: Answer) => JSON.parse(text)

async function addDestination(customer = 'shop', name = 'Own'): Promise<ShownDestination> {
  const added = await gateway.forwarding.add({
    customer,
    kind: 'webhook',
    name,
    settings: { url: `${receiver.url}/path-that-is-a-password`, secret: SECRET },
  })
  if (!added.ok) throw new Error(added.faults.join())
  return added.destination
}

/** Stores product views, or searches, of the shop. */
async function store(count: number, operation: 'viewProduct' | 'search' = 'viewProduct') {
  const event = operation === 'search' ? 'search' : 'view_product'
  await gateway.log.append(
    Array.from({ length: count }, (_, i) => ({
      customer: 'shop',
      id: randomUUID(),
      at: Date.now(),
      receivedAt: Date.now(),
      operation,
      event,
      did: `d${i}`,
      bot: false,
      version: null,
      payload: JSON.stringify({
        did: `d${i}`,
        event,
        url: 'https://shop.example/',
        http_user_agent: 'Mozilla/5.0',
        remote_addr: '203.0.113.7',
        ...(operation === 'search' ? { search_term: 'mug' } : { product_id: `p${i}` }),
      }),
    })),
  )
}

/** Waits until the destination has so many dead letters, and returns the first page of them. */
async function lettersOf(destination: string, count: number) {
  let page = { count: -1, letters: [] as { seq: number; payload: object }[] }
  await vi.waitFor(
    async () => {
      page = jsonOf(await ask('letters', { destination }))
      expect(page.count).toBe(count)
    },
    { timeout: 20_000 },
  )
  return page
}

/** Refuses events until they have the source `mended`. */
const refuseUnmended = () =>
  receiver.answer(({ body }, response) => {
    const { events } = JSON.parse(body) as { events: { payload: { source?: string } }[] }
    const isMended = events.every(({ payload }) => payload.source === 'mended')
    response.writeHead(isMended ? 200 : 422).end()
  })

test('the list says in words which operations a destination gets', async () => {
  const { id } = await addDestination()
  const limitsOf = async (operations: readonly LogOperation[]) => {
    await gateway.forwarding.change('shop', id, { operations })
    return jsonOf(await list()).data[0].limits
  }
  expect(await limitsOf(LOG_OPERATIONS)).toBe('all events, orders and subscribers')
  expect(await limitsOf(['search', 'saveOrder'])).toBe('search, saveOrder')
  expect(await limitsOf([])).toBe('')
})

test('the list has what a destination does, and no setting of it', async () => {
  const { id } = await addDestination()
  await store(2)
  await vi.waitFor(
    async () =>
      expect(jsonOf(await list()).data).toEqual([
        {
          id,
          kind: 'webhook',
          name: 'Own',
          receives: receiver.url,
          limits: '',
          leaveOut: [],
          takesCookieless: false,
          takesBots: false,
          state: { name: 'running', since: null, reason: null, nextAt: null },
          lagEvents: 0,
          lagMs: 0,
          delivered: 2,
          failed: 0,
          lost: 0,
          letters: 0,
        },
      ]),
    { timeout: 20_000 },
  )
  const { text, headers } = await list()
  expect(text).not.toMatch(/whsec|password/)
  expect(headers['cache-control']).toBe('no-store')
})

test('a destination is paused and resumed', async () => {
  const { id } = await addDestination()
  expect((await ask('pause', { destination: id, isPaused: true })).status).toBe(200)
  expect(jsonOf(await list()).data[0].state.name).toBe('paused')
  await store(1)
  expect((await ask('pause', { destination: id, isPaused: false })).status).toBe(200)
  await receiver.wait(1)
})

test('letters are filtered, previewed, mended and sent again', async () => {
  refuseUnmended()
  const { id } = await addDestination()
  await store(2)
  await store(1, 'search')
  const { letters } = await lettersOf(id, 3)
  const reason = 'The receiver refused it (HTTP 422)'
  expect(letters[0]).toMatchObject({ operation: 'viewProduct', reason, patch: null })
  expect(letters[0]?.payload).toMatchObject({ product_id: 'p0', url: 'https://shop.example/' })
  const page = jsonOf(await ask('letters', { destination: id, operation: 'search', reason }))
  expect(page).toMatchObject({ count: 1, letters: [{ operation: 'search' }] })
  expect(page.groups).toEqual([
    { operation: 'viewProduct', reason, count: 2 },
    { operation: 'search', reason, count: 1 },
  ])

  const patch = { source: 'mended', url: 7 }
  const seqs = [letters[1]?.seq]
  expect(jsonOf(await ask('preview', { destination: id, seqs, patch })).data).toEqual([
    {
      seq: seqs[0],
      operation: 'viewProduct',
      before: letters[1]?.payload,
      fault: expect.stringContaining('The mended payload is invalid: '),
    },
  ])
  const right = { source: 'mended' }
  const all = { destination: id, patch: right }
  expect(jsonOf(await ask('preview', all)).data).toEqual(
    letters.map(({ payload }) =>
      expect.objectContaining({ before: payload, after: { ...payload, ...right } }),
    ),
  )
  // The preview has changed nothing.
  expect(jsonOf(await ask('letters', { destination: id })).letters).toEqual(letters)

  expect(jsonOf(await ask('mend', { ...all, seqs }))).toEqual({ count: 1 })
  expect(jsonOf(await ask('replay', { destination: id }))).toEqual({ count: 3 })
  await lettersOf(id, 2)
  expect(jsonOf(await ask('mend', { ...all, operation: 'search' }))).toEqual({ count: 1 })
  expect(jsonOf(await ask('replay', { destination: id, operation: 'search' }))).toEqual({
    count: 1,
  })
  expect((await lettersOf(id, 1)).letters[0]?.seq).toBe(letters[0]?.seq)
  expect(jsonOf(await list()).data[0]).toMatchObject({ delivered: 2, letters: 1 })
})

test('letters are discarded only with a confirmation', async () => {
  receiver.answer(status(422))
  const { id } = await addDestination()
  await store(3)
  const { letters } = await lettersOf(id, 3)
  expect(await ask('discard', { destination: id })).toMatchObject({ status: 422 })
  const seqs = letters.slice(0, 2).map(({ seq }) => seq)
  expect(jsonOf(await ask('discard', { destination: id, seqs, discard: true }))).toEqual({
    count: 2,
  })
  expect(jsonOf(await ask('discard', { destination: id, discard: true }))).toEqual({ count: 1 })
  await lettersOf(id, 0)
})

describe('refused are', () => {
  const ACTIONS = ['letters', 'preview', 'mend', 'replay', 'discard', 'pause']
  const bodyFor = (destination: string) => ({
    destination,
    patch: {},
    discard: true,
    isPaused: true,
  })

  test('those who are not signed in, or not to this customer', async () => {
    const { id } = await addDestination('other')
    expect((await list('customer=shop', {})).status).toBe(401)
    expect((await list('customer=other')).status).toBe(403)
    for (const action of ACTIONS) {
      expect((await ask(action, bodyFor(id), 'customer=shop', { cookie: '' })).status).toBe(401)
      expect((await ask(action, bodyFor(id), 'customer=other')).status).toBe(403)
    }
  })

  test('destinations of other customers, as if there were none', async () => {
    const { id } = await addDestination('other')
    for (const action of ACTIONS) {
      const answer = await ask(action, bodyFor(id))
      expect([action, answer.status]).toEqual([action, 404])
      expect(answer.text).toBe('{"message":"This destination was removed"}')
    }
    const [{ destination } = { destination: undefined }] = await gateway.forwarding.list('other')
    expect(destination?.isPaused).toBe(false)
  })

  test('forms of other pages, which can not send JSON', async () => {
    for (const action of ACTIONS) {
      const headers = { 'content-type': 'text/plain' }
      expect((await ask(action, '{}', 'customer=shop', headers)).status).toBe(415)
    }
  })

  test.each([
    ['mend', { patch: [] }, /patch/],
    ['mend', { patch: 'x' }, /patch/],
    ['mend', {}, /patch/],
    ['mend', { patch: { a: 'x'.repeat(20_000) } }, /16384 bytes/],
    ['replay', { seqs: ['1'] }, /seqs/],
    ['replay', { seqs: Array(21).fill(1) }, /seqs/],
    ['replay', { seqs: [0.5] }, /seqs/],
    ['replay', { destination: 7 }, /destination/],
    ['letters', { after: '1' }, /after/],
    ['pause', { isPaused: 1 }, /isPaused/],
  ])('wrong bodies of %s: %j', async (action, body, message) => {
    const { id } = await addDestination()
    const answer = await ask(action, { destination: id, ...body })
    expect(answer.status).toBe(422)
    expect(jsonOf(answer).message).toMatch(message)
  })

  test('bodies that are too long', async () =>
    expect((await ask('mend', { destination: 'x'.repeat(40_000) })).status).toBe(413))
})

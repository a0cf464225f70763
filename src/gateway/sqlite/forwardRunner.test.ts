import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { type Handle, type Receiver, startReceiver, status } from '../../test/receiver.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import type { DestinationGiven, DestinationState } from '../forward/forwarding.ts'
import { KINDS } from '../forward/kinds.ts'
import { toCells } from './cells.ts'
import { createDestinations, type Destinations } from './destinations.ts'
import { type ForwardLog, openForwardLog } from './forwardLog.ts'
import { type Runner, startRunner } from './forwardRunner.ts'
import { type ForwardStore, openForwardStore } from './forwardStore.ts'
import { openStore, type Store } from './store.ts'

/** Forwarding with real files and real sockets. Only the clock is that of the test. */

/** Long, for busy machines: a test sends a thousand requests. */
vi.setConfig({ testTimeout: 180_000 })
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

let folder: string
let events: Store
let clock: number
let closing: (() => unknown)[]
let errors: unknown[]
/** Each state of each destination, in order. */
let states: (DestinationState & { readonly id: string })[]
let customers: Set<string>
let main: Gateway
let receiver: Receiver
let nextEvent: number

type Gateway = {
  readonly store: ForwardStore
  readonly log: ForwardLog
  readonly destinations: Destinations
  readonly runner: Runner
}

beforeEach(async () => {
  folder = makeFolder()
  events = openStore(join(folder, 'events.db'))
  clock = Date.UTC(2026, 10, 29, 12)
  closing = []
  errors = []
  states = []
  nextEvent = 1
  customers = new Set(['shop'])
  main = startGateway('main')
  receiver = await listen()
})
afterEach(async () => {
  for (const close of closing.reverse()) await close()
  events.close()
  rmSync(folder, { recursive: true })
  expect(errors).toEqual([])
})

/** The forwarding of one gateway over the folder. */
function startGateway(owner: string): Gateway {
  const store = openForwardStore(join(folder, 'forward.db'))
  const log = openForwardLog(join(folder, 'events.db'))
  const shared = {
    store,
    log,
    kinds: KINDS,
    isCustomer: (customer: string) => customers.has(customer),
    now: () => clock,
  }
  const runner = startRunner({
    ...shared,
    refundStatuses: () => ['refunded'],
    folder: join(folder, 'forward'),
    owner,
    fetch,
    onState: ({ id }, state) => states.push({ id, ...state }),
    onError: (error) => errors.push(error),
  })
  closing.push(
    () => store.close(),
    () => log.close(),
    () => runner.stop(),
  )
  return { store, log, runner, destinations: createDestinations(shared) }
}

async function listen(): Promise<Receiver> {
  const started = await startReceiver()
  started.answer(OK)
  closing.push(started.close)
  return started
}

const OK = status(200, { 'content-type': 'application/json' }, '{"id":"x"}')

function add(to: Receiver = receiver, given: Partial<DestinationGiven> = {}): string {
  const added = main.destinations.add({
    customer: 'shop',
    kind: 'service',
    settings: {
      baseUrl: to.url,
      customerId: 'ACME',
      restKey: 'a secret of the service',
      trackingKey: 'TRACK123',
    },
    ...given,
  })
  if (!added.ok) throw new Error(added.faults.join())
  main.runner.look()
  return added.destination.id
}

const idOf = (n: number) => `0190f3a2-7c41-7d11-9a3e-${String(n).padStart(12, '0')}`

/** Stores one event for each device. Returns their numbers. */
function append(dids: readonly string[], given: Partial<LogEvent> = {}): number[] {
  const numbers = dids.map(() => nextEvent++)
  const made = dids.map((did, i) => ({
    customer: 'shop',
    id: idOf(numbers[i] as number),
    at: clock,
    receivedAt: clock,
    operation: 'search',
    event: 'search',
    did,
    bot: false,
    version: null,
    cookieless: false,
    payload: JSON.stringify({
      did,
      event: 'search',
      url: 'https://shop.example/',
      http_user_agent: 'Mozilla/5.0',
      remote_addr: '203.0.113.7',
      search_term: `${numbers[i]}`,
    }),
    ...given,
  }))
  events.append(toCells(made))
  main.runner.look()
  return numbers
}

/** The numbers of the events of a receiver's requests, in order of arrival. */
const numbersAt = ({ received }: Receiver): number[] =>
  received.map(({ path }) => Number(new URL(path, 'http://x').searchParams.get('id')?.slice(-12)))

/** Lets time pass, in which all loops look for what they can do now. */
function pass(ms: number, ...others: readonly Gateway[]): void {
  clock += ms
  for (const { runner } of [main, ...others]) runner.look()
}

const statusOf = (id: string) => {
  const found = main.destinations.list().find(({ destination }) => destination.id === id)
  if (!found) throw new Error(`There is no destination ${id}`)
  return found
}

const until = (check: () => void) => vi.waitFor(check, { timeout: 120_000, interval: 5 })

/** Waits until a destination has nothing to do. */
const settled = (id: string) =>
  until(() => {
    const { newest } = events.findTail('shop', 1)
    expect(main.store.progress(id)?.seq).toBe(newest)
  })

/** Refuses or fails some events, by their numbers. */
const except =
  (numbers: readonly number[], handle: Handle): Handle =>
  (request, response, socket) => {
    const number = Number(new URL(request.path, 'http://x').searchParams.get('id')?.slice(-12))
    return (numbers.includes(number) ? handle : OK)(request, response, socket)
  }

test('a destination that is down for a day delays no other and loses nothing', async () => {
  const healthy = await listen()
  const [down, up] = [add(receiver), add(healthy)]
  receiver.answer(status(503))
  const devices = ['a', 'b', 'c', 'a', 'b', 'a']
  for (const end = clock + DAY_MS; clock < end; ) {
    append(devices)
    const attempts = statusOf(down).failed
    pass(60 * MINUTE_MS)
    await settled(up)
    await until(() => expect(statusOf(down).failed).toBeGreaterThan(attempts))
  }
  expect(numbersAt(healthy).sort((a, b) => a - b)).toHaveLength(nextEvent - 1)
  await until(() =>
    expect(statusOf(down)).toMatchObject({
      state: { name: 'waiting', reason: expect.stringContaining('503') },
      lagEvents: nextEvent - 1,
      delivered: 0,
      letters: 0,
    }),
  )
  expect(states.filter(({ id }) => id === down).at(-1)).toMatchObject({ name: 'waiting' })
  // At most three attempts each time.
  expect(receiver.received.length).toBeLessThan(3 * 24 + 20)
  const before = receiver.received.length

  receiver.answer(OK)
  pass(10 * MINUTE_MS)
  await settled(down)
  const arrived = numbersAt(receiver).slice(before)
  // Exactly once, since no answer was lost.
  expect([...arrived].sort((a, b) => a - b)).toEqual(Array.from(arrived, (_, i) => i + 1))
  const deviceOf = (n: number) => devices[(n - 1) % devices.length]
  for (const device of ['a', 'b', 'c']) {
    const own = arrived.filter((n) => deviceOf(n) === device)
    expect(own).toEqual([...own].sort((a, b) => a - b))
  }
  expect(statusOf(down)).toMatchObject({
    state: { name: 'running', reason: null },
    lagEvents: 0,
    lagMs: 0,
    delivered: nextEvent - 1,
    letters: 0,
  })
  expect(states.filter(({ id }) => id === down).at(-1)).toMatchObject({ name: 'running' })
})

test('while an event fails, the later ones of its device wait, and those of others do not', async () => {
  const id = add()
  receiver.answer(except([1], status(500)))
  append(['a', 'a', 'b', 'c', 'b'])
  await until(() => expect(statusOf(id).delivered).toBe(3))
  append(['a', 'b'])
  await until(() => expect(statusOf(id).delivered).toBe(4))
  expect(numbersAt(receiver).filter((n) => [2, 6].includes(n))).toEqual([])
  await until(() => expect(statusOf(id).state).toMatchObject({ name: 'waiting' }))
  receiver.answer(OK)
  pass(MINUTE_MS)
  await settled(id)
  expect(numbersAt(receiver).filter((n) => [1, 2, 6].includes(n))).toEqual([1, 1, 2, 6])
})

/** A record of a shop's server. */
const record = (operation: string, payload: object): Partial<LogEvent> => ({
  operation,
  event: operation,
  did: null,
  payload: JSON.stringify(payload),
})

test('records of one order stay in order, and do not delay those of others', async () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const settings = { url: receiver.url, secret }
  const operations = ['saveOrder', 'updateOrderStatus', 'addSubscriber'] as const
  const id = add(receiver, { kind: 'webhook', settings, operations })
  const idsIn = (body: string) =>
    (JSON.parse(body) as { events: { id: string }[] }).events.map((event) => event.id)
  receiver.answer(({ body }, response) =>
    response.writeHead(idsIn(body).includes(idOf(1)) ? 503 : 204).end(),
  )
  append([''], record('saveOrder', { number: '1' }))
  await until(() => expect(statusOf(id).failed).toBe(1))
  append([''], record('saveOrder', { number: '2' }))
  append([''], record('updateOrderStatus', { order_number: '1', order_status: 'shipped' }))
  append([''], record('addSubscriber', { email: 'ana@shop.example' }))
  pass(0)
  await until(() => expect(statusOf(id).delivered).toBe(2))
  receiver.answer(status(204))
  pass(MINUTE_MS)
  await settled(id)
  const sent = receiver.received.flatMap(({ body }) => idsIn(body))
  expect(sent.filter((one) => one === idOf(3))).toHaveLength(1)
  expect(sent.lastIndexOf(idOf(1))).toBeLessThan(sent.indexOf(idOf(3)))
})

test('a refund has the value of the order as it was saved last', async () => {
  const id = add(receiver, {
    kind: 'ga4',
    settings: { measurementId: 'G-ABC1234567', apiSecret: 'secret-1', endpoint: receiver.url },
    operations: ['saveOrder', 'updateOrderStatus'],
  })
  const refund = (order_number: string) =>
    append([''], record('updateOrderStatus', { order_number, order_status: 'Refunded' }))
  const order = { number: '1', currency: 'RON', products: [] }
  append([''], record('saveOrder', { ...order, total_value: '20.00' }))
  append([''], record('saveOrder', { ...order, total_value: '12.50' }))
  refund('1')
  refund('2')
  append([''], record('updateOrderStatus', { order_number: '1', order_status: 'shipped' }))
  await settled(id)
  expect(statusOf(id)).toMatchObject({ delivered: 5, letters: 0 })
  const sent = receiver.received.flatMap(({ body }) => {
    const { client_id, events } = JSON.parse(body) as {
      client_id: string
      events: { name: string; params: Record<string, unknown> }[]
    }
    return events.map(({ name, params: { transaction_id, value, currency } }) => ({
      ...{ client_id, name, transaction_id, value, currency },
    }))
  })
  const client_id = sent[0]?.client_id
  const ofOrder = { client_id, transaction_id: '1', currency: 'RON' }
  expect(sent).toHaveLength(4)
  expect(sent.filter(({ transaction_id }) => transaction_id === '1')).toEqual([
    { ...ofOrder, name: 'purchase', value: 20 },
    { ...ofOrder, name: 'purchase', value: 12.5 },
    { ...ofOrder, name: 'refund', value: 12.5 },
  ])
  expect(sent.find(({ transaction_id }) => transaction_id === '2')).toEqual({
    ...{ client_id: expect.not.stringMatching(`^${client_id}$`), name: 'refund' },
    ...{ transaction_id: '2', value: undefined, currency: undefined },
  })
})

test('a destination gets orders and subscribers only if it names them', async () => {
  const named = await listen()
  const [usual, other] = [add(), add(named, { operations: ['search', 'removeSubscriber'] })]
  append(['a'])
  append([''], record('removeSubscriber', { email: 'ana@shop.example' }))
  append(['b'])
  await settled(usual)
  await settled(other)
  expect(statusOf(usual)).toMatchObject({ delivered: 2, letters: 0 })
  expect(statusOf(other)).toMatchObject({ delivered: 3, letters: 0 })
  expect(numbersAt(receiver)).toEqual([1, 3])
})

test('an event that always fails while others are delivered becomes a dead letter at last', async () => {
  const id = add()
  receiver.answer(except([1], status(500)))
  append(['a'])
  append(['a'])
  await until(() => expect(statusOf(id).failed).toBe(1))
  while (statusOf(id).letters === 0) {
    const { failed, letters } = statusOf(id)
    append(['b'])
    await until(() => expect(main.store.progress(id)?.delivered).toBeGreaterThanOrEqual(failed))
    pass(10 * MINUTE_MS)
    await until(() => {
      const now = statusOf(id)
      expect(now.failed + now.letters).toBeGreaterThan(failed + letters)
    })
  }
  await settled(id)
  expect(main.destinations.letters('shop', id)?.letters).toMatchObject([
    {
      seq: 1,
      reason: expect.stringMatching(/^It has failed 30 times while others were delivered/),
    },
  ])
  expect(numbersAt(receiver)).toContain(2)
})

test('a device that fails, however many events it has, does not delay others', async () => {
  const id = add()
  receiver.answer(except([1], status(500)))
  append(Array.from({ length: 300 }, () => 'a'))
  await until(() => expect(statusOf(id).failed).toBe(1))
  append(['b'])
  await until(() => expect(statusOf(id).delivered).toBe(1))
  receiver.answer(OK)
  pass(MINUTE_MS)
  await settled(id)
  expect(numbersAt(receiver)).toEqual([1, 301, ...Array.from({ length: 300 }, (_, i) => i + 1)])
})

test('an event that always fails does not hold a busy customer up for ever', async () => {
  const id = add()
  receiver.answer(except([1], status(500)))
  append(['a'])
  for (const failed of [1, 2, 3]) {
    pass(MINUTE_MS)
    await until(() => expect(statusOf(id).failed).toBe(failed))
    append(Array.from({ length: failed < 3 ? 1 : 1_100 }, (_, i) => `b${i}`))
    if (failed < 3) await until(() => expect(statusOf(id).delivered).toBe(failed))
  }
  // So far the position is looked beyond.
  await until(() => expect(statusOf(id).delivered).toBe(999))
  while (statusOf(id).letters === 0) {
    const { failed, letters } = statusOf(id)
    expect(failed).toBeLessThan(11)
    pass(10 * MINUTE_MS)
    await until(() => {
      const now = statusOf(id)
      expect(now.failed + now.letters).toBeGreaterThan(failed + letters)
    })
  }
  await settled(id)
  expect(statusOf(id)).toMatchObject({ delivered: 1_102, letters: 1 })
})

test.each([
  ['one device', ['a']],
  ['several devices', ['a', 'b', 'c']],
])('a clock that goes back does not make %s wait longer', async (_, devices) => {
  const id = add()
  receiver.answer(status(503))
  append(devices)
  await until(() => expect(statusOf(id).state).toMatchObject({ name: 'waiting' }))
  receiver.answer(OK)
  pass(-3 * 60 * MINUTE_MS)
  await settled(id)
  expect(statusOf(id).delivered).toBe(devices.length)
})

test('a folder that can not be made is tried again, also after the clock was set back', async () => {
  const obstacle = join(folder, 'forward')
  writeFileSync(obstacle, '')
  const id = add(receiver, { kind: 'file', settings: {} })
  append(['a'])
  await until(() => expect(String(errors)).toContain('ENOTDIR'))
  errors = []
  rmSync(obstacle)
  pass(-3 * 60 * MINUTE_MS)
  await settled(id)
})

test('destinations that hang delay no other, however many they are', async () => {
  const hanging = await listen()
  hanging.answer(() => {})
  const customers_ = Array.from({ length: 30 }, (_, i) => `customer-${i}`)
  for (const customer of customers_) {
    customers.add(customer)
    for (let i = 0; i < 4; i++) add(hanging, { customer })
    append(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'], { customer })
  }
  const id = add()
  append(['a', 'b', 'a', 'b'])
  await settled(id)
  append(['a', 'b', 'c', 'd'])
  await settled(id)
  expect(statusOf(id).delivered).toBe(8)
  // One call of each.
  await hanging.wait(120)
  expect(hanging.received).toHaveLength(120)
})

test('a destination that asks for time gets it', async () => {
  const id = add()
  receiver.answer(status(429, { 'retry-after': '1800' }))
  append(['a'])
  await until(() => expect(statusOf(id).state).toMatchObject({ name: 'waiting' }))
  append(['b', 'c'])
  const { nextAt, reason } = statusOf(id).state
  expect(nextAt).toBeGreaterThanOrEqual(clock + 1_800_000)
  expect(reason).toContain('429')
  receiver.answer(OK)
  pass(1_799_000)
  expect(receiver.received).toHaveLength(1)
  pass(2_000)
  await settled(id)
  expect(statusOf(id)).toMatchObject({ delivered: 3, failed: 1 })
})

test('refused events become letters, and are mended and sent again in their order', async () => {
  const id = add()
  receiver.answer(except([1, 2, 4], status(422, {}, '')))
  append(['a', 'a', 'b', 'b', 'a'])
  await settled(id)
  // A refusal holds nothing up.
  expect(numbersAt(receiver).sort()).toEqual([1, 2, 3, 4, 5])
  expect(statusOf(id)).toMatchObject({ delivered: 2, letters: 3, failed: 0 })
  const page = main.destinations.letters('shop', id)
  expect(page?.letters.map(({ seq, attempts }) => [seq, attempts])).toEqual([
    [1, 1],
    [2, 1],
    [4, 1],
  ])
  expect(page?.groups).toEqual([
    { operation: 'search', reason: expect.stringContaining('422'), count: 3 },
  ])

  // Refused again: the letter stays.
  main.destinations.replay('shop', id, { seq: 4 })
  main.runner.look()
  await until(() =>
    expect(main.destinations.letters('shop', id, { seq: 4 })?.letters).toMatchObject([
      { attempts: 2, isReplayed: false },
    ]),
  )
  // What the contract does not allow is not sent.
  main.destinations.mend('shop', id, { search_term: '' })
  main.destinations.replay('shop', id, { seq: 4 })
  main.runner.look()
  await until(() =>
    expect(main.destinations.letters('shop', id, { seq: 4 })?.letters).toMatchObject([
      { attempts: 3, reason: expect.stringMatching(/^The mended payload is invalid: search_term/) },
    ]),
  )
  const before = receiver.received.length
  receiver.answer(OK)
  main.destinations.mend('shop', id, { search_term: 'mended', source: 'letters' })
  main.destinations.replay('shop', id)
  main.runner.look()
  await until(() => expect(statusOf(id).letters).toBe(0))
  const replayed = receiver.received.slice(before)
  expect(replayed.map(({ body }) => JSON.parse(body))).toMatchObject([
    { search_term: 'mended', source: 'letters' },
    { search_term: 'mended' },
    { search_term: 'mended' },
  ])
  const numbers = numbersAt(receiver).slice(before)
  expect([...numbers].sort()).toEqual([1, 2, 4])
  expect(numbers.indexOf(1)).toBeLessThan(numbers.indexOf(2))
  expect(statusOf(id).delivered).toBe(5)
})

test('a destination gets only what it may get', async () => {
  const everything = await listen()
  const id = add(receiver, {
    leaveOut: ['remote_addr', 'http_user_agent'],
    operations: ['search'],
  })
  const all = add(everything, { takesBots: true, takesCookieless: true })
  append(['a'])
  append(['b'], { bot: true })
  append(['c'], { cookieless: true })
  append(['d'], { operation: 'viewHomepage', event: 'view_page' })
  append(['e'], { customer: 'other' })
  append(['f'])
  await settled(id)
  await settled(all)
  expect(numbersAt(receiver).sort()).toEqual([1, 6])
  expect(JSON.parse(receiver.received[0]?.body as string)).toMatchObject({
    remote_addr: '0.0.0.0',
    http_user_agent: 'unknown',
  })
  expect(JSON.stringify(receiver.received)).not.toContain('203.0.113')
  expect(numbersAt(everything).sort()).toEqual([1, 2, 3, 4, 6])
})

test('an event of an earlier version has no consent if its device is a hash of the day', async () => {
  const id = add()
  const hash = '0190f3a2-7c41-8d11-9a3e-5f2b8c6d4e10'
  for (const did of [hash, hash.replace('-8', '-4')]) {
    const n = nextEvent++
    const payload = { did, event: 'view_page', url: 'https://shop.example/' }
    events.append(
      toCells([
        {
          ...{ customer: 'shop', id: idOf(n), at: clock, receivedAt: clock, did, bot: false },
          ...{ operation: 'viewHomepage', event: 'view_page', version: null },
          payload: JSON.stringify({ ...payload, http_user_agent: 'x', remote_addr: '::1' }),
        },
      ]),
    )
  }
  main.runner.look()
  await settled(id)
  expect(numbersAt(receiver)).toEqual([2])
})

test('a paused destination keeps its place, and a changed one continues there', async () => {
  const id = add()
  append(['a'])
  await settled(id)
  main.destinations.change('shop', id, { isPaused: true })
  main.runner.look()
  append(['a', 'b'])
  expect(statusOf(id)).toMatchObject({ state: { name: 'paused' }, lagEvents: 2 })
  const other = await listen()
  main.destinations.change('shop', id, { isPaused: false, settings: { baseUrl: other.url } })
  main.runner.look()
  await settled(id)
  expect(numbersAt(receiver)).toEqual([1])
  expect(numbersAt(other).sort()).toEqual([2, 3])
})

test('a new destination can begin with the oldest event or at a time', async () => {
  append(['a', 'b'])
  pass(DAY_MS)
  append(['c'])
  const [second, third] = [await listen(), await listen()]
  const ids = [
    add(receiver),
    add(second, { from: 'beginning' }),
    add(third, { from: clock - MINUTE_MS }),
  ]
  append(['d'])
  for (const id of ids) await settled(id)
  expect([receiver, second, third].map((to) => numbersAt(to).sort())).toEqual([
    [4],
    [1, 2, 3, 4],
    [3, 4],
  ])
})

test('a destination whose settings are not valid any more stops, until they are changed', async () => {
  const [id, other] = [add(), add(await listen())]
  const database = new Database(join(folder, 'forward.db'))
  database.prepare("UPDATE destinations SET settings = '{}', revision = 9 WHERE id = ?").run(id)
  pass(1_000)
  await until(() =>
    expect(statusOf(id)).toMatchObject({
      state: { name: 'stopped', reason: expect.stringContaining('settings are not valid') },
      destination: { receives: '', settings: {} },
    }),
  )
  append(['a'])
  await settled(other)
  // Its lease is not renewed, since nothing is done for it.
  const lease = database.prepare('SELECT "until" FROM leases WHERE destination = ?').pluck()
  const end = lease.get(id)
  pass(3_000)
  pass(3_000)
  expect(lease.get(id)).toBe(end)
  database.close()
  const settings = {
    ...{ baseUrl: receiver.url, customerId: 'ACME', trackingKey: 'TRACK123' },
    restKey: 'a secret of the service',
  }
  expect(main.destinations.change('shop', id, { settings })).toMatchObject({ ok: true })
  main.runner.look()
  await settled(id)
  expect(numbersAt(receiver)).toEqual([1])
})

test('the destinations of a removed customer stop', async () => {
  const id = add()
  append(['a'])
  await settled(id)
  customers.delete('shop')
  main.runner.look()
  append(['a'])
  expect(statusOf(id)).toMatchObject({
    state: { name: 'stopped', reason: 'Its customer was removed' },
    lagEvents: 1,
  })
  pass(MINUTE_MS)
  expect(numbersAt(receiver)).toEqual([1])
})

test('events that the retention removes before they are sent are counted', async () => {
  const id = add()
  receiver.answer(status(503))
  append(['a', 'b', 'c', 'd'])
  await until(() => expect(statusOf(id).state.name).toBe('waiting'))
  // As an erasure does it.
  events.removeEvents([1])
  events.removeExpired('shop', 3)
  pass(1_000)
  await until(() => expect(statusOf(id)).toMatchObject({ lost: 3 }))
  receiver.answer(OK)
  const before = receiver.received.length
  pass(10 * MINUTE_MS)
  await settled(id)
  expect(numbersAt(receiver).slice(before)).toEqual([4])
})

test('an erased event is not sent any more, and its letter disappears', async () => {
  const id = add()
  receiver.answer(except([1], status(422)))
  append(['a'])
  await settled(id)
  receiver.answer(status(503))
  append(['a', 'b'])
  await until(() => expect(statusOf(id).state.name).toBe('waiting'))
  events.removeEvents([1, 2])
  receiver.answer(OK)
  const before = receiver.received.length
  pass(10 * MINUTE_MS)
  await settled(id)
  expect(numbersAt(receiver).slice(before)).toEqual([3])
  expect(statusOf(id)).toMatchObject({ lost: 0, letters: 0 })
})

test('the letters of removed events are overwritten in their file', async () => {
  const id = add()
  receiver.answer(status(422, { 'content-type': 'application/json' }, '{"message":"No zz-mark"}'))
  append(['a', 'b'])
  await settled(id)
  events.removeEvents([1, 2])
  pass(MINUTE_MS)
  await until(() => expect(statusOf(id).letters).toBe(0))
  pass(60 * MINUTE_MS)
  const hasMark = () =>
    ['forward.db', 'forward.db-wal'].some((name) =>
      readFileSync(join(folder, name)).includes('zz-mark'),
    )
  await until(() => expect(hasMark()).toBe(false))
})

test('a letter whose event was erased is not sent again', async () => {
  const id = add()
  receiver.answer(status(422))
  append(['a', 'b'])
  await settled(id)
  receiver.answer(OK)
  events.removeEvents([1])
  main.destinations.replay('shop', id)
  main.runner.look()
  await until(() => expect(statusOf(id).letters).toBe(0))
  expect(numbersAt(receiver)).toEqual([1, 2, 2])
})

test('of two gateways over one folder one forwards, and the other takes over', async () => {
  const other = startGateway('other')
  const id = add()
  other.runner.look()
  for (let i = 0; i < 20; i++) {
    append(['a', 'b'])
    other.runner.look()
  }
  await settled(id)
  expect(receiver.received).toHaveLength(40)
  await main.runner.stop()
  append(['a'])
  other.runner.look()
  await settled(id)
  expect(numbersAt(receiver).at(-1)).toBe(41)
  expect(receiver.received).toHaveLength(41)
})

test('a gateway that was killed is replaced when its lease ends', async () => {
  const id = add()
  append(['a'])
  await settled(id)
  // A killed process gives nothing back.
  main.store.release = () => {}
  await main.runner.stop()
  main.store.lease('main', [id], clock)
  const other = startGateway('other')
  append(['a'])
  other.runner.look()
  expect(receiver.received).toHaveLength(1)
  clock += 6_000
  other.runner.look()
  await settled(id)
  expect(numbersAt(receiver)).toEqual([1, 2])
})

test('a batch whose end was not stored is sent again, with the same ids and in order', async () => {
  const id = add()
  append(['a'])
  await settled(id)
  // The gateway loses its lease while it sends, as if it had hung.
  const other = startGateway('other')
  receiver.answer((request, response, socket) => {
    if (receiver.received.length === 3) {
      other.store.lease('nobody', [id], clock + 60_000)
      other.store.lease('thief', [id], clock + 120_000)
    }
    OK(request, response, socket)
  })
  append(['a', 'a', 'b', 'b'])
  await until(() => expect(receiver.received.length).toBeGreaterThanOrEqual(5))
  expect(main.store.progress(id)).toMatchObject({ seq: 1, delivered: 1 })
  clock += 240_000
  other.runner.look()
  await settled(id)
  const numbers = numbersAt(receiver)
  expect(new Set(numbers)).toEqual(new Set([1, 2, 3, 4, 5]))
  const again = numbers.slice(5)
  expect(again.filter((n) => n < 4)).toEqual([2, 3])
  expect(again.filter((n) => n > 3)).toEqual([4, 5])
})

test('what was sent when the gateway stops is stored, and nothing is sent afterwards', async () => {
  const id = add()
  append(['a'])
  await settled(id)
  const answers: (() => void)[] = []
  receiver.answer((request, response, socket) => {
    answers.push(() => OK(request, response, socket))
  })
  append(['a', 'a', 'b'])
  await receiver.wait(3)
  const stopped = main.runner.stop()
  for (const answer of answers) answer()
  await stopped
  expect(numbersAt(receiver).sort()).toEqual([1, 2, 4])
  expect(main.store.progress(id)).toMatchObject({ delivered: 3, seq: 2 })
})

test('a full list of letters stops a destination, until there are fewer', async () => {
  const id = add()
  append(['a'])
  await settled(id)
  const database = new Database(join(folder, 'forward.db'))
  database
    .prepare(
      `WITH RECURSIVE numbers (n) AS (VALUES (1000) UNION ALL SELECT n + 1 FROM numbers WHERE n < 100999)
       INSERT INTO letters (destination, seq, id, operation, reason, first_at, last_at, attempts)
       SELECT ?, n, x'00', 'search', 'Refused', 0, 0, 1 FROM numbers`,
    )
    .run(id)
  database.close()
  // The loop counts the letters when it begins.
  main.destinations.change('shop', id, { name: 'again' })
  pass(1_000)
  append(['a'])
  await until(() =>
    expect(statusOf(id).state).toMatchObject({
      name: 'stopped',
      reason: expect.stringContaining('100000 dead letters'),
    }),
  )
  expect(receiver.received).toHaveLength(1)
  main.destinations.discard('shop', id, { seq: 1_000 })
  pass(MINUTE_MS)
  await settled(id)
  expect(numbersAt(receiver)).toEqual([1, 2])
})

test('a log that was replaced by a backup is continued where it ends', async () => {
  const id = add()
  append(['a', 'a', 'a'])
  await settled(id)
  await main.runner.stop()
  main.store.settle(id, 'nobody', {
    ...{ delivered: 0, failed: 0, lost: 0, settledLetters: [], refused: [] },
  })
  main.store.lease('test', [id], clock)
  main.store.settle(id, 'test', {
    ...{ delivered: 0, failed: 0, lost: 0, settledLetters: [], refused: [] },
    position: { seq: 50, event: idOf(50), receivedAt: clock },
  })
  main.store.release('test')
  clock += 1_000
  append(['a'])
  const other = startGateway('other')
  other.runner.look()
  await settled(id)
  expect(numbersAt(receiver)).toEqual([1, 2, 3, 4])
})

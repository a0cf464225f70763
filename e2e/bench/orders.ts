// The time of the answers to calls of a shop's server with a million orders kept, over sockets, at a fixed rate, and that
// of events and of a campaign list beside them, with and without these calls. Before that: what an ordinary event costs in
// this log and in an empty one, in turns.
//
//   node e2e/run.mjs e2e/bench/orders.ts                      a million orders: some minutes
//   node e2e/run.mjs e2e/bench/orders.ts --orders 10000
//   node e2e/run.mjs e2e/bench/orders.ts --folder /tmp/x      fills the folder, or what is missing in it, and keeps it
//
// An answer's time begins when the call was due, so calls that wait for a slow one count too.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync, statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { toStoredOrder, validate } from '../../src/contract/index.ts'
import { makeEventId } from '../../src/gateway/collect/eventId.ts'
import type { LogEvent } from '../../src/gateway/collect/eventLog.ts'
import { toCells } from '../../src/gateway/sqlite/cells.ts'
import { createSqliteCustomers } from '../../src/gateway/sqlite/customers.ts'
import { openStore, type Store } from '../../src/gateway/sqlite/store.ts'
import { line, median } from '../benchPages.ts'
import { makeFolder, UNLIMITED } from '../gateway.ts'

const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '1000000' },
    /** Seconds of each measurement over sockets. */
    seconds: { type: 'string', default: '20' },
    /** Default: a new folder, which is removed at the end. */
    folder: { type: 'string' },
  },
})

const ORDERS = Number(values.orders)
const SUBSCRIBERS = Math.ceil(ORDERS / 10)
/** One of these is unsubscribed. */
const UNSUBSCRIBED = 10
const SLICE = 2_000
const DAY_MS = 86_400_000
/** What is stored is spread over so many days before now. */
const DAYS = 30
/** Rounds of ordinary events, how many each has, and how many are appended at a time. */
const ROUNDS = 7
const ROUND_EVENTS = 4_000
const AT_ONCE = 64
/** Time for which each kind of call is sent alone, ms. */
const ALONE_MS = 2_000
/** The most time of an answer at the 99th percentile, ms. */
const TARGET_MS = 50

const now = Date.now()
const number = (i: number) => String(100_000 + i)

const orderOf = (i: number, content = 0) => ({
  number: number(i),
  email_address: `visitor-${i % SUBSCRIBERS}@shop.example`,
  phone: '+40 700 000 000',
  firstname: 'Ana',
  lastname: `Pop ${i}`,
  city: 'Cluj-Napoca',
  county: 'Cluj',
  address: `Strada Lungă ${i % 300}`,
  discount_value: '-5.00',
  discount_code: '',
  shipping: 15,
  tax: '19.00',
  total_value: `${content + (i % 500)}.50`,
  products: [1, 2, 3].map((n) => ({
    product_id: i + n,
    price: '24.99',
    quantity: n,
    variation_sku: `SKU-${n}`,
  })),
})

function storedOrder(i: number): string {
  const checked = validate('saveOrder', orderOf(i))
  const stored = checked.ok ? toStoredOrder(checked.payload, 'EUR') : checked
  if (!stored.ok) throw stored.error
  return JSON.stringify(stored.payload)
}

const record = (operation: string, event: string, payload: string, at: number): LogEvent => ({
  ...{ customer: 'shop', id: makeEventId(at), at, receivedAt: at, operation, event, payload },
  ...{ did: null, bot: false, version: null },
})

const makeEvent = (): LogEvent => ({
  ...{ customer: 'shop', id: makeEventId(now), at: now, receivedAt: now, version: null },
  ...{ operation: 'viewProduct', event: 'view_product', did: randomUUID(), bot: false },
  payload: JSON.stringify({ url: `https://shop.example/p/12?ref=${'x'.repeat(500)}` }),
})

/** @returns How many records it has stored. */
function fill(store: Store): number {
  let stored = 0
  const append = (events: readonly LogEvent[]) => {
    store.append(toCells(events))
    stored += events.length
  }
  const at = (share: number) => Math.floor(now - DAYS * DAY_MS * (1 - share))
  for (let from = 0; from < ORDERS; from += SLICE) {
    if (store.findOrder('shop', number(from))) continue
    const events = Array.from({ length: Math.min(SLICE, ORDERS - from) }, (_, i) =>
      record('saveOrder', 'save_order', storedOrder(from + i), at((from + i) / ORDERS)),
    )
    append(events)
  }
  for (let from = 0; from < SUBSCRIBERS; from += SLICE) {
    if (store.findSubscriber('shop', `visitor-${from}@shop.example`)) continue
    const events = Array.from({ length: Math.min(SLICE, SUBSCRIBERS - from) }, (_, n) => {
      const i = from + n
      const payload = JSON.stringify({ email: `visitor-${i}@shop.example` })
      return i % UNSUBSCRIBED === 0
        ? record('removeSubscriber', 'remove_subscriber', payload, at(i / SUBSCRIBERS))
        : record('addSubscriber', 'add_subscriber', payload, at(i / SUBSCRIBERS))
    })
    append(events)
  }
  return stored
}

/** @returns Processor time of an event, microseconds. */
function appendEvents(store: Store): number {
  const appends = Array.from({ length: ROUND_EVENTS / AT_ONCE }, () =>
    toCells(Array.from({ length: AT_ONCE }, makeEvent)),
  )
  const begun = process.cpuUsage()
  for (const cells of appends) store.append(cells)
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / (appends.length * AT_ONCE)
}

const folder = values.folder ?? makeFolder('bench-orders')
mkdirSync(folder, { recursive: true })
const eventsFile = join(folder, 'events.db')
const customers = createSqliteCustomers(join(folder, 'customers.db'))
const restKey = 'REST-KEY-OF-THE-BENCH'
const customer =
  customers.find('shop') ??
  customers.add({ customerId: 'shop', origins: ['loopback'], restKey }).customer
customers.close()

const full = openStore(eventsFile)
const begun = performance.now()
const filled = fill(full)
const seconds = (performance.now() - begun) / 1_000
console.log(
  line(
    `${ORDERS.toLocaleString('en')} orders`,
    `${(statSync(eventsFile).size / 1e6).toFixed(0)} MB`,
    `${((1e6 * seconds) / Math.max(1, filled)).toFixed(0)} µs each`,
  ),
)
const emptyFolder = makeFolder('bench-orders-empty')
const empty = openStore(join(emptyFolder, 'events.db'))
const cost = { full: [] as number[], empty: [] as number[] }
for (let round = 0; round < ROUNDS; round++) {
  cost.empty.push(appendEvents(empty))
  cost.full.push(appendEvents(full))
}
console.log(line('an ordinary event', 'CPU, µs'))
console.log(line('in an empty log', median(cost.empty).toFixed(1)))
console.log(line('beside the orders', median(cost.full).toFixed(1)))
empty.close()
full.close()
rmSync(emptyFolder, { recursive: true })

type Call = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}
type Kind = { readonly perSecond: number; readonly make: (i: number) => Call }

const keys = `k=${restKey}&u=shop`
const JSON_TYPE = { 'content-type': 'application/json' }
const postJson = (path: string, body: object): Call => ({
  ...{ method: 'POST', path: `/api/v1/${path}?${keys}`, headers: JSON_TYPE },
  body: JSON.stringify(body),
})
/** Numbers from here on are new, also in a folder that was used before. */
let fresh = now
const anyOrder = (i: number) => (i * 7_919) % ORDERS
const ORDER_CALLS: Readonly<Record<string, Kind>> = {
  'save_order, new': { perSecond: 20, make: () => postJson('save_order', orderOf(fresh++)) },
  'save_order, equal': {
    perSecond: 40,
    make: (i) => postJson('save_order', orderOf(anyOrder(i))),
  },
  'save_order, changed': {
    perSecond: 10,
    make: (i) => postJson('save_order', orderOf(anyOrder(i), 1_000 + i)),
  },
  update_order_status: {
    perSecond: 20,
    make: (i) => ({
      method: 'GET',
      path: `/api/v1/update_order_status?${keys}&order_number=${number(anyOrder(i))}&order_status=s${i % 5}`,
    }),
  },
  'unsubscribed_emails, a day': {
    perSecond: 2,
    make(i) {
      const from = Math.floor(now / 1_000) - ((i % DAYS) * DAY_MS) / 1_000
      const range = `date_from=${from - DAY_MS / 1_000}&date_to=${from}`
      return { method: 'GET', path: `/api/v1/unsubscribed_emails?${keys}&${range}` }
    },
  },
}
const OTHER_CALLS: Readonly<Record<string, Kind>> = {
  'an event of a page': {
    perSecond: 50,
    make: () => ({
      method: 'POST',
      path: `/t/r?k=${customer.trackingKey}&id=${randomUUID()}`,
      headers: { origin: 'http://localhost:1', 'content-type': 'text/plain' },
      body: JSON.stringify({
        ...{ did: randomUUID(), event: 'search', search_term: 'mug', url: 'http://localhost:1/' },
        http_user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0',
      }),
    }),
  },
  // What the machine itself makes of an answer: it reads no file.
  'a key that is right': {
    perSecond: 20,
    make: () => ({ method: 'GET', path: `/api/v1/health?${keys}` }),
  },
  'list of campaigns': { perSecond: 5, make: () => postJson('campaigns/list', {}) },
}

const agent = new Agent({ keepAlive: true })

function send(url: string, { method, path, headers = {}, body }: Call): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method, headers, agent }, (answer) => {
      answer.resume()
      answer.on('end', () =>
        answer.statusCode === 200
          ? resolve()
          : reject(new Error(`${path.split('?')[0]} was answered ${answer.statusCode}`)),
      )
      answer.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Sends the calls at their rates. @returns The times of the answers of each kind, ms. */
async function run(url: string, kinds: Readonly<Record<string, Kind>>, forMs: number) {
  const times = new Map(Object.keys(kinds).map((name) => [name, [] as number[]]))
  const start = performance.now()
  const answers: Promise<void>[] = []
  await Promise.all(
    Object.entries(kinds).map(async ([name, { perSecond, make }]) => {
      for (let i = 0; (i * 1_000) / perSecond < forMs; i++) {
        const due = start + (i * 1_000) / perSecond
        await sleep(Math.max(0, due - performance.now()))
        const answered = send(url, make(i)).then(() => {
          times.get(name)?.push(performance.now() - due)
        })
        answers.push(answered)
      }
    }),
  )
  await Promise.all(answers)
  return times
}

const percentile = (all: readonly number[], share: number): string =>
  ([...all].sort((a, b) => a - b)[Math.floor(all.length * share)] ?? Number.NaN).toFixed(1)

function print(title: string, times: ReadonlyMap<string, readonly number[]>): void {
  console.log(line(`\n${title}`, 'calls', 'p50, ms', 'p99, ms', 'most, ms'))
  for (const [name, all] of times)
    console.log(
      line(
        name,
        all.length,
        ...[0.5, 0.99].map((s) => percentile(all, s)),
        percentile(all, 1 - 1e-9),
      ),
    )
}

const program = fileURLToPath(new URL('../benchServer.mjs', import.meta.url))
const args = [program, 'gateway', folder, JSON.stringify(UNLIMITED)]
const server = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
const { url } = await new Promise<{ url: string }>((resolve) =>
  server.once('message', resolve as () => void),
)
/** CPU time of the gateway so far, of all its threads, microseconds. */
const cpuMicros = () =>
  new Promise<number>((resolve) => {
    server.once('message', ({ cpuMicros }: { cpuMicros: number }) => resolve(cpuMicros))
    server.send('usage')
  })
const forMs = Number(values.seconds) * 1_000
await run(url, { ...ORDER_CALLS, ...OTHER_CALLS }, 2_000)
print('without calls about orders', await run(url, OTHER_CALLS, forMs))
print('with calls about orders', await run(url, { ...ORDER_CALLS, ...OTHER_CALLS }, forMs))
for (const [name, kind] of Object.entries({ ...ORDER_CALLS, ...OTHER_CALLS })) {
  const before = await cpuMicros()
  const all = (await run(url, { [name]: kind }, ALONE_MS)).get(name)?.length ?? 1
  console.log(
    line(`alone: ${name}`, `${Math.round(((await cpuMicros()) - before) / all)} µs of CPU`),
  )
}
console.log(`target: p99 of each call about orders at most ${TARGET_MS} ms`)
server.disconnect()
agent.destroy()
if (!values.folder) rmSync(folder, { recursive: true, force: true })

import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Problem, ProblemList } from '../contract/problems.ts'
import { prepareGateway, send, startProcess } from '../test/gateway.ts'
import type { Gateway, GatewayOptions } from './index.ts'

/** The problems of a customer, over real sockets: what is counted, and what the two addresses answer. */

const ORIGIN = 'https://shop.example'
const DAY_MS = 86_400_000
const NOON = 20_000 * DAY_MS + DAY_MS / 2
const LINE = {
  did: 'd-1',
  event: 'add_to_cart',
  url: 'https://shop.example/p/mug?utm_source=x',
  http_user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  product_id: 12,
  quantity: 1,
  variation: { id: '12-1', sku: 'MUG-BLUE' },
}

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let clock: number
let errors: unknown[]

beforeEach(async () => {
  prepared = await prepareGateway()
  clock = NOON
  errors = []
})
afterEach(() => prepared.end())

const start = (options: Partial<GatewayOptions> = {}) =>
  prepared.start({ now: () => clock, onError: (error) => void errors.push(error), ...options })

function addShop({ customers }: Gateway) {
  const { restKey } = customers.add({
    customerId: 'shop',
    trackingKey: 'SHOPKEY1',
    origins: [ORIGIN],
  })
  return restKey
}

type Sending = { readonly url: string }
const post = (
  { url }: Sending,
  payload: unknown = LINE,
  query = 'k=SHOPKEY1',
  headers: Record<string, string> = { origin: ORIGIN },
) => send(url, `/t/r?${query}`, { method: 'POST', headers, body: JSON.stringify(payload) })

/** The list, once it is as expected: an answer is used again for half a second. */
async function listOf({ url }: Sending, restKey: string): Promise<ProblemList> {
  const { status, text } = await send(url, `/api/v1/problems?k=${restKey}&u=shop`)
  expect(status).toBe(200)
  return JSON.parse(text)
}
const until = (gateway: Sending, restKey: string, check: (list: ProblemList) => void) =>
  vi.waitFor(async () => check(await listOf(gateway, restKey)), 5_000)

const brief = ({ reason, source, operation, path, page, count }: Problem) =>
  [reason, source, operation ?? '', path ?? '', page, count].join(' ')

test('a refused order is counted by its field and its call, and no order is part of the coverage', async () => {
  const gateway = await start()
  const restKey = addShop(gateway)
  const call = (path: string, body: object) =>
    send(gateway.url, `/api/v1/${path}?k=${restKey}&u=shop`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const product = { product_id: 42, price: '5.00', quantity: 1 }
  const order = { number: 1, email_address: 'ana@shop.example', total_value: 10 }
  const saveOrder = (given: object) => call('save_order', { ...order, products: [], ...given })
  expect((await saveOrder({})).status).toBe(200)
  expect((await call('add_subscriber', { email: 'ana@shop.example' })).status).toBe(200)
  for (const price of ['12,50', '1.005', 'x'])
    expect((await saveOrder({ products: [product, { ...product, price }] })).status).toBe(422)
  expect((await saveOrder({ total_value: '1.234,50' })).status).toBe(422)
  expect((await call('remove_subscriber', { email: 'ana' })).status).toBe(422)
  expect((await call('add_subscriber', { email: 'a@b.example', birthday: '30.2.' })).status).toBe(
    422,
  )
  expect((await call('update_order_status', { order_number: 1 })).status).toBe(422)

  await until(gateway, restKey, ({ data }) =>
    expect(data.map(brief).sort()).toEqual([
      'refused gateway addSubscriber birthday /api/v1/add_subscriber 1',
      'refused gateway removeSubscriber email /api/v1/remove_subscriber 1',
      'refused gateway saveOrder products.*.price /api/v1/save_order 3',
      'refused gateway saveOrder total_value /api/v1/save_order 1',
      'refused gateway updateOrderStatus order_status /api/v1/update_order_status 1',
    ]),
  )
  const { data, coverage } = await listOf(gateway, restKey)
  const price = data.find(({ path }) => path === 'products.*.price') as Problem
  expect(price.message).toContain('products.*.price is missing or not an amount')
  expect(price.example).toMatchObject({
    number: 'number',
    email_address: 'text of 16 characters',
    products: [{ price: '5.00' }, { product_id: 42, quantity: 1 }],
  })
  expect(JSON.stringify(data)).not.toContain('ana@')
  expect(coverage).toHaveLength(11)
  expect(coverage.map(({ state }) => state)).toEqual(coverage.map(() => 'never'))
  expect(errors).toEqual([])
})

test('every refusal is counted by its fault, with the page and the fix', async () => {
  const gateway = await start()
  const restKey = addShop(gateway)
  const { variation: _, ...broken } = LINE
  for (let i = 0; i < 3; i++)
    expect((await post(gateway, { ...LINE, variation: { id: '12-1', sku: '' } })).status).toBe(422)
  expect((await post(gateway, broken)).status).toBe(422)
  const events = [
    { id: randomUUID(), payload: { ...LINE, quantity: '2' } },
    { id: 'x', payload: LINE },
  ]
  await send(gateway.url, '/t/batch?k=SHOPKEY1', {
    method: 'POST',
    headers: { origin: ORIGIN },
    body: JSON.stringify({ events }),
  })
  expect((await post(gateway, LINE, 'k=SHOPKEY1', { origin: 'https://new.example' })).status).toBe(
    403,
  )
  expect((await post(gateway, LINE, 'k=SHOPKEY1', {})).status).toBe(401)
  expect((await post(gateway, LINE, 'k=SHOPKEY1&api_key=wrong')).status).toBe(401)
  expect((await send(gateway.url, '/api/v1/problems?k=wrong&u=shop')).status).toBe(401)
  expect((await post(gateway, { ...LINE, url: 'x'.repeat(140_000) })).status).toBe(413)
  const referer = { referer: `${ORIGIN}/` }
  for (const path of ['/t/j/OLDKEY12', `/t/j/OLDKEY12/${'a'.repeat(64)}.js`])
    expect((await send(gateway.url, path, { headers: referer })).status).toBe(404)
  expect((await post(gateway, LINE, 'k=OLDKEY12')).status).toBe(404)
  expect((await post(gateway, LINE, 'k=OLDKEY12', { origin: 'https://else.example' })).status).toBe(
    404,
  )
  const api = await send(gateway.url, `/api/v1/custom_events?k=${restKey}&u=shop`, {
    method: 'POST',
    body: JSON.stringify({ event: 'quiz', email: 'nobody' }),
  })
  expect(api.status).toBe(422)

  await until(gateway, restKey, ({ data }) =>
    expect(data.map(brief).sort()).toEqual([
      'origin gateway   https://new.example 1',
      'refused gateway   id /t/batch 1'.replace('   ', '  '),
      'refused gateway addToCart quantity /p/mug 1',
      'refused gateway addToCart variation /p/mug 1',
      'refused gateway addToCart variation.sku /p/mug 3',
      'refused gateway sendCustomApi email /api/v1/custom_events 1',
      'too_large gateway   /t/r 1',
      'unknown_key gateway  OLDKEY12 https://shop.example 3',
      'wrong_key gateway  api_key /t/r 1',
      'wrong_key gateway  k /api/v1/problems 1',
      'wrong_key gateway  origin /t/r 1',
    ]),
  )
  const { data } = await listOf(gateway, restKey)
  const sku = data.find(({ path }) => path === 'variation.sku') as Problem
  expect(sku.example).toEqual({
    did: 'text of 3 characters',
    event: 'add_to_cart',
    url: 'text of 39 characters',
    http_user_agent: 'text of 70 characters',
    remote_addr: 'text of 9 characters',
    product_id: 12,
    quantity: 1,
    variation: { id: '12-1', sku: 'empty text' },
  })
  expect(sku.fix).toContain('data-track-variation-sku')
  expect(data.find(({ reason }) => reason === 'origin')?.fix).toContain(
    'npx shoptrail customer set shop --origin https://shop.example --origin https://new.example',
  )
  expect(sku.days).toHaveLength(30)
  expect(sku.days.at(-1)).toBe(3)
  expect(errors).toEqual([])
})

const report = (...lines: readonly string[]) => `&p=${encodeURIComponent(lines.join('\n'))}`
const briefs = ({ data }: ProblemList) => data.map(brief).sort()

test('what a page reports is counted with its event, its batch and its question, and from no one else', async () => {
  const gateway = await start()
  const restKey = addShop(gateway)
  const fault = 'invalid,addToCart,variation.sku,/p/12'
  const sku = report(fault, fault)
  expect((await post(gateway, LINE, `k=SHOPKEY1${sku}`)).status).toBe(200)
  // Also with an event that is refused.
  expect((await post(gateway, {}, `k=SHOPKEY1${report('too_old,,,/a,b')}`)).status).toBe(422)
  const ask = { events: [{ id: randomUUID() }] }
  const asked = await send(gateway.url, `/t/batch?k=SHOPKEY1${sku}`, {
    method: 'POST',
    headers: { origin: ORIGIN },
    body: JSON.stringify(ask),
  })
  expect(asked.status).toBe(207)
  // What is no report is no reason to refuse an event.
  for (const p of ['&p=', '&p=%', '&p={', '&p=[]', `&p=${'%E4'.repeat(2_000)}`])
    expect((await post(gateway, LINE, `k=SHOPKEY1${p}`)).status).toBe(200)
  // Without the right credentials, and of a server.
  await post(gateway, LINE, `k=SHOPKEY1${sku}`, { origin: 'https://else.example' })
  await post(gateway, LINE, `k=SHOPKEY1&api_key=wrong${sku}`)
  expect((await post(gateway, LINE, `k=SHOPKEY1&api_key=${restKey}${sku}`)).status).toBe(200)
  await until(gateway, restKey, (list) =>
    expect(briefs(list).filter((text) => text.includes(' page '))).toEqual([
      'invalid page addToCart variation.sku /p/12 4',
      'too_old page   /a,b 1',
    ]),
  )
})

test('stored events are coverage: not duplicates, not those of bots, and those of servers too', async () => {
  const gateway = await start()
  const restKey = addShop(gateway)
  const id = randomUUID()
  for (let i = 0; i < 3; i++) await post(gateway, LINE, `k=SHOPKEY1&id=${id}`)
  await post(gateway, {
    ...LINE,
    http_user_agent: 'Googlebot/2.1 (+http://www.google.com/bot.html)',
  })
  clock += 60_000
  await post(gateway)
  await send(gateway.url, `/api/v1/custom_events?k=${restKey}&u=shop`, {
    method: 'POST',
    body: JSON.stringify({ event: 'quiz', email: 'jane@mail.example' }),
  })
  await until(gateway, restKey, ({ coverage, since }) => {
    expect(since).toBe(new Date(NOON).toISOString())
    expect(coverage.map(({ operation, week, state }) => `${operation} ${week} ${state}`)).toEqual([
      'viewHomepage 0 never',
      'setEmail 0 never',
      'viewProduct 0 never',
      'addToCart 2 comes',
      'removeFromCart 0 never',
      'addToWishlist 0 never',
      'removeFromWishlist 0 never',
      'initiateCheckout 0 never',
      'search 0 never',
      'sendCustom 0 never',
      'sendCustomApi 1 comes',
    ])
    expect(coverage[3]).toMatchObject({
      first: new Date(NOON).toISOString(),
      last: new Date(NOON + 60_000).toISOString(),
      hour: 2,
      usual: null,
    })
  })
})

test('counts last over restarts and days, and gateways over one folder add theirs', async () => {
  const first = await start()
  const restKey = addShop(first)
  await post(first, {})
  await first.close()
  clock += DAY_MS
  const [second, third] = [await start(), await start()]
  await post(second, {})
  await post(third, {})
  await post(third)
  for (const gateway of [second, third])
    await until(gateway, restKey, ({ data, coverage, from, to }) => {
      expect(data).toHaveLength(1)
      expect(data[0]?.days.slice(-3)).toEqual([0, 1, 2])
      expect(coverage[3]?.week).toBe(1)
      expect([from, to]).toEqual(['2024-09-06', '2024-10-05'])
    })
  expect(errors).toEqual([])
})

test('kill -9 loses at most what was counted in the last seconds', async () => {
  const running = await startProcess(prepared.folder)
  const query = 'k=DEMOSHOP'
  const headers = { origin: 'http://localhost:1' }
  await post(running, {}, query, headers)
  await post(running, LINE, query, headers)
  const live = async (url: string) =>
    JSON.parse((await send(url, '/live/problems')).text) as ProblemList
  // The answer contains what this process has counted, and it is stored by then.
  await vi.waitFor(async () => expect((await live(running.url)).data).toHaveLength(1), 5_000)
  await running.end('SIGKILL')
  const again = await startProcess(prepared.folder)
  const { data, coverage } = await live(again.url)
  expect(data.map(brief)).toEqual(['refused gateway viewHomepage did /t/r 1'])
  expect(coverage[3]?.week).toBe(1)
  await again.end('SIGTERM')
})

test('who may see a list: the REST key, or an operator who has signed in', async () => {
  const gateway = await start()
  const restKey = addShop(gateway)
  gateway.customers.add({ customerId: 'second', restKey: 'a-second-rest-key' })
  const statusOf = async (target: string, method = 'GET', headers = {}) =>
    (await send(gateway.url, target, { method, headers })).status
  expect(await statusOf('/api/v1/problems')).toBe(401)
  expect(await statusOf('/api/v1/problems?k=a-second-rest-key&u=shop')).toBe(401)
  expect(await statusOf('/api/v1/problems?k=x&u=nobody')).toBe(404)
  expect(await statusOf('/live/problems?customer=shop')).toBe(401)
  const login = await send(gateway.url, '/live/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ customerId: 'shop', restKey }),
  })
  const cookie = login.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  expect(await statusOf('/live/problems?customer=second', 'GET', { cookie })).toBe(403)
  for (const target of [`/api/v1/problems?k=${restKey}&u=shop`, '/live/problems?customer=shop']) {
    expect(await statusOf(target, 'HEAD', { cookie })).toBe(200)
    const refused = await send(gateway.url, target, { method: 'POST', headers: { cookie } })
    expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS'])
    const { headers } = await send(gateway.url, target, { headers: { cookie } })
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['access-control-allow-origin']).toBeUndefined()
  }
  // A removed customer, and what its pages still send.
  gateway.customers.remove('shop')
  expect((await post(gateway, {})).status).toBe(404)
  expect(await statusOf(`/api/v1/problems?k=${restKey}&u=shop`)).toBe(404)
  expect(await statusOf('/live/problems?customer=shop', 'GET', { cookie })).toBe(401)
})

test('no value of a visitor is in a file or an answer: neither of a refused event, nor of a report, nor of an address', async () => {
  const gateway = await start()
  const restKey = addShop(gateway)
  const MARKERS = [restKey.slice(0, 8), 'jane', 'doe77', 'Secretword', '5550001234']
  const payload = {
    ...LINE,
    did: 'jane-device'.repeat(20),
    url: 'https://jane:Secretword@shop.example/u/jane@doe77.example/5550001234?q=Secretword',
    email_address: 'jane@doe77.example',
    firstname: 'jane',
    search_term: 'doe77 Secretword',
    jane: 'jane',
    quantity: 'jane@doe77.example',
  }
  for (const event of ['add_to_cart', 'set_email', 'search', 'doe77@jane.example'])
    await post(gateway, { ...payload, event }, 'k=SHOPKEY1&v=jane%40x', {
      origin: ORIGIN,
      referer: 'https://shop.example/jane/Secretword',
      'user-agent': 'jane Secretword',
    })
  await post(
    gateway,
    {},
    `k=SHOPKEY1${report('invalid,jane,doe77,/jane@doe77.example/5550001234?Secretword')}`,
  )
  await post(gateway, LINE, 'k=jane%40doe77.example')
  // A shop that puts its REST key into its pages.
  await post(gateway, LINE, `k=${restKey}`)
  await until(gateway, restKey, ({ data }) => {
    // One for each operation of the refused ones, the empty payload, the report, the unknown key.
    expect(data.length).toBeGreaterThanOrEqual(5)
    for (const marker of MARKERS) expect(JSON.stringify(data)).not.toContain(marker)
  })
  const folder = join(prepared.folder, 'data')
  for (const name of readdirSync(folder))
    for (const marker of MARKERS)
      expect([name, marker, readFileSync(join(folder, name)).includes(marker)]).toEqual([
        name,
        marker,
        false,
      ])
  await gateway.close()
  for (const name of readdirSync(folder))
    for (const marker of MARKERS)
      expect(readFileSync(join(folder, name)).includes(marker)).toBe(false)
})

test('/metrics counts problems by reason, also those of an unknown shop, and names customers only by id', async () => {
  const gateway = await start({ metricsPort: 0 })
  addShop(gateway)
  await post(gateway, {}, `k=SHOPKEY1${report(...new Array<string>(7).fill('outbox_full,,,/'))}`)
  await post(gateway, LINE, 'k=NOBODY12', { origin: 'https://nobody.example' })
  const { text } = await send(gateway.metricsUrl ?? '', '/metrics')
  expect(
    text
      .split('\n')
      .filter((line) => /^problems_total/.test(line))
      .sort(),
  ).toEqual([
    'problems_total{reason="outbox_full",source="page"} 7',
    'problems_total{reason="refused",source="gateway"} 1',
    'problems_total{reason="unknown_key",source="gateway"} 1',
  ])
  const others = text.split('\n').filter((line) => !line.startsWith('customer_events_total{'))
  expect(others.join('\n')).not.toMatch(/shop|nobody/i)
  expect(text).not.toMatch(/SHOPKEY1|nobody/i)
})

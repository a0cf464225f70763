import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, prepareGateway, send } from '../../test/gateway.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { DEMO_CUSTOMER_ID, type Gateway } from '../index.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
let clock = 0
const shop = { customerId: 'shop', restKey: '' }
const other = { customerId: 'other', restKey: '' }

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start({ demo: true, now: () => Date.now() + clock })
  for (const one of [shop, other])
    one.restKey = gateway.customers.add({ customerId: one.customerId, name: 'A shop' }).restKey
  REMOTE.host += `:${gateway.port}`
})
afterAll(() => prepared.end())

const get = (target: string, headers: Record<string, string> = {}) =>
  send(gateway.url, target, { headers })
const post = (
  target: string,
  body: unknown,
  headers: Record<string, string> = {},
  peer = '127.0.0.1',
) =>
  send(gateway.url, target, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    peer,
  })
const cookieOf = ({ headers }: Answer) => headers['set-cookie']?.[0]?.split(';')[0] ?? ''
const signIn = async (credentials: typeof shop, cookie = '') =>
  cookieOf(await post('/live/login', credentials, { cookie }))
const idsOf = ({ text }: Answer) =>
  JSON.parse(text).map(({ customerId }: { customerId: string }) => customerId)

/** A viewer on another machine who reaches the same port. */
const REMOTE = { host: 't.shop.example' }

const append = (customer: string, event: string, count = 1) =>
  gateway.log.append(
    Array.from(
      { length: count },
      (): LogEvent => ({
        customer,
        id: randomUUID(),
        at: 1,
        receivedAt: 2,
        operation: 'viewHomepage',
        event,
        did: 'd-1',
        bot: false,
        version: null,
        payload: `{"event":"${event}"}`,
      }),
    ),
  )

type Message = { seq: number; event: string; payload: { event: string } }

/** Opens a stream and waits for messages. The rest of the stream is cut off. */
function watch(target: string, headers: Record<string, string> = {}) {
  const messages: Message[] = []
  let text = ''
  let wake = () => {}
  const { hostname, port } = new URL(gateway.url)
  const opened = request({ hostname, port, path: target, headers, agent: false })
  const ended = new Promise<void>((resolve) => {
    opened.on('error', () => resolve())
    opened.on('response', (response) => {
      response.on('data', (chunk) => {
        text += chunk
        messages.splice(0)
        for (const [, data] of text.matchAll(/^event: event\nid: .*\ndata: (.*)\n\n/gm))
          messages.push(JSON.parse(data as string))
        wake()
      })
      response.on('error', () => resolve())
      response.on('close', () => resolve())
    })
  })
  opened.end()
  return {
    messages,
    text: () => text,
    ended,
    stop: () => opened.destroy(),
    async until(condition: () => boolean) {
      while (!condition())
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    },
  }
}

test('on localhost the demo customer is visible without a sign-in', async () => {
  const answer = await get('/live/customers')
  expect(answer.status).toBe(200)
  expect(JSON.parse(answer.text)).toEqual([
    {
      customerId: DEMO_CUSTOMER_ID,
      name: 'Demo shop',
      trackingKey: 'DEMOSHOP',
      demo: true,
      origin: null,
      quota: {
        events: { used: 0, limit: 10_000_000 },
        bytes: { used: 0, limit: 20 * 2 ** 30 },
        servers: {
          events: { used: 0, limit: 10_000_000 },
          bytes: { used: 0, limit: 20 * 2 ** 30 },
        },
        secondsLeft: expect.any(Number),
      },
    },
  ])
})

test.each<[string, Record<string, string>]>([
  ['another Host', REMOTE],
  ['a proxy in between', { 'x-forwarded-for': '127.0.0.1' }],
  ['an invalid cookie', { ...REMOTE, cookie: 'shoptrail=nothing' }],
])('%s sees no customer', async (_, headers) => {
  expect((await get('/live/customers', headers)).status).toBe(401)
  expect((await get('/live/events?customer=demo', headers)).status).toBe(401)
})

test('without the demo no customer can be seen without a sign-in', async () => {
  const plain = await prepared.start()
  expect((await send(plain.url, '/live/customers')).status).toBe(401)
  expect((await send(plain.url, '/shop/')).status).toBe(404)
  expect(JSON.parse((await send(plain.url, '/')).text)).toHaveProperty('name', 'shoptrail')
})

test('the restKey opens its customer, by a cookie that scripts and other sites do not get', async () => {
  const answer = await post('/live/login', shop)
  expect(answer.status).toBe(200)
  expect(answer.text).not.toContain(shop.restKey)
  const cookie = answer.headers['set-cookie']?.[0] ?? ''
  const [name, attributes] = [`shoptrail-${gateway.port}`, cookie.slice(cookie.indexOf(';'))]
  expect(cookie).toMatch(new RegExp(`^${name}=[\\w-]{43};`))
  expect(attributes).toBe('; Max-Age=43200; Path=/; HttpOnly; SameSite=Strict')
  const session = { ...REMOTE, cookie: cookieOf(answer) }
  expect(idsOf(await get('/live/customers', session))).toEqual(['shop'])
  expect((await get('/live/events?customer=other', session)).status).toBe(403)
})

test('the cookie is for the path of the gateway, as the page sees it', async () => {
  const pathOf = (answer: Answer) => /; Path=([^;]*)/.exec(answer.headers['set-cookie']?.[0] ?? '')
  const login = await post('/live/login', { ...shop, path: '/st/' })
  expect(pathOf(login)?.[1]).toBe('/st/')
  const logout = await post('/live/logout', { path: '/st/' }, { cookie: cookieOf(login) })
  expect(pathOf(logout)?.[1]).toBe('/st/')
  expect(logout.headers['set-cookie']?.[0]).toContain('Max-Age=0')
})

test.each(['', 'st/', '/a; Domain=shop.example', '/a\nb', `/${'a'.repeat(256)}`, 1, null])(
  'what is not a path of a cookie is refused: %j',
  async (path) => {
    for (const answer of [
      await post('/live/login', { ...shop, path }),
      await post('/live/logout', { path }),
    ]) {
      expect(answer.status).toBe(422)
      expect(answer.headers).not.toHaveProperty('set-cookie')
    }
  },
)

test.each<[string, Record<string, string>, boolean]>([
  ['X-Forwarded-Proto of a trusted proxy', { 'x-forwarded-proto': 'https' }, true],
  [
    'the Origin of the browser, whatever the proxy sends',
    { origin: 'https://t.shop.example' },
    true,
  ],
  ['neither of them', { origin: 'http://t.shop.example' }, false],
  ['a proxy that forwards an invalid scheme', { 'x-forwarded-proto': 'javascript' }, false],
])('over https the cookie is Secure: %s', async (_, headers, isSecure) => {
  const behind = await prepared.start({ trustedProxies: ['127.0.0.9'] })
  const answer = await send(behind.url, '/live/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(shop),
    peer: '127.0.0.9',
  })
  expect(answer.status).toBe(200)
  expect(answer.headers['set-cookie']?.[0]?.includes('; Secure')).toBe(isSecure)
})

test('gateways on one host have cookies of their own: a browser sends both to each', async () => {
  const cookieOn = async (host: string) => cookieOf(await post('/live/login', shop, { host }))
  const [ours, theirs, usual] = [
    await cookieOn('t.shop.example:81'),
    await cookieOn('t.shop.example:82'),
    await cookieOn('t.shop.example'),
  ]
  expect([ours, theirs, usual].map((cookie) => cookie.split('=')[0])).toEqual([
    'shoptrail-81',
    'shoptrail-82',
    'shoptrail',
  ])
  const statusOn = async (host: string, cookie: string) =>
    (await get('/live/customers', { host, cookie })).status
  expect(await statusOn('t.shop.example:81', `${theirs}; ${usual}; ${ours}`)).toBe(200)
  expect(await statusOn('t.shop.example:81', `${theirs}; ${usual}`)).toBe(401)
  expect(await statusOn('t.shop.example', `${theirs}; ${ours}`)).toBe(401)
  expect(await statusOn('t.shop.example', `${theirs}; ${ours}; ${usual}`)).toBe(200)
})

test('a second sign-in adds its customer and ends the first session', async () => {
  const first = await signIn(shop)
  const second = await signIn(other, first)
  expect(second).not.toBe(first)
  expect(idsOf(await get('/live/customers', { ...REMOTE, cookie: second }))).toEqual([
    'shop',
    'other',
  ])
  expect((await get('/live/customers', { ...REMOTE, cookie: first })).status).toBe(401)
})

test('signing out ends the session', async () => {
  const cookie = await signIn(shop)
  const answer = await post('/live/logout', {}, { cookie })
  expect(answer.headers['set-cookie']?.[0]).toContain('Max-Age=0')
  expect((await get('/live/customers', { ...REMOTE, cookie })).status).toBe(401)
})

test.each(['text/plain', 'application/x-www-form-urlencoded', ''])(
  'a page of another origin can not sign out: type %j',
  async (type) => {
    const cookie = await signIn(shop)
    const answer = await post('/live/logout', {}, { cookie, 'content-type': type })
    expect(answer.status).toBe(415)
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect((await get('/live/customers', { ...REMOTE, cookie })).status).toBe(200)
  },
)

test('a session ends with its day, and with the key that opened it', async () => {
  const cookie = await signIn(shop)
  clock += 12 * 3_600_000
  expect((await get('/live/customers', { ...REMOTE, cookie })).status).toBe(401)
  const next = await signIn(shop)
  shop.restKey = gateway.customers.rotate('shop', 'rest') as string
  expect((await get('/live/customers', { ...REMOTE, cookie: next })).status).toBe(401)
})

test.each<[string, unknown, Record<string, string>, number]>([
  ['a wrong key', { customerId: 'shop', restKey: 'wrong' }, {}, 401],
  ['an unknown customer', { customerId: 'nobody', restKey: 'wrong' }, {}, 401],
  ['no key', { customerId: 'shop' }, {}, 422],
  ['no text', { customerId: ['shop'], restKey: {} }, {}, 422],
  ['nothing', null, {}, 422],
  ['a form’s text', shop, { 'content-type': 'text/plain' }, 415],
  ['too much', { customerId: 'x'.repeat(5_000) }, {}, 413],
])('a sign-in with %s is refused', async (_, body, headers, status) => {
  const answer = await post('/live/login', body, headers, '127.0.0.3')
  expect(answer.status).toBe(status)
  expect(answer.headers).not.toHaveProperty('set-cookie')
  expect(JSON.parse(answer.text)).toHaveProperty('message')
})

test('a viewer gets the last 200 events of the customer in order, then each new one', async () => {
  for (let i = 0; i < 205; i++) await append(DEMO_CUSTOMER_ID, `e${i}`)
  await append('shop', 'not for you')
  const view = watch('/live/events?customer=demo')
  await view.until(() => view.messages.length === 200)
  expect(view.messages.map(({ event }) => event)).toEqual(
    Array.from({ length: 200 }, (_, i) => `e${i + 5}`),
  )
  expect(view.text()).toMatch(
    /^retry: 1000\nevent: start\nid: \d+\ndata: start\n\nevent: event\nid: \d+\ndata: /,
  )
  expect(view.messages[0]).toMatchObject({
    seq: expect.any(Number),
    id: expect.any(String),
    at: 1,
    receivedAt: 2,
    operation: 'viewHomepage',
    did: 'd-1',
    bot: false,
    version: null,
    payload: { event: 'e5' },
  })
  await append(DEMO_CUSTOMER_ID, 'new 1')
  await append('shop', 'not for you either')
  await append(DEMO_CUSTOMER_ID, 'new 2')
  await view.until(() => view.messages.length === 202)
  expect(view.messages.slice(-2).map(({ event }) => event)).toEqual(['new 1', 'new 2'])
  view.stop()
})

test('a view that connects again continues after its last event', async () => {
  const { log } = gateway
  const tail = await log.findTail(DEMO_CUSTOMER_ID, 3)
  const records = await log.read({ ...tail, customer: DEMO_CUSTOMER_ID, max: 3 })
  const view = watch('/live/events', { 'last-event-id': `${records[0]?.seq}` })
  await view.until(() => view.messages.length === 2)
  expect(view.messages.map(({ seq }) => seq)).toEqual(records.slice(1).map(({ seq }) => seq))
  view.stop()
})

test('a view that was disconnected for long gets all events, page by page', async () => {
  for (let i = 0; i < 50; i++) await append(DEMO_CUSTOMER_ID, `more ${i}`)
  const [first] = await gateway.log.read({ max: 1, customer: DEMO_CUSTOMER_ID })
  const view = watch('/live/events', { 'last-event-id': `${first?.seq}` })
  await view.until(() => view.messages.at(-1)?.event === 'more 49')
  expect(view.messages).toHaveLength(256)
  view.stop()
})

test('a page that opens its stream again continues by the position in the address', async () => {
  const [first, second] = await gateway.log.read({ max: 2, customer: DEMO_CUSTOMER_ID })
  const view = watch(`/live/events?after=${first?.seq}`)
  await view.until(() => view.messages.length > 0)
  expect(view.text()).toContain(`event: start\nid: ${first?.seq}\n`)
  expect(view.messages[0]?.seq).toBe(second?.seq)
  view.stop()
  // The browser's own header is newer than the address.
  const again = watch(`/live/events?after=${first?.seq}`, { 'last-event-id': `${second?.seq}` })
  await again.until(() => again.messages.length > 0)
  expect(again.messages[0]?.seq).toBeGreaterThan(second?.seq ?? 0)
  again.stop()
})

test('a view that began without events gets every later one, however many', async () => {
  const { customer, restKey } = gateway.customers.add()
  const { customerId } = customer
  const cookie = await signIn({ customerId, restKey })
  const empty = watch(`/live/events?customer=${customerId}`, { cookie })
  await empty.until(() => empty.text().includes('event: start'))
  const start = /id: (\d+)/.exec(empty.text())?.[1]
  empty.stop()
  for (let i = 0; i < 201; i++) await append(customerId, `later ${i}`)
  const view = watch(`/live/events?customer=${customerId}&after=${start}`, { cookie })
  await view.until(() => view.messages.at(-1)?.event === 'later 200')
  expect(view.messages).toHaveLength(201)
  view.stop()
})

test('a view that has missed more than 20,000 events begins like a new one', async () => {
  const { customer, restKey } = gateway.customers.add()
  const { customerId } = customer
  const cookie = await signIn({ customerId, restKey })
  for (let i = 0; i < 10; i++) await append(customerId, 'later', 2_010)
  const [first] = await gateway.log.read({ customer: customerId, max: 1 })
  const seq = first?.seq ?? 0
  const count = async (after: number) => {
    const view = watch(`/live/events?customer=${customerId}&after=${after}`, { cookie })
    await view.until(() => view.messages.at(-1)?.event === 'last')
    view.stop()
    return view.messages.length
  }
  await append(customerId, 'last')
  expect(await count(seq)).toBe(200)
  expect(await count(seq + 19_800)).toBe(300)
})

test.each(['999999999', '-1', '1.5', 'x', ''])(
  'what is not a position of this log is not used: %s',
  async (after) => {
    const view = watch(`/live/events?after=${after}`)
    await view.until(() => view.messages.length === 200)
    view.stop()
  },
)

test('a position of another log is not used', async () => {
  const view = watch('/live/events', { 'last-event-id': '999999999' })
  await view.until(() => view.messages.length === 200)
  view.stop()
})

/** A view of a shop in which something happens all the time. */
async function watchBusy(customerId: string, cookie: string) {
  const view = watch(`/live/events?customer=${customerId}`, { ...REMOTE, cookie })
  const busy = setInterval(() => append(customerId, 'busy').catch(() => {}), 10)
  view.ended.then(() => clearInterval(busy))
  await view.until(() => view.messages.length > 0)
  return view
}

test.each<[string, (customerId: string, cookie: string) => unknown]>([
  ['signed_out', (_, cookie) => post('/live/logout', {}, { cookie })],
  ['signed_out', () => (clock += 12 * 3_600_000)],
  ['key_changed', (id) => gateway.customers.rotate(id, 'rest')],
  ['removed', (id) => gateway.customers.remove(id)],
])('a view of a busy shop ends with the reason: %s', async (reason, revoke) => {
  const { customer, restKey } = gateway.customers.add()
  const { customerId } = customer
  const cookie = await signIn({ customerId, restKey })
  const view = await watchBusy(customerId, cookie)
  await revoke(customerId, cookie)
  await view.ended
  expect(view.text().endsWith(`event: end\ndata: {"reason":"${reason}"}\n\n`)).toBe(true)
})

test('a further sign-in does not end open views', async () => {
  const { customer, restKey } = gateway.customers.add()
  const { customerId } = customer
  const first = await signIn({ customerId, restKey })
  const view = await watchBusy(customerId, first)
  const second = await signIn(other, first)
  const soon = performance.now() + 1_500
  await view.until(() => performance.now() > soon)
  expect(view.text()).not.toContain('event: end')
  await post('/live/logout', {}, { cookie: second })
  await view.ended
  expect(view.text()).toContain('{"reason":"signed_out"}')
})

test('a new tracking key is in the next answer', async () => {
  const { customer, restKey } = gateway.customers.add()
  const { customerId } = customer
  const cookie = await signIn({ customerId, restKey })
  const trackingKey = gateway.customers.rotate(customerId, 'tracking')
  const listed = await get('/live/customers', { ...REMOTE, cookie })
  expect(JSON.parse(listed.text)).toMatchObject([{ customerId, trackingKey }])
})

test('a view shows events of a second gateway over the same data', async () => {
  const second = await prepared.start()
  const view = watch('/live/events?customer=demo')
  await view.until(() => view.messages.length === 200)
  const id = randomUUID()
  await second.log.append([
    {
      customer: DEMO_CUSTOMER_ID,
      id,
      at: 1,
      receivedAt: 2,
      operation: 'viewHomepage',
      event: 'from the second',
      did: 'd-1',
      bot: false,
      version: null,
      payload: '{}',
    },
  ])
  await view.until(() => view.messages.at(-1)?.event === 'from the second')
  view.stop()
})

test('open views end when the gateway stops, and do not hold it up', async () => {
  const view = watch('/live/events')
  await view.until(() => view.messages.length === 200)
  const head = await send(gateway.url, '/live/events', { method: 'HEAD' })
  expect(head.status).toBe(200)
  await gateway.close()
  await view.ended
})

test('the pages have a strict policy and safe types', async () => {
  const fresh = await prepared.start({ demo: true })
  const page = await send(fresh.url, '/live/')
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(page.headers['content-security-policy']).toContain("default-src 'none'")
  expect(page.headers['x-frame-options']).toBe('DENY')
  expect((await send(fresh.url, '/live')).headers.location).toBe('live/')
  expect((await send(fresh.url, '/live?customer=a%2Fb')).headers.location).toBe(
    'live/?customer=a%2Fb',
  )
  expect((await send(fresh.url, '/')).headers.location).toBe('shop/')
  const script = await send(fresh.url, '/shop/page.js')
  expect(script.headers['content-type']).toMatch(/^text\/javascript/)
  expect((await send(fresh.url, '/shop/cup.svg')).headers['content-type']).toMatch(/^image\/svg/)
})

test.each([
  '/shop/../secret.txt',
  '/shop/..%2fsecret.txt',
  '/shop/%2e%2e/secret.txt',
  '/shop/..\\secret.txt',
  '/live/..%5csecret.txt',
  '/shop//secret.txt',
  '/secret.txt',
  '/shop/%00',
])('no file outside the folder is read: %s', async (target) => {
  const fresh = await prepared.start({ demo: true })
  const answer = await send(fresh.url, target)
  expect([400, 404]).toContain(answer.status)
  expect(answer.text).not.toContain('outside')
  await fresh.close()
})

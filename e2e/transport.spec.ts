import { rmSync } from 'node:fs'
import type { Page } from '@playwright/test'
import { type Fault, type Seen, startFaultProxy } from './faultProxy.ts'
import { expect, expectNothingKept, keptIn, search, stopClock, test } from './fixtures.ts'
import { addCustomer, loadGateway, makeFolder } from './gateway.ts'
import { startShop } from './shopServer.ts'

// The gateway's answers, and missing answers.

/** The notices of the page, in order. */
const notices = (page: Page) =>
  page.evaluate(() => (window as unknown as { notices: string[] }).notices)

/** Listens to the notices from the start of a page. */
const LISTEN = `<script>notices=[];for(const kind of ['delivered','held','dropped'])
  track.on(kind,({reason,status,message})=>notices.push([kind,reason,status,message].filter(Boolean).join(' ')))</script>`

/** For each request, whether it sent events or asked about them. */
const sentIn = (seen: readonly Seen[]) =>
  seen.map(({ ids, asked }) => `${ids.length ? 'sent' : ''}${asked.length ? 'asked' : ''}`)
const SENT_AGAIN = ['sent', 'asked', 'sent']

/** Longer than the first wait of a backoff, ms. */
const BACKOFF_MS = 3000
/**
 * Longer than the first wait of a backoff and the longest wait for the events of an earlier page, ms: a page that does
 * not get the tab lock, since that page has not given it back yet, waits up to 8 seconds.
 */
const HAND_OFF_MS = 12_000

const PASSING: Record<string, Fault> = {
  500: { status: 500, body: { message: 'Something went wrong here' } },
  '500 with a page': { status: 500, body: '<h1>Error</h1>' },
  502: { status: 502, body: '<h1>Bad gateway</h1>', cors: false },
  503: { status: 503, body: { message: 'Not ready' } },
  504: { status: 504, body: '', cors: false },
  408: { status: 408, body: { message: 'The request took too long to arrive' } },
  425: { status: 425, body: { message: 'Too early' } },
  429: { status: 429, body: { message: 'Too many' } },
  'the connection closed before the answer, the event not stored': 'lose',
  'the connection closed before the answer, the event stored': 'loseAnswer',
}

test('an event is sent again after each temporary fault', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  wire.delayMs = 0
  const clock = await stopClock(page)
  await page.goto(shop.page('/a', { body: LISTEN }))
  const terms: string[] = []
  for (const [name, fault] of Object.entries(PASSING))
    await test.step(name, async () => {
      const [requests, earlier] = [wire.events.length, (await notices(page)).length]
      const latest = async () => (await notices(page)).slice(earlier)
      terms.push(name)
      wire.next(fault)
      await search(page, name)
      await expect.poll(latest).toEqual([expect.stringMatching('held')])
      await clock.pass(BACKOFF_MS)
      await expectStored(terms)
      await expect.poll(latest).toEqual([expect.stringMatching('held'), 'delivered'])
      expect(await keptIn(page)).toBe(0)
      // If the gateway may have the event, the page asks first, and sends it only if it is missing.
      const isMissing = name.startsWith('4')
      expect(sentIn(wire.events.slice(requests))).toEqual(
        isMissing ? ['sent', 'sent'] : fault === 'loseAnswer' ? ['sent', 'asked'] : SENT_AGAIN,
      )
    })
})

test('a connection ends before the answer: sent again in real time @both', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a', { body: LISTEN }))
  wire.next('loseAnswer')
  await search(page, 'stored')
  await expectStored(['stored'])
  await expectNothingKept(page)
  wire.next('lose')
  await search(page, 'lost')
  await expectStored(['stored', 'lost'])
  await expectNothingKept(page)
  expect(sentIn(wire.events)).toEqual(['sent', 'asked', ...SENT_AGAIN])
})

test('503, lost answers and error pages in turn for a while: each event is stored once', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const faults: Fault[] = [
    { status: 503 },
    'loseAnswer',
    { status: 502, body: '<h1>x</h1>' },
    'lose',
  ]
  let n = 0
  wire.always(() => faults[n++])
  wire.delayMs = 0
  const clock = await stopClock(page)
  await page.goto(shop.page('/a'))
  await search(page, 'one', 'two', 'three')
  await clock.pass(60_000)
  await expectStored(['one', 'two', 'three'])
  await expectNothingKept(page)
})

for (const [name, header] of [
  ['seconds', () => '3600'],
  ['a date', (now: number) => new Date(now + 3_600_000).toUTCString()],
] as const)
  test(`429 with Retry-After in ${name}: not sent earlier, except by a new page`, async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    const clock = await stopClock(page)
    wire.delayMs = 0
    const now = Date.now()
    wire.next({ status: 429, headers: { 'retry-after': header(now) }, body: { message: 'Later' } })
    await page.goto(shop.page('/a'))
    // The page receives the proxy's answer a moment later.
    const held = page.evaluate(() => new Promise((done) => track.on('held', done)))
    await search(page, 'one')
    expect(await held).toMatchObject({ status: 429 })
    await search(page, 'two')
    await clock.jump(55 * 60_000)
    await clock.pass(20_000)
    expect(wire.events).toHaveLength(1)
    await clock.jump(5 * 60_000)
    await expectStored(['one', 'two'])
  })

test('a request without an answer times out, is sent again, and is stored once @both', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  // The browser's own timeout, which a stopped clock would replace. Only the first request has a short one: on a busy
  // machine an answer may take longer.
  await page.addInitScript(() => {
    const timeout = AbortSignal.timeout
    AbortSignal.timeout = () => {
      AbortSignal.timeout = timeout
      return timeout.call(AbortSignal, 3_000)
    }
  })
  wire.next('hang')
  await page.goto(shop.page('/a'))
  await search(page, 'one')
  await expectStored(['one'])
  await expectNothingKept(page)
  expect(sentIn(wire.events)).toEqual(SENT_AGAIN)
})

test('slow answers during a navigation: every event is stored once', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  wire.always({ slowMs: 1000 })
  await page.goto(shop.page('/a'))
  await search(page, 'one', 'two', 'three')
  await page.goto(shop.page('/b'))
  await search(page, 'four')
  await page.goto(shop.page('/c'))
  await expectStored(['one', 'two', 'three', 'four'])
  await expectNothingKept(page)
})

test('400, 413 and 422 that name the event are final: reported, not retried, and other events are not blocked', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a', { body: LISTEN }))
  const terms: string[] = []
  for (const status of [400, 413, 422]) {
    const earlier = (await notices(page)).length
    let isFirst = true
    wire.always(({ ids: [id] }) => {
      if (!isFirst) return
      isFirst = false
      return { status, body: { id, message: 'For this reason' } }
    })
    await search(page, 'refused')
    await expect
      .poll(async () => (await notices(page)).slice(earlier))
      .toEqual([`dropped refused ${status} For this reason`])
    expect(await keptIn(page)).toBe(0)
    terms.push(`${status}`)
    await search(page, `${status}`)
    await expectStored(terms)
    await expectNothingKept(page)
  }
  await page.goto(shop.page('/b'))
  await search(page, 'after')
  await expectStored([...terms, 'after'])
  expect(wire.events).toHaveLength(7)
})

/** Refusals that name no event: a wrong address or setting, which can be fixed. */
const HELD = [
  [400, 'Bad request'],
  [401, { message: 'Unauthorized' }],
  [403, { message: 'Forbidden' }],
  [404, { message: 'No customer has this tracking key' }],
  [413, { message: 'Request Too Long' }],
  [422, { message: 'Unprocessable' }],
] as const

test('after a status that does not name the event, it waits, also on the next pages', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  wire.delayMs = 0
  const clock = await stopClock(page)
  const terms: string[] = []
  for (const [status, body] of HELD)
    await test.step(`${status}`, async () => {
      wire.always({ status, body })
      for (const path of ['/a', '/b']) {
        await page.goto(shop.page(path, { body: LISTEN }))
        terms.push(`${status} ${path}`)
        await search(page, `${status} ${path}`)
        await expect.poll(async () => (await notices(page))[0]).toBe(`held ${status}`)
        await clock.pass(10)
      }
      expect(await keptIn(page)).toBe(2)
      wire.heal()
      await clock.pass(HAND_OFF_MS)
      await expectStored(terms)
      await expectNothingKept(page)
      expect(await notices(page)).not.toContainEqual(expect.stringContaining('dropped'))
    })
})

test('the customer does not allow the origin, and later does', async ({
  page,
  shop,
  gateway,
  customer,
  stored,
  expectStored,
}) => {
  const { origins = [] } = gateway.customers.find(customer.customerId) ?? {}
  gateway.customers.change(customer.customerId, { origins: ['https://shop.example'] })
  await page.goto(shop.page('/a', { body: LISTEN }))
  await search(page, 'one')
  await expect.poll(async () => (await notices(page))[0]).toBe('held 403')
  expect(await keptIn(page)).toBe(1)
  expect(await stored()).toEqual([])
  gateway.customers.change(customer.customerId, { origins })
  await expectStored(['one'], { timeout: 30_000 })
  await expectNothingKept(page)
})

test('a burst of new events waits as long as the gateway asks', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const clock = await stopClock(page)
  wire.next({ status: 429, headers: { 'retry-after': '5' }, body: { message: 'Too many' } })
  await page.goto(shop.page('/a', { body: LISTEN }))
  await search(page, 'one')
  await expect.poll(() => notices(page)).toEqual(['held 429'])
  const terms = Array.from({ length: 50 }, (_, n) => `${n}`)
  await search(page, ...terms)
  await clock.pass(4900)
  expect(wire.events).toHaveLength(1)
  await clock.pass(100)
  await expectStored(['one', ...terms])
})

/** Puts an event directly into the outbox, like one from an older version of the script. */
const leave = (page: Page, key: string, n: number, payload: object) =>
  page.evaluate(
    ([name, value]) => localStorage.setItem(name as string, value as string),
    [
      `track.e.01900000-0000-7000-8000-00000000000${n}`,
      `${Date.now() - 60_000 + n} ${key} ${JSON.stringify(payload)}`,
    ],
  )

test('in a batch each event has its own verdict', async ({
  page,
  shop,
  wire,
  customer,
  expectStored,
}) => {
  await page.goto(shop.page('/a', { head: '' }))
  const did = '6f1d5c9e-2f4b-4d6a-8f3e-1b2c3d4e5f60'
  const good = (search_term: string) => ({ did, event: 'search', search_term, url: page.url() })
  await leave(page, customer.trackingKey, 1, good('one'))
  await leave(page, customer.trackingKey, 2, { ...good('two'), url: 'nowhere' })
  await leave(page, customer.trackingKey, 3, good('three'))
  await page.goto(shop.page('/b', { body: LISTEN }))
  await expectStored(['one', 'three'])
  await expectNothingKept(page)
  expect((await notices(page)).map((notice) => notice.split(' ', 3).join(' ')).sort()).toEqual([
    'delivered',
    'delivered',
    'dropped refused 422',
  ])
  expect(sentIn(wire.events)).toEqual(['asked', 'sent'])
})

test('a batch that is too large is split', async ({ page, shop, wire, expectStored }) => {
  wire.always(({ body }) =>
    body.length > 3000 ? { status: 413, body: { message: 'Too large' } } : undefined,
  )
  await page.goto(shop.page('/a'))
  const terms = Array.from({ length: 20 }, (_, n) => `${n}`.padStart(2, '0'))
  await search(page, ...terms)
  await expectStored(terms, { timeout: 30_000 })
  await expectNothingKept(page)
})

test('an answer that names another event does not acknowledge', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  wire.next({ status: 200, body: { id: '01900000-0000-7000-8000-000000000009' } })
  await page.goto(shop.page('/a'))
  await search(page, 'one')
  await expectStored(['one'])
  await expectNothingKept(page)
  expect(sentIn(wire.events)).toEqual(SENT_AGAIN)
})

test.describe('with another service than this gateway', () => {
  test.use({ config: { anyOk: true, batch: false } })
  test('any 2xx acknowledges, and each event has its own request', async ({ page, shop, wire }) => {
    wire.always({ status: 204 })
    await page.goto(shop.page('/a'))
    await search(page, 'one', 'two', 'three')
    await expectNothingKept(page)
    expect(wire.events.map(({ path }) => path)).toEqual(['/t/r', '/t/r', '/t/r'])
  })
})

// Faults of the page: the tag's address redirects, or the page wraps fetch.

test('the tag’s address redirects: events go to the gateway’s PUBLIC_URL', async ({ page }) => {
  const folder = makeFolder('redirected')
  const own = await startFaultProxy('http://127.0.0.1:9')
  const { startGateway } = await loadGateway()
  const gateway = await startGateway({
    dataDir: folder,
    publicUrl: own.url,
    trustedProxies: ['127.0.0.1'],
  })
  own.target = gateway.url
  const moved = await startFaultProxy(gateway.url)
  moved.always({ status: 301, headers: { location: `${own.url}/t/r` } })
  const { customerId, trackingKey } = addCustomer(gateway)
  const shop = await startShop(moved.url, trackingKey)
  try {
    await page.goto(shop.page('/a', { body: LISTEN }))
    await search(page, 'one', 'two')
    await expectNothingKept(page)
    expect(await notices(page)).toEqual(['held 308', 'held 308', 'delivered', 'delivered'])
    await search(page, 'three')
    await expectNothingKept(page)
    const rows = await gateway.log.read({ customer: customerId, max: 10 })
    expect(rows.map(({ payload }) => JSON.parse(payload).search_term)).toEqual([
      'one',
      'two',
      'three',
    ])
    expect([sentIn(moved.events), sentIn(own.events)]).toEqual([['sent'], ['sent', 'sent']])
  } finally {
    await shop.close()
    await moved.close()
    await own.close()
    await gateway.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a wrapper of fetch reads the answer: each event is sent at most twice, and the outbox empties', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const terms: string[] = []
  for (const read of ['text', 'json']) {
    const wrap = `<script>const own=fetch;fetch=async(...given)=>{const answer=await own(...given);await answer.${read}();return answer}</script>`
    await page.goto(shop.page(`/${read}`, { head: wrap + shop.tag() }))
    terms.push(`${read} one`, `${read} two`)
    await search(page, `${read} one`, `${read} two`)
    await expectStored(terms)
    await expectNothingKept(page)
  }
  expect(sentIn(wire.events)).toEqual(['sent', 'asked', 'sent', 'asked'])
})

test('a wrapper of fetch reads the answer, and one of two events is lost: both are sent again', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const wrap = `<script>const own=fetch;fetch=async(...given)=>{const answer=await own(...given);await answer.text();return answer}</script>`
  await page.goto(shop.page('/a', { head: wrap + shop.tag() }))
  wire.next('lose')
  await search(page, 'one', 'two')
  await expectStored(['one', 'two'], { timeout: 30_000 })
  await expectNothingKept(page)
  expect(sentIn(wire.events)).toEqual(['sent', 'asked', 'sent', 'asked'])
})

test('a page that tracks each of its requests: no endless chain of requests', async ({
  page,
  shop,
  wire,
  stored,
}) => {
  const wrap = `<script>const own=fetch;fetch=(...given)=>{track.search({search_term:'request'});return own(...given)}</script>`
  await page.goto(shop.page('/a', { head: wrap + shop.tag() }))
  await search(page, 'one')
  await expectNothingKept(page)
  await page.evaluate(() => track.flush())
  expect((await stored()).map(({ payload }) => payload.search_term)).toEqual(['one'])
  expect(wire.events).toHaveLength(1)
})

import { findBrowsers, type WebKit } from './browsers.mjs'
import { test as base, expect } from './fixtures.ts'
import { startWebKit, type WebKitDriver, type WebKitPage } from './webkit.ts'

// The essential paths in WebKit, Safari's engine, which has no Navigation API.

// In one worker, so that there is one driver.
base.describe.configure({ mode: 'default' })

/** Collects the errors of the page. */
const COLLECT = `<script>
  window.faults = []
  addEventListener('error', (event) => faults.push(event.message))
  addEventListener('unhandledrejection', (event) => faults.push(String(event.reason)))
</script>`

type Collected = Window & { faults: string[] }

const test = base.extend<{ webkit: WebKitPage; head: string }, { driver: WebKitDriver }>({
  driver: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of fixtures from this pattern.
    async ({}, use) => {
      const driver = await startWebKit((await findBrowsers()).webkit as WebKit)
      await use(driver)
      await driver.end()
    },
    { scope: 'worker' },
  ],
  // `watch` of other specs needs a browser of Playwright. Here pages collect their errors with COLLECT.
  // biome-ignore lint/correctness/noEmptyPattern: As above.
  watch: async ({}, use) => use({ add: () => {}, faults: [] }),
  webkit: async ({ driver }, use) => {
    const page = await driver.open()
    await use(page)
    expect(await page.evaluate(() => (window as unknown as Collected).faults)).toEqual([])
    await page.close()
  },
  head: async ({ shop }, use) => use(COLLECT + shop.tag()),
})

const kept = (page: WebKitPage) =>
  page.evaluate(
    () => Object.keys(localStorage).filter((name) => name.startsWith('track.e.')).length,
  )

test('a helper’s event is stored, with the same device id on the next page', async ({
  webkit,
  shop,
  head,
  expectStored,
}) => {
  await webkit.goto(shop.page('/a', { head }))
  expect(await webkit.evaluate(() => 'navigation' in window)).toBe(false)
  await webkit.evaluate(() => track.search({ search_term: 'mug' }))
  await webkit.goto(shop.page('/b', { head }))
  await webkit.evaluate(() => track.viewProduct({ product_id: '7' }))
  const rows = await expectStored([
    { operation: 'search', payload: { search_term: 'mug', url: `${shop.url}/a` } },
    { operation: 'viewProduct', payload: { product_id: '7', url: `${shop.url}/b` } },
  ])
  expect(rows[0]?.payload.http_user_agent).toContain('AppleWebKit')
  expect(rows[0]?.did).toMatch(/^[\da-f-]{36}$/)
  expect(rows[1]?.did).toBe(rows[0]?.did)
  await expect.poll(() => kept(webkit)).toBe(0)
})

test('an invalid payload makes no request, and the helper returns the reason', async ({
  webkit,
  shop,
  wire,
  head,
}) => {
  await webkit.goto(shop.page('/a', { head }))
  const answer = await webkit.evaluate(() => track.search({ search_term: '' }))
  expect(answer).toMatchObject({
    ok: false,
    error: { name: 'ValidationException', issues: [{ path: 'search_term' }] },
  })
  expect(wire.events).toEqual([])
})

test('attributes: a click, a form, a visible element', async ({
  webkit,
  shop,
  head,
  expectStored,
}) => {
  const body = `<button id="buy" data-track="viewProduct" data-track-product-id="7">Buy</button>
    <form action="/found" data-track="search"><input name="q" value="cup"><button>Go</button></form>
    <p data-track="search" data-track-on="visible" data-track-search-term="seen">Seen</p>`
  shop.page('/found', { head })
  await webkit.goto(shop.page('/a', { head, body }))
  await expectStored(['seen'])
  await webkit.click('#buy')
  await webkit.click('form button')
  await expectStored(['seen', { event: 'view_product', payload: { product_id: '7' } }, 'cup'])
})

test.describe('page views', () => {
  test.use({ config: { pageViews: 'all' } })

  test('by the history API: each page once, and again after going back', async ({
    webkit,
    shop,
    head,
    expectStored,
  }) => {
    await webkit.goto(shop.page('/a', { head }))
    const paths = ['/a', '/b', '/c?x=1', '/b']
    const views = paths.map((path) => ({ event: 'view_page', payload: { url: shop.url + path } }))
    await expectStored(views.slice(0, 1))
    await webkit.evaluate(() => history.pushState({}, '', '/b'))
    await expectStored(views.slice(0, 2))
    await webkit.evaluate(() => history.pushState({}, '', '/c?x=1'))
    await expectStored(views.slice(0, 3))
    await webkit.evaluate(() => history.replaceState({ scroll: 1 }, '', '/c?x=1#top'))
    await webkit.evaluate(() => history.back())
    await expectStored(views)
  })
})

test.describe('dataLayer', () => {
  test.use({ config: { dataLayer: true } })

  test('pushes before and after the script are reported', async ({
    webkit,
    shop,
    head,
    expectStored,
  }) => {
    const before = `<script>dataLayer=[{event:'__sm__search',search_term:'before'}]</script>`
    await webkit.goto(shop.page('/a', { head: before + head }))
    await webkit.evaluate(() => {
      const { dataLayer } = window as unknown as { dataLayer: object[] }
      dataLayer.push({ event: '__sm__search', search_term: 'after' })
    })
    await expectStored(['before', 'after'])
  })
})

const LEAVE: Readonly<Record<string, () => void>> = {
  'a link': () => document.querySelector('a')?.click(),
  'a form': () => document.querySelector('form')?.submit(),
  'location=': () => location.assign('/next'),
}

for (const [way, leave] of Object.entries(LEAVE))
  test(`events of the task that leaves the page arrive: ${way}`, async ({
    webkit,
    shop,
    expectStored,
    head,
  }) => {
    shop.page('/next', { head: COLLECT })
    shop.page('/thanks', { head: COLLECT })
    const body = `<a href="/next">Next</a><form method="post" action="/order"></form>
      <script>leave = () => { track.search({search_term:'one'}); track.search({search_term:'two'}); (${leave})() }</script>`
    await webkit.goto(shop.page('/a', { head, body }))
    await webkit.evaluate(() => void setTimeout('leave()', 0))
    await expectStored(['one', 'two'])
    await expect.poll(() => webkit.evaluate(() => location.pathname)).not.toBe('/a')
  })

test('offline: events are kept on this page and the next, and sent once when the network is back', async ({
  webkit,
  shop,
  wire,
  head,
  expectStored,
}) => {
  await webkit.goto(shop.page('/a', { head }))
  await webkit.evaluate(() => track.search({ search_term: 'online' }))
  await expectStored(['online'])
  await expect.poll(() => kept(webkit)).toBe(0)
  await wire.down()
  await webkit.evaluate(() => track.search({ search_term: 'offline, one' }))
  await webkit.evaluate(() => track.search({ search_term: 'offline, two' }))
  await expect.poll(() => kept(webkit)).toBe(2)
  await webkit.goto(shop.page('/b', { head: COLLECT }))
  expect(await kept(webkit)).toBe(2)
  await wire.up()
  await webkit.goto(shop.page('/c', { head }))
  await expectStored(['online', 'offline, one', 'offline, two'])
  await expect.poll(() => kept(webkit)).toBe(0)
})

test('storage is blocked: events are sent, and no error reaches the page', async ({
  webkit,
  shop,
  gateway,
  customer,
  head,
  expectStored,
}) => {
  gateway.customers.change(customer.customerId, { origins: ['loopback', 'null'] })
  const report = `<script>
    let storage = 'open'
    try { localStorage } catch (error) { storage = error.name }
    track.search({search_term: storage})
    track.search({search_term: 'again'})
    setTimeout(() => parent.postMessage(faults, '*'), 500)
  </script>`
  shop.page('/framed', { head, body: report })
  const body = `<script>addEventListener('message', ({ data }) => { window.reported = data })</script>
    <iframe sandbox="allow-scripts" src="/framed"></iframe>`
  await webkit.goto(shop.page('/a', { head: COLLECT, body }))
  const rows = await expectStored(['SecurityError', 'again'])
  expect(rows[1]?.did).toBe(rows[0]?.did)
  await expect
    .poll(() => webkit.evaluate(() => (window as { reported?: string[] }).reported))
    .toEqual([])
})

test.describe('consent', () => {
  test.use({ config: { consent: 'required' } })

  const storedIn = (page: WebKitPage) =>
    page.evaluate(() => [
      ...Object.keys(localStorage),
      ...Object.keys(sessionStorage),
      document.cookie,
    ])

  test('before a grant nothing is sent or stored; then what was held arrives, and a denial deletes it', async ({
    webkit,
    shop,
    wire,
    head,
    expectStored,
  }) => {
    await webkit.goto(shop.page('/a', { head }))
    await webkit.evaluate(() => track.search({ search_term: 'lost' }))
    await webkit.goto(shop.page('/b', { head }))
    await webkit.evaluate(() => track.search({ search_term: 'held' }))
    expect(await webkit.evaluate(() => track.did)).toBe('')
    expect(await storedIn(webkit)).toEqual([''])
    expect(wire.events).toEqual([])

    await webkit.evaluate(() => track.consent('granted'))
    const [row] = await expectStored([{ payload: { search_term: 'held', url: `${shop.url}/b` } }])
    await expect.poll(() => kept(webkit)).toBe(0)
    await webkit.goto(shop.page('/c', { head }))
    await webkit.evaluate(() => track.search({ search_term: 'remembered' }))
    const [, remembered] = await expectStored(['held', 'remembered'])
    expect(remembered?.did).toBe(row?.did)
    await expect.poll(() => kept(webkit)).toBe(0)

    await wire.down()
    await webkit.evaluate(() => track.search({ search_term: 'waiting' }))
    await webkit.evaluate(() => track.consent('denied'))
    await wire.up()
    expect(await storedIn(webkit)).toEqual(['track.c', ''])
    const requests = wire.events.length
    await webkit.goto(shop.page('/d', { head }))
    await webkit.evaluate(() => track.search({ search_term: 'refused' }))
    await webkit.evaluate(() => track.flush())
    expect(wire.events).toHaveLength(requests)
    await expectStored(['held', 'remembered'])
  })
})

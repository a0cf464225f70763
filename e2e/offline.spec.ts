import {
  awayUntilLater,
  expect,
  expectNothingKept,
  keptIn,
  search,
  shiftClock,
  stopClock,
  test,
} from './fixtures.ts'

const DAYS = 3
const DAY_MS = 86_400_000

// No network, and a network that answers without the gateway (a captive portal).

test('tracked offline, then online on the same page @both', async ({
  context,
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  await context.setOffline(true)
  await search(page, 'one', 'two', 'three')
  await expect.poll(() => keptIn(page)).toBe(3)
  await context.setOffline(false)
  await expectStored(['one', 'two', 'three'])
  await expectNothingKept(page)
})

test('tracked offline, tab closed, opened three days later @both', async ({
  context,
  page,
  shop,
  wire,
  expectStored,
}) => {
  const tab = await context.newPage()
  await tab.goto(shop.page('/a'))
  // Firefox puts a closed tab online again.
  awayUntilLater(wire)
  await context.setOffline(true)
  await search(tab, 'one', 'two')
  await expect.poll(() => keptIn(tab)).toBe(2)
  await tab.close()
  await context.setOffline(false)
  await shiftClock(page, DAYS * DAY_MS)
  await page.goto(shop.page('/next'))
  const rows = await expectStored(['one', 'two'])
  for (const { at, receivedAt } of rows) expect(Math.round((receivedAt - at) / DAY_MS)).toBe(DAYS)
})

test('online and offline, again and again', async ({ context, page, shop, wire, expectStored }) => {
  await page.goto(shop.page('/a'))
  const terms: string[] = []
  for (let n = 0; n < 8; n++) {
    await context.setOffline(n % 2 === 0)
    terms.push(`${n} a`, `${n} b`)
    await search(page, `${n} a`, `${n} b`)
  }
  await context.setOffline(false)
  await expectStored(terms)
  await expectNothingKept(page)
  expect(wire.events.length).toBeLessThanOrEqual(terms.length * 2)
})

/** Longer than the first wait of a backoff, ms. */
const BACKOFF_MS = 3000

const PORTALS = {
  'a page instead of an answer': { status: 200, body: '<h1>Sign in</h1>' },
  'a page that may not be read': { status: 200, body: '<h1>Sign in</h1>', cors: false },
  'a redirect to a page': { status: 302, headers: { location: 'http://localhost:1/signin' } },
  'an empty 200': { status: 200 },
  'JSON of somebody else': { status: 200, body: { ok: true } },
  'JSON that is not an object': { status: 200, body: [] },
  'an error page': { status: 404, body: '<h1>Not found</h1>' },
  'an error that gives no reason': { status: 403, body: { error: 'denied' } },
} as const

test('answers of a captive portal do not acknowledge events', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  wire.delayMs = 0
  const clock = await stopClock(page)
  await page.goto(shop.page('/a'))
  const terms: string[] = []
  for (const [name, fault] of Object.entries(PORTALS))
    await test.step(name, async () => {
      const before = wire.events.length
      wire.next(fault)
      const held = page.evaluate(() => new Promise((resolve) => track.on('held', () => resolve(1))))
      const delivered = page.evaluate(
        () => new Promise((resolve) => track.on('delivered', ({ id }) => resolve(id))),
      )
      terms.push(name)
      await search(page, name)
      await held
      expect(wire.events.slice(before).map(({ outcome }) => outcome)).toEqual([fault.status])
      expect(await keptIn(page)).toBe(1)
      await clock.pass(BACKOFF_MS)
      const rows = await expectStored(terms)
      expect(await delivered).toBe(rows.at(-1)?.id)
      await expectNothingKept(page)
    })
})

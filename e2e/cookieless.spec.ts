import { choose, expectNothingRead, LISTEN, noticesOf, record, storedIn } from './consentPage.ts'
import { expect, expectNothingKept, search, stopClock, test } from './fixtures.ts'

// Before consent, a key with `cookieless` sends events without a device id.

/** A device id of the day: a UUID of version 8. */
const OF_DAY = /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const OWN = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

test.describe('cookieless', () => {
  test.use({ config: { consent: 'cookieless' } })

  test('before consent events have no device id, nothing is stored, and the day’s visits group; then the usual way @both', async ({
    context,
    page,
    shop,
    wire,
    stored,
    expectStored,
  }) => {
    wire.delayMs = 0
    const recorder = await record(context)
    await page.goto(shop.page('/a'))
    expect(await page.evaluate(() => track.did)).toBe('')
    await search(page, 'one')
    await expectStored(['one'])
    await page.goto(shop.page('/b'))
    await search(page, 'two', 'three')
    await expectStored(['one', 'two', 'three'])
    const tab = await context.newPage()
    await tab.goto(shop.page('/c'))
    await search(tab, 'four')
    const before = await expectStored(['one', 'two', 'three', 'four'])

    for (const { body, headers } of wire.events) {
      expect(body).not.toContain('did')
      expect(headers).not.toHaveProperty('cookie')
    }
    for (const { did, payload } of before) {
      expect(did).toMatch(OF_DAY)
      expect(payload.did).toBe(did)
      // A /24 of the visitor's address, 203.0.113.7.
      expect(payload.remote_addr).toBe('203.0.113.0')
    }
    // One a day (UTC).
    const days = new Set(before.map(({ receivedAt }) => Math.floor(receivedAt / 86_400_000)))
    expect(new Set(before.map(({ did }) => did)).size).toBe(days.size)
    expectNothingRead(recorder)
    expect(await storedIn(page)).toEqual({})

    await choose(page, 'granted')
    await search(page, 'five')
    await expect.poll(async () => (await stored()).length).toBe(5)
    await search(tab, 'six')
    const rows = await expectStored(['one', 'two', 'three', 'four', 'five', 'six'])
    expect(rows[4]?.did).toMatch(OWN)
    expect(rows[5]?.did).toBe(rows[4]?.did)
    expect(rows[4]?.payload.remote_addr).toBe('203.0.113.7')
    expect(await storedIn(page)).toMatchObject({ 'track.did': rows[4]?.did, 'track.c': 'granted' })
  })

  test('an event that failed before consent is kept in memory, sent again, and stored once', async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    wire.delayMs = 0
    const clock = await stopClock(page)
    await page.goto(shop.page('/a'))
    wire.next('loseAnswer', { status: 503 })
    await search(page, 'one')
    await clock.pass(1)
    expect(await storedIn(page)).toEqual({})
    await search(page, 'two')
    await clock.pass(20_000)
    const rows = await expectStored(['one', 'two'])
    for (const { did } of rows) expect(did).toMatch(OF_DAY)
    for (const { body } of wire.events) expect(body).not.toContain('"did"')
    expect(await storedIn(page)).toEqual({})
  })

  test('a denial ends it', async ({ page, shop, wire, expectStored }) => {
    await page.goto(shop.page('/a', { body: LISTEN }))
    await search(page, 'one')
    await expectStored(['one'])
    await expect.poll(() => noticesOf(page)).toContain('delivered')
    await choose(page, 'denied')
    await search(page, 'refused')
    await page.goto(shop.page('/b'))
    await search(page, 'refused')
    expect(wire.events).toHaveLength(1)
    expect(await storedIn(page)).toEqual({ 'track.c': 'denied' })
  })

  test('two visitors of one day have two device ids', async ({
    browser,
    page,
    shop,
    wire,
    expectStored,
  }) => {
    wire.delayMs = 0
    await page.goto(shop.page('/a'))
    await search(page, 'one')
    await expectStored(['one'])
    const other = await browser.newPage({ userAgent: 'Another browser' })
    await other.goto(shop.page('/a'))
    await search(other, 'two')
    const [one, two] = await expectStored(['one', 'two'])
    expect(two?.did).toMatch(OF_DAY)
    expect(two?.did).not.toBe(one?.did)
    await other.close()
  })

  test('a script from the cache, after the key has changed to `required`: each event is refused once', async ({
    context,
    page,
    shop,
    wire,
    gateway,
    customer,
    stored,
  }) => {
    wire.delayMs = 0
    const clock = await stopClock(page)
    const old = await (await fetch(shop.script())).text()
    await context.route(shop.script(), (route) =>
      route.fulfill({ contentType: 'text/javascript', body: old }),
    )
    gateway.customers.change(customer.customerId, {
      config: { pageViews: 'off', consent: 'required' },
    })
    await page.goto(shop.page('/a', { body: LISTEN }))
    await search(page, 'one', 'two')
    await clock.pass(120_000)
    expect(wire.events).toHaveLength(1)
    expect(await noticesOf(page)).toEqual([
      ...['accepted', 'accepted', 'dropped refused 422', 'dropped refused 422'],
    ])
    expect(await stored()).toEqual([])
    await expectNothingKept(page)
    await choose(page, 'granted')
    await search(page, 'three')
    await expect.poll(async () => (await stored()).length).toBe(1)
  })
})

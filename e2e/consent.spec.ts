import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import { STUB } from '../src/tracker/snippet.ts'
import {
  choose,
  expectNothingRead,
  expectNothingSent,
  LISTEN,
  noticesOf,
  record,
  storedIn,
} from './consentPage.ts'
import { expect, expectNothingKept, keptIn, search, stopClock, test } from './fixtures.ts'

// A key that asks for the visitor's consent (docs/consent.md).

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
/** Longer than the script waits for anything before it reports it, ms. */
const LONG_MS = 10_000

const add = (id: number) =>
  `data-track="addToCart" data-track-product-id="${id}" data-track-variation-id="v" data-track-variation-sku="s"`

/** A page on which every part of the script has something to report. */
const BUSY = {
  head: `<script>${STUB}
      track.search({search_term:'early'})
      window.dataLayer=[{event:'__sm__search',search_term:'pushed early'}]</script>`,
  body: `<script type="application/ld+json">{"@type":"Product","sku":"D-1"}</script>
    <button ${add(1)}>Add</button>
    <i data-track="viewProduct" data-track-product-id="2" data-track-on="load"></i>
    <p data-track="viewProduct" data-track-product-id="3" data-track-on="visible">Seen</p>
    <form action="/found" data-track="search"><input name="q" value="mug"><input type="submit"></form>`,
}

/** Acts like a visitor and like a shop, without leaving the page. */
async function act(page: Page): Promise<void> {
  await page.click('button')
  await page.evaluate(`
    dataLayer.push({event:'__sm__search',search_term:'pushed'})
    dataLayer.push({event:'add_to_cart',ecommerce:{items:[{item_id:'12',quantity:1}]}})
    track.setEmail({email_address:'ann@example.com'})
    track.search({search_term:''})
    history.pushState({},'','/moved')`)
  await search(page, 'called')
}

/** What a browser does with a page besides showing it. */
const disturb = (page: Page) =>
  page.evaluate(async () => {
    for (const state of ['hidden', 'visible']) {
      Object.defineProperty(document, 'visibilityState', { configurable: true, value: state })
      Object.defineProperty(document, 'hidden', { configurable: true, value: state === 'hidden' })
      document.dispatchEvent(new Event('visibilitychange'))
    }
    dispatchEvent(new Event('online'))
    dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))
    await track.flush()
    return track.did
  })

test.describe('required', () => {
  test.use({ config: { consent: 'required', pageViews: 'all', ga4: true, schemaOrg: true } })

  test('before consent no page stores, reads or sends anything; with it the same visit is reported @both', async ({
    context,
    page,
    shop,
    wire,
    stored,
  }) => {
    wire.delayMs = 0
    const recorder = await record(context)
    const clock = await stopClock(page)
    const busy = { head: BUSY.head + shop.tag('async'), body: BUSY.body }
    for (const path of ['/a', '/moved']) shop.page(path, busy)
    shop.page('/found', { head: shop.tag() })
    const walk = async () => {
      await page.goto(`${shop.url}/a?utm_source=mail`)
      await clock.pass(LONG_MS)
      await act(page)
      const settled = disturb(page)
      await clock.pass(LONG_MS)
      const did = await settled
      await page.reload()
      await clock.pass(1)
      await page.click('[type=submit]')
      await page.waitForURL('**/found?*')
      await clock.pass(LONG_MS)
      return did
    }
    expect(await walk()).toBe('')
    const tab = await context.newPage()
    await tab.goto(`${shop.url}/a`)
    await act(tab)
    await tab.evaluate(() => track.reset())
    await tab.close()
    await clock.pass(LONG_MS)

    expectNothingSent(recorder, wire, shop, [new URL(shop.script()).pathname, '/t/p.js'])
    expectNothingRead(recorder)
    expect(await stored()).toEqual([])
    expect(await storedIn(page)).toEqual({})
    expect((await context.storageState({ indexedDB: true })).origins).toEqual([])
    expect(await context.cookies()).toEqual([])

    // The same visit with consent, which proves that the first one had something to hide.
    await choose(page, 'granted')
    expect(await walk()).toMatch(UUID)
    await expectNothingKept(page)
    const rows = await stored()
    const has = (fields: Record<string, unknown>) =>
      expect(rows).toContainEqual(expect.objectContaining(fields))
    has({
      event: 'view_page',
      payload: expect.objectContaining({ url: `${shop.url}/a?utm_source=mail` }),
    })
    for (const search_term of ['early', 'pushed early', 'pushed', 'called', 'mug'])
      has({ operation: 'search', payload: expect.objectContaining({ search_term }) })
    for (const product_id of ['2', '3'])
      has({ operation: 'viewProduct', payload: expect.objectContaining({ product_id }) })
    for (const product_id of [1, 12])
      has({ operation: 'addToCart', payload: expect.objectContaining({ product_id }) })
    has({ operation: 'setEmail' })
    expect(new Set(rows.map(({ did }) => did)).size).toBe(1)
    expect(await storedIn(page)).toMatchObject({ 'track.c': 'granted', 'track.did': rows[0]?.did })
  })
})

test.describe('required, without page views', () => {
  test.use({ config: { consent: 'required' } })

  test('what is held goes out after the grant, with its own ids, moments and addresses @both', async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    wire.delayMs = 0
    const clock = await stopClock(page)
    const early = `<script>${STUB};early=track.search({search_term:'early'})</script>`
    await page.goto(shop.page('/a', { head: early + shop.tag('async'), body: LISTEN }))
    await clock.pass(5_000)
    const calls = await page.evaluate(async () => {
      const { early } = window as unknown as { early: Promise<unknown> }
      const first = await track.search({ search_term: 'one' })
      history.pushState({}, '', '/b')
      return [await early, first, await track.search({ search_term: '' })]
    })
    await clock.pass(60_000)
    await search(page, 'two')
    await clock.pass(1_000)
    expect(wire.events).toEqual([])
    expect(await noticesOf(page)).toEqual([
      ...['accepted', 'held no_consent', 'accepted', 'held no_consent'],
      ...['dropped invalid', 'accepted', 'held no_consent'],
    ])
    await choose(page, 'granted')
    const rows = await expectStored([
      { payload: { search_term: 'early', url: `${shop.url}/a` } },
      { payload: { search_term: 'one', url: `${shop.url}/a` } },
      { payload: { search_term: 'two', url: `${shop.url}/b` } },
    ])
    expect(calls).toMatchObject([
      { ok: true, id: rows[0]?.id },
      { ok: true, id: rows[1]?.id },
      { ok: false, error: { name: 'ValidationException' } },
    ])
    const [early_, one, two] = rows.map(({ at }) => at) as [number, number, number]
    expect([one - early_, two - one]).toEqual([5_000, 60_000])
    const did = await page.evaluate(() => track.did)
    expect(did).toMatch(UUID)
    expect(new Set(rows.map((row) => row.did))).toEqual(new Set([did]))
    await expectNothingKept(page)
    expect((await noticesOf(page)).slice(7)).toEqual([
      'consent granted',
      ...['delivered', 'delivered', 'delivered'],
    ])
  })

  test('after a denial nothing is sent or stored, on this page and the next, until a grant @both', async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    await page.goto(shop.page('/a', { body: LISTEN }))
    await search(page, 'held')
    await choose(page, 'denied')
    const call = () => page.evaluate(() => track.search({ search_term: 'refused' }))
    expect(await call()).toEqual({ ok: false, error: 'no_consent' })
    expect(await noticesOf(page)).toEqual([
      ...['accepted', 'held no_consent', 'dropped no_consent', 'consent denied'],
      'dropped no_consent',
    ])
    await page.goto(shop.page('/b', { body: LISTEN }))
    expect(await page.evaluate(() => [track.consentState, track.did])).toEqual(['denied', ''])
    expect(await call()).toEqual({ ok: false, error: 'no_consent' })
    expect(await storedIn(page)).toEqual({ 'track.c': 'denied' })
    expect(wire.events).toEqual([])
    await choose(page, 'granted')
    await search(page, 'allowed')
    await page.goto(shop.page('/c'))
    await search(page, 'remembered')
    await expectStored(['allowed', 'remembered'])
  })

  test('a page that is reloaded or left while nobody has answered loses what it held', async ({
    page,
    shop,
    expectStored,
  }) => {
    await page.goto(shop.page('/a'))
    await search(page, 'before the reload')
    await page.reload()
    await search(page, 'after the reload')
    await page.goto(shop.page('/b'))
    expect(await storedIn(page)).toEqual({})
    await search(page, 'held')
    await choose(page, 'granted')
    await expectStored(['held'])
  })

  test('at most 50 events are held, the first ones', async ({ page, shop, expectStored }) => {
    await page.goto(shop.page('/a', { body: LISTEN }))
    const terms = Array.from({ length: 60 }, (_, n) => `${n}`)
    await search(page, ...terms)
    const full = (await noticesOf(page)).filter((notice) => notice === 'dropped outbox_full')
    expect(full).toHaveLength(10)
    await choose(page, 'granted')
    await expectStored(terms.slice(0, 50))
  })

  test('the page-wide rule is the strictest: a second key waits too, and both report after the grant', async ({
    page,
    shop,
    wire,
    customer,
    expectStored,
  }) => {
    const second = customer.another()
    for (const keys of [
      [undefined, second.trackingKey],
      [second.trackingKey, undefined],
    ]) {
      const head = keys.map((key) => shop.tag('', key)).join('')
      await page.goto(shop.page('/a', { head }))
      await search(page, 'lost')
    }
    expect(wire.events).toEqual([])
    expect(await storedIn(page)).toEqual({})
    await choose(page, 'granted')
    await search(page, 'mug')
    await expectStored(['lost', 'mug'])
    await expectStored(['lost', 'mug'], { customer: second })
  })

  test('a prerendered page neither asks nor holds until it is shown', async ({
    context,
    page,
    shop,
    wire,
    expectStored,
  }) => {
    const recorder = await record(context)
    const head = `<script>Object.defineProperty(document,'prerendering',{configurable:true,value:true})</script>${shop.tag()}`
    const body = "<script>track.search({search_term:'early'})</script>"
    await page.goto(shop.page('/a', { head, body }))
    expect(recorder.touched).toEqual([])
    expect(wire.events).toEqual([])
    await page.evaluate(() => {
      Object.defineProperty(document, 'prerendering', { value: false })
      document.dispatchEvent(new Event('prerenderingchange'))
    })
    expectNothingRead(recorder)
    await choose(page, 'granted')
    await search(page, 'shown')
    await expectStored(['early', 'shown'])
  })

  test('buttons of the shop give and withdraw consent', async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    const body = `<button data-track-consent="granted"><i>Yes</i></button>
      <button data-track-consent="denied">No</button>`
    await page.goto(shop.page('/a', { body }))
    await search(page, 'held')
    await page.click('i')
    await expectStored(['held'])
    await expectNothingKept(page)
    const requests = wire.events.length
    await page.click('text=No')
    await search(page, 'refused')
    expect(await storedIn(page)).toEqual({ 'track.c': 'denied' })
    await page.reload()
    expect(await page.evaluate(() => track.consentState)).toBe('denied')
    expect(wire.events).toHaveLength(requests)
  })

  test('a request that is open at the denial is not repeated, and a later grant makes a new device id', async ({
    page,
    shop,
    wire,
    stored,
    expectStored,
  }) => {
    wire.delayMs = 0
    const clock = await stopClock(page)
    await page.goto(shop.page('/a'))
    await choose(page, 'granted')
    await search(page, 'one')
    const [one] = await expectStored(['one'])
    wire.next('hang')
    await search(page, 'open')
    await expect.poll(() => wire.events.length).toBe(2)
    await choose(page, 'denied')
    wire.heal()
    await clock.pass(600_000, 10_000)
    expect(wire.events).toHaveLength(2)
    expect(await storedIn(page)).toEqual({ 'track.c': 'denied' })
    await choose(page, 'granted')
    await search(page, 'two')
    await expect.poll(async () => (await stored()).length).toBe(2)
    const [, two] = await expectStored(['one', 'two'])
    expect(two?.did).toMatch(UUID)
    expect(two?.did).not.toBe(one?.did)
  })

  test('debug mode, and the switch for people who work at the shop, store nothing before consent', async ({
    context,
    page,
    shop,
    wire,
  }) => {
    const recorder = await record(context)
    shop.page('/a', { body: LISTEN })
    for (const query of ['?track_debug=1', '?track_debug=1&track_ignore=1']) {
      const printed = page.waitForEvent('console', (line) => line.text().startsWith('track: '))
      await page.goto(`${shop.url}/a${query}`)
      await page.evaluate(() => track.search({ search_term: '' }))
      // The inspector prints what it finds.
      await printed
    }
    expectNothingRead(recorder)
    expect(await storedIn(page)).toEqual({})
    expect(wire.events).toEqual([])
  })

  test('a tag may ask for consent of a key that does not: its script stays closed', async ({
    context,
    page,
    shop,
    customer,
    wire,
  }) => {
    const recorder = await record(context)
    const plain = customer.another()
    const head = shop.tag('data-consent="required"', plain.trackingKey)
    await page.goto(shop.page('/a', { head }))
    const call = () => page.evaluate(() => track.search({ search_term: 'mug' }))
    expect(await call()).toEqual({ ok: false, error: 'no_consent' })
    await choose(page, 'granted')
    expect(await call()).toEqual({ ok: false, error: 'no_consent' })
    expect(await page.evaluate(() => track.consentState)).toBeUndefined()
    expect(recorder.touched).toEqual([])
    expect(wire.events).toEqual([])
  })

  test('a choice in one tab reaches the other tabs @both', async ({
    context,
    page,
    shop,
    wire,
    expectStored,
  }) => {
    const other = await context.newPage()
    for (const tab of [page, other]) await tab.goto(shop.page('/a'))
    await search(page, 'first tab')
    await search(other, 'second tab')
    await choose(page, 'granted')
    const rows = await expectStored(['first tab', 'second tab'])
    expect(rows[1]?.did).toBe(rows[0]?.did)
    for (const tab of [page, other]) await expectNothingKept(tab)

    await wire.down()
    await search(page, 'first, waiting')
    await search(other, 'second, waiting')
    await expect.poll(() => keptIn(page)).toBe(2)
    await choose(other, 'denied')
    await expect.poll(() => page.evaluate(() => track.consentState)).toBe('denied')
    expect(await storedIn(page)).toEqual({ 'track.c': 'denied' })
    const requests = wire.events.length
    await wire.up()
    for (const tab of [page, other])
      await tab.evaluate(async () => {
        dispatchEvent(new Event('online'))
        dispatchEvent(new Event('pagehide'))
        await track.flush()
      })
    await page.goto(shop.page('/b'))
    await search(page, 'refused')
    expect(wire.events).toHaveLength(requests)
    expect(await storedIn(page)).toEqual({ 'track.c': 'denied' })
  })
})

test.describe('required, without replay', () => {
  test.use({ config: { consent: 'required', consentReplay: false } })

  test('only what happens after the grant is sent', async ({ page, shop, expectStored }) => {
    await page.goto(shop.page('/a', { body: LISTEN }))
    await search(page, 'before')
    expect((await noticesOf(page)).at(-1)).toBe('dropped no_consent')
    await choose(page, 'granted')
    await search(page, 'after')
    await expectStored(['after'])
  })
})

test.describe('required, with a few events', () => {
  test.use({ config: { consent: 'required', consentEvents: 3 } })

  test('no more events are held than the setting says', async ({ page, shop, expectStored }) => {
    await page.goto(shop.page('/a'))
    await search(page, '1', '2', '3', '4')
    await choose(page, 'granted')
    await search(page, '5')
    await expectStored(['1', '2', '3', '5'])
  })
})

test.describe('Global Privacy Control', () => {
  test.use({ config: { consent: 'required' } })

  test('counts as a denial, and a yes on the shop overrules it', async ({
    page,
    shop,
    wire,
    customer,
    expectStored,
  }) => {
    await page.addInitScript(() => {
      Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })
    })
    await page.goto(shop.page('/a', { body: LISTEN }))
    await search(page, 'refused')
    expect(await noticesOf(page)).toContain('dropped no_consent')
    expect(await page.evaluate(() => track.consentState)).toBe('denied')
    expect(await storedIn(page)).toEqual({})
    expect(wire.events).toEqual([])
    await choose(page, 'granted')
    await search(page, 'allowed')
    await page.goto(shop.page('/b'))
    await search(page, 'remembered')
    await expectStored(['allowed', 'remembered'])

    // A key without consent honours it only if its settings say so.
    await page.evaluate(() => localStorage.clear())
    const plain = customer.another()
    const honouring = customer.another({ gpc: true })
    await page.goto(shop.page('/c', { head: shop.tag('', plain.trackingKey) }))
    await search(page, 'not asked')
    await expectStored(['not asked'], { customer: plain })
    await page.evaluate(() => localStorage.clear())
    await page.goto(shop.page('/d', { head: shop.tag('', honouring.trackingKey) }))
    await search(page, 'refused')
    expect(await storedIn(page)).toEqual({})
    await expectStored([], { customer: honouring })
  })
})

test.describe('Do Not Track', () => {
  test.use({ config: { dnt: true } })

  test('counts as a denial if the settings say so', async ({
    page,
    shop,
    wire,
    customer,
    expectStored,
  }) => {
    await page.addInitScript(() => Object.defineProperty(navigator, 'doNotTrack', { value: '1' }))
    await page.goto(shop.page('/a'))
    await search(page, 'refused')
    expect(await storedIn(page)).toEqual({})
    expect(wire.events).toEqual([])
    const plain = customer.another()
    await page.goto(shop.page('/b', { head: shop.tag('', plain.trackingKey) }))
    await search(page, 'not asked')
    await expectStored(['not asked'], { customer: plain })
  })
})

test.describe('exclude', () => {
  test.use({ config: { pageViews: 'all', exclude: ['/account/*', '/secret'] } })

  test('pages of these paths report nothing and keep nothing', async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    for (const path of ['/account/orders', '/secret']) {
      await page.goto(shop.page(path, { body: `<button ${add(1)}>Add</button>` }))
      await page.click('button')
      expect(await page.evaluate(() => track.search({ search_term: 'hidden' }))).toEqual({
        ok: false,
        error: 'ignored',
      })
    }
    await page.goto(shop.page('/account', { head: shop.tag('data-page-views="off"') }))
    expect(wire.events).toEqual([])
    await search(page, 'shown')
    await page.evaluate(() => history.pushState({}, '', '/secret'))
    await search(page, 'hidden')
    await page.evaluate(() => history.pushState({}, '', '/public'))
    await search(page, 'shown again')
    await expectStored(['shown', 'shown again'])
  })
})

/** The cases of src/tracker/fixtures/tracker.json about consent. */
const vectors: { readonly id: string; readonly input: { setup?: string; act: string } }[] =
  JSON.parse(readFileSync(new URL('../src/tracker/fixtures/tracker.json', import.meta.url), 'utf8'))

for (const [id, config, left] of [
  ['H-T-034', { gpc: true }, {}],
  ['H-T-035', { consent: 'required' }, { 'track.c': 'denied' }],
] as const)
  test.describe(id, () => {
    test.use({ config })

    test('no event is stored, and no device id is left', async ({
      context,
      page,
      shop,
      wire,
      expectStored,
    }) => {
      const { setup = '', act } = vectors.find((vector) => vector.id === id)?.input ?? { act: '' }
      await page.addInitScript(setup)
      if (id === 'H-T-035')
        await page.addInitScript(() => localStorage.setItem('track.c', 'granted'))
      await page.goto(shop.page('/a'))
      const driven: { readonly [statement: string]: () => Promise<unknown> } = {
        'goOffline()': () => context.setOffline(true),
        'goOnline()': () => context.setOffline(false),
        'CONSENT(false)': async () => {
          await expect.poll(() => keptIn(page)).toBe(1)
          await choose(page, 'denied')
        },
        "fire('pagehide')": () => page.evaluate(() => dispatchEvent(new Event('pagehide'))),
      }
      for (const statement of act.split(';').map((text) => text.trim()))
        await (driven[statement]?.() ?? page.evaluate(statement))
      await page.evaluate(() => track.flush())
      expect(await storedIn(page)).toEqual(left)
      expect(wire.events).toEqual([])
      await expectStored([])
    })
  })

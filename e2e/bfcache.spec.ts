import { findBrowsers, QUIET_CHROMIUM } from './browsers.mjs'
import { expect, expectNothingKept, search, test } from './fixtures.ts'

// Pages restored from the back/forward cache, which Playwright switches off by default.

const { chromium } = await findBrowsers()

test.use({
  launchOptions: {
    ...(chromium && { executablePath: chromium }),
    args: QUIET_CHROMIUM,
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
  },
})

/** Records whether the page was restored from the cache. */
const NOTE = '<script>addEventListener("pageshow",e=>{restored=e.persisted})</script>'
/** Goes back by the page's own code: page.goBack() waits for a load, and a restored page has none. */
const BACK = '<script>addEventListener("click",()=>history.back())</script>'

test('a page is frozen with open requests and restored: nothing is lost', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a', { body: NOTE }))
  shop.page('/next', { head: BACK })
  wire.always({ status: 503 })
  await search(page, 'failed')
  await expect.poll(() => wire.events.length).toBe(1)
  wire.always({ slowMs: 500 })
  await page.evaluate(() => {
    track.search({ search_term: 'in flight' })
    location.href = '/next'
  })
  await page.waitForURL('**/next')
  wire.heal()
  await page.click('html')
  await page.waitForURL('**/a', { waitUntil: 'commit' })
  await page.waitForFunction('restored')
  await search(page, 'after')
  await expectStored(['failed', 'in flight', 'after'])
  await expectNothingKept(page)
})

test.describe('with page views', () => {
  test.use({ config: { pageViews: 'all' } })

  test('a restored page is a page view', async ({ page, shop, expectStored }) => {
    await page.goto(shop.page('/a', { body: NOTE }))
    const viewOf = (path: string) => ({
      operation: 'viewHomepage',
      event: 'view_page',
      payload: { url: shop.url + path },
    })
    await expectStored([viewOf('/a')])
    await page.evaluate("history.pushState({},'','/b')")
    await expectStored(['/a', '/b'].map(viewOf))
    await page.goto(shop.page('/next', { head: shop.tag() + BACK }))
    await page.click('html')
    await page.waitForURL('**/b', { waitUntil: 'commit' })
    await page.waitForFunction('restored')
    await expectStored(['/a', '/b', '/next', '/b'].map(viewOf))
  })
})

test.describe('with consent', () => {
  test.use({ config: { consent: 'required' } })

  test('a restored page follows the choice that was made after it was left', async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    const choose = (choice: 'granted' | 'denied') =>
      page.evaluate((value) => track.consent(value), choice)
    const back = async () => {
      await page.click('html')
      await page.waitForURL('**/a', { waitUntil: 'commit' })
      await page.waitForFunction('restored')
    }
    const next = shop.page('/next', { head: shop.tag() + BACK })
    await page.goto(shop.page('/a', { body: NOTE }))
    await search(page, 'held')
    await page.goto(next)
    expect(wire.events).toEqual([])
    await choose('granted')
    await back()
    await expectStored(['held'])
    await expectNothingKept(page)

    const requests = wire.events.length
    await page.goto(next)
    await choose('denied')
    await back()
    expect(await page.evaluate(() => track.consentState)).toBe('denied')
    await search(page, 'refused')
    expect(await page.evaluate(() => Object.keys(localStorage))).toEqual(['track.c'])
    expect(wire.events).toHaveLength(requests)
  })
})

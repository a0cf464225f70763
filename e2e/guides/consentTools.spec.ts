import type { Page } from '@playwright/test'
import { storedIn } from '../consentPage.ts'
import { search } from '../fixtures.ts'
import type { Shop } from '../shopServer.ts'
import { END, expect, readGuide, settingsOf, test, viewOf } from './guide.ts'

const block = readGuide('consent-tools')

/** A tool in a page: what it does when the visitor answers. The functions of the page are called `answer`. */
const TOOLS: { readonly [name: string]: string } = {
  Cookiebot: `
    window.Cookiebot = { consent: { statistics: false }, hasResponse: false }
    window.answer = (statistics) => {
      Object.assign(Cookiebot, { consent: { statistics }, hasResponse: true })
      dispatchEvent(new Event(statistics ? 'CookiebotOnAccept' : 'CookiebotOnDecline'))
    }`,
  OneTrust: `
    let isClosed = false
    window.OnetrustActiveGroups = ',C0001,'
    window.OneTrust = { IsAlertBoxClosed: () => isClosed }
    window.answer = (statistics) => {
      isClosed = true
      OnetrustActiveGroups = statistics ? ',C0001,C0002,' : ',C0001,'
      dispatchEvent(new CustomEvent('OneTrustGroupsUpdated'))
    }`,
}

/** The blocking of these tools: scripts of other hosts without an attribute that exempts them do not run. */
const BLOCKING = `new MutationObserver((records) => {
  for (const { addedNodes } of records)
    for (const node of addedNodes)
      if (node.localName === 'script' && node.src && new URL(node.src).origin !== location.origin &&
          node.dataset.cookieconsent !== 'ignore' && !('otIgnore' in node.dataset)) node.type = 'text/plain'
}).observe(document.documentElement, { childList: true, subtree: true })`

const answer = (page: Page, isYes: boolean) => page.evaluate(`answer(${isYes})`)

/** The block's tag, with the key of a customer. */
const tagOf = (name: string, shop: Shop, from: string, to: string) =>
  block(name, shop).replace(from, to)

for (const [name, tool] of Object.entries(TOOLS))
  for (const isLate of [false, true])
    test(`${name}${isLate ? ', which loads after the script' : ''}: nothing before an answer, all after a yes, nothing after a no`, async ({
      page,
      shop,
      wire,
      customer,
      arriveAt,
    }) => {
      const own = customer.another({ pageViews: 'all', ...settingsOf(block('auto')) })
      const arrive = arriveAt(own)
      const tag = tagOf('exempt', shop, customer.trackingKey, own.trackingKey)
      const now = `<script>{${BLOCKING}}</script><script>{${isLate ? '' : tool}}</script>`
      await page.goto(shop.page('/', { head: now + tag }))
      await page.waitForFunction('typeof track?.version === "string"')
      await search(page, 'held')
      if (isLate) await page.evaluate(`{${tool}}`)
      expect(await storedIn(page)).toEqual({})
      expect(wire.events).toEqual([])
      await answer(page, true)
      await arrive(viewOf(shop, '/'), { payload: { search_term: 'held' } })
      await answer(page, false)
      await search(page, 'refused')
      expect(await storedIn(page)).toEqual({})
      await answer(page, true)
      await search(page, 'end')
      await arrive(END)
    })

test('without the attributes the tools’ blocking stops the tag', async ({ page, shop, wire }) => {
  const head = `<script>{${BLOCKING}}</script>${shop.tag('async')}`
  await page.goto(shop.page('/', { head }))
  await page.waitForLoadState()
  expect(await page.evaluate('typeof track')).toBe('undefined')
  expect(wire.events).toEqual([])
})

test('Consent Mode: an update of the page is the answer', async ({
  page,
  shop,
  wire,
  customer,
  arriveAt,
}) => {
  const own = customer.another({ pageViews: 'all', ...settingsOf(block('mode')) })
  const gtag = `<script>window.dataLayer = []; function gtag() { dataLayer.push(arguments) }
    gtag('consent', 'default', { analytics_storage: 'denied' })</script>`
  await page.goto(shop.page('/', { head: gtag + shop.tag('', own.trackingKey) }))
  await search(page, 'held')
  expect(wire.events).toEqual([])
  await page.evaluate("gtag('consent', 'update', { analytics_storage: 'granted' })")
  await arriveAt(own)(viewOf(shop, '/'), { payload: { search_term: 'held' } })
})

test('buttons of the shop', async ({ page, shop, wire, customer, arriveAt }) => {
  const own = customer.another({ pageViews: 'all', consent: 'required' })
  const arrive = arriveAt(own)
  // Without page views, since that of this page may come after the yes.
  const tag = shop.tag('data-page-views="off"', own.trackingKey)
  await page.goto(shop.page('/', { head: tag, body: block('buttons') }))
  await search(page, 'held')
  await page.click('text=No')
  await search(page, 'refused')
  expect(Object.keys(await storedIn(page))).toEqual(['track.c'])
  expect(wire.events).toEqual([])
  await page.click('text=Yes')
  await search(page, 'agreed')
  await arrive({ payload: { search_term: 'agreed' } })
  // The answer is remembered.
  await page.goto(shop.page('/next', { head: shop.tag('', own.trackingKey) }))
  await arrive(viewOf(shop, '/next'))
})

test('a tag inside the tool runs after a yes, and a withdrawal counts from the next page on', async ({
  page,
  shop,
  customer,
  arrive,
  arriveAt,
}) => {
  const start = `<script>
    addEventListener('CookiebotOnAccept', () => {
      for (const kept of document.querySelectorAll('[type="text/plain"][data-cookieconsent=statistics]')) {
        const script = document.createElement('script')
        for (const { name, value } of kept.attributes) if (name !== 'type') script.setAttribute(name, value)
        kept.replaceWith(script)
      }
    })</script>`
  const tool = `<script>{${TOOLS.Cookiebot}}</script>`
  await page.goto(shop.page('/', { head: tool + block('blocked', shop) + start }))
  await page.waitForLoadState()
  expect(await page.evaluate('typeof track')).toBe('undefined')
  await answer(page, true)
  await arrive(viewOf(shop, '/'))
  await answer(page, false)
  await search(page, 'end')
  await arrive(END)

  const own = customer.another({ pageViews: 'all', ...settingsOf(block('auto')) })
  const tag = tagOf('blocked', shop, customer.trackingKey, own.trackingKey)
  await page.goto(shop.page('/both', { head: tool + tag + start }))
  await answer(page, true)
  await arriveAt(own)(viewOf(shop, '/both'))
  await answer(page, false)
  await search(page, 'refused')
  expect(await page.evaluate(() => track.consentState)).toBe('denied')
  expect(await storedIn(page)).toEqual({})
})

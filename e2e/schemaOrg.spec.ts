import type { Page } from '@playwright/test'
import { STUB } from '../src/tracker/snippet.ts'
import { expect, search, stopClock, test } from './fixtures.ts'

test.use({ config: { schemaOrg: true } })

/** Longer than the script waits for the page to report its product itself, ms. */
const WAIT_MS = 5000

const ld = (data: unknown) => `<script type="application/ld+json">${JSON.stringify(data)}</script>`
const viewed = (product_id: string) => ({ operation: 'viewProduct', payload: { product_id } })

/** Descriptions of products in pages. src/tracker/parts/schemaOrg.test.ts tests every form. */
const PAGES = {
  'JSON-LD, by an address relative to the page': [
    ld({ '@type': 'Product', url: '../p/bowl?x=1' }),
    'bowl',
  ],
  microdata: [
    `<div itemscope itemtype="https://schema.org/Product"><b itemprop="name">Mug</b>
     <div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="sku" content="offer"></div>
     <meta itemprop="sku" content="D-1"></div>`,
    'D-1',
  ],
} as const

test('the described product is reported if the page is left before the wait is over', async ({
  page,
  shop,
  expectStored,
}) => {
  const expected = []
  for (const [html, id] of Object.values(PAGES)) {
    await page.goto(shop.page('/here', { body: html }))
    expected.push(viewed(id))
  }
  await page.goto(shop.page('/empty'))
  await search(page, 'end')
  await expectStored([...expected, 'end'])
})

test('the described product is reported once, after the wait', async ({
  page,
  shop,
  expectStored,
}) => {
  const clock = await stopClock(page)
  await page.goto(shop.page('/a', { body: ld({ '@type': 'Product', sku: 'S-1' }) }))
  await clock.pass(1000)
  await search(page, 'early')
  await clock.pass(WAIT_MS)
  await clock.pass(60_000)
  await search(page, 'late')
  await page.goto(shop.page('/empty'))
  await expectStored(['early', viewed('S-1'), 'late'])
})

/** Ways in which a page reports its product itself. */
const OWN: { readonly [way: string]: readonly [html: string, act?: string] } = {
  'a call': ['', "track.viewProduct({product_id:'9'})"],
  'a push': ['', "dataLayer.push({event:'__sm__view_product',product_id:'9'})"],
  'an attribute': [
    '<p data-track="viewProduct" data-track-on="load" data-track-product-id="9"></p>',
  ],
  'the stub': [`<script>${STUB};track.viewProduct({product_id:'9'})</script>`],
}

test('the described product is not reported if the page reports a viewProduct itself', async ({
  page,
  customer,
  shop,
  expectStored,
}) => {
  const clock = await stopClock(page)
  for (const [way, [html, act = '']] of Object.entries(OWN))
    await test.step(way, async () => {
      const own = customer.another({ schemaOrg: true })
      const head = shop.tag('', own.trackingKey)
      const body = ld({ '@type': 'Product', sku: 'S-1' })
      await page.goto(shop.page('/a', { head: '', body: html + body + head }))
      await clock.pass(2500)
      await page.evaluate(act)
      // The element is reported by a file that the page loads later.
      await expectStored([viewed('9')], { customer: own })
      await clock.pass(WAIT_MS)
      await search(page, 'end')
      await page.goto(shop.page('/empty', { head }))
      await expectStored([viewed('9'), 'end'], { customer: own })
    })
})

/** Shows a page like a router: changes the address first, the description later. */
const show = (page: Page, path: string, sku?: string) =>
  page.evaluate(
    ([to, id]) => {
      history.pushState({}, '', to)
      const text = id && JSON.stringify({ '@type': 'Product', sku: id })
      document.body.innerHTML = id ? `<script type="application/ld+json">${text}</script>` : ''
    },
    [path, sku] as const,
  )

test('a router: one viewProduct for each product page, with its address', async ({
  page,
  customer,
  shop,
  expectStored,
}) => {
  const own = customer.another({ schemaOrg: true, pageViews: 'all' })
  const clock = await stopClock(page)
  const head = shop.tag('', own.trackingKey)
  await page.goto(shop.page('/p/1', { head, body: ld({ '@type': 'Product', sku: 'R-1' }) }))
  await clock.pass(WAIT_MS)
  await show(page, '/p/2', 'R-2')
  await clock.pass(WAIT_MS)
  await show(page, '/about')
  await clock.pass(WAIT_MS)
  await show(page, '/p/3', 'R-3')
  await clock.pass(WAIT_MS)
  const at = (path: string) => ({ url: shop.url + path })
  const rows = await expectStored(
    [
      { event: 'view_page', payload: at('/p/1') },
      { ...viewed('R-1'), payload: { product_id: 'R-1', ...at('/p/1') } },
      { event: 'view_page', payload: at('/p/2') },
      { ...viewed('R-2'), payload: { product_id: 'R-2', ...at('/p/2') } },
      { event: 'view_page', payload: at('/about') },
      { event: 'view_page', payload: at('/p/3') },
      { ...viewed('R-3'), payload: { product_id: 'R-3', ...at('/p/3') } },
    ],
    { customer: own },
  )
  expect(rows).toHaveLength(7)
})

test('off: the description is not read', async ({ page, customer, shop, expectStored }) => {
  const own = customer.another()
  const clock = await stopClock(page)
  const head = shop.tag('', own.trackingKey)
  await page.goto(shop.page('/a', { head, body: ld({ '@type': 'Product', sku: 'S-1' }) }))
  await clock.pass(WAIT_MS)
  await search(page, 'end')
  await page.goto(shop.page('/empty', { head }))
  await expectStored(['end'], { customer: own })
})

import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import { STUB } from '../src/tracker/snippet.ts'
import { expect, search, test } from './fixtures.ts'

/** A push, or the arguments of a gtag call, and the expected events. */
type Vector = {
  readonly push?: object
  readonly gtag?: readonly unknown[]
  readonly expect: readonly { readonly event: string }[]
  readonly warn?: readonly string[]
}

const vectors: Vector[] = JSON.parse(
  readFileSync(new URL('../src/tracker/fixtures/ga4.json', import.meta.url), 'utf8'),
)

/** Google's own snippet, and a list of the reasons for which pushes were not sent. */
const HEAD = `<script>${STUB}
  var codes = []
  track.on('dropped', ({ code, reason }) => codes.push(code ?? reason))
  window.dataLayer = window.dataLayer || []
  function gtag() { dataLayer.push(arguments) }
</script>`

const scriptOf = ({ push, gtag }: Vector) =>
  gtag
    ? `gtag(...${JSON.stringify(gtag)})`
    : `dataLayer.push({ecommerce:null},${JSON.stringify(push)})`

test.use({ config: { ga4: true } })

/** One vector of each kind. src/tracker/parts/ga4.test.ts runs all of them, before and after the script. */
const chosen = [
  vectors.find(({ push, warn }) => push && warn?.includes('ga4-variant')),
  vectors.find(({ gtag, warn }) => gtag && warn?.includes('ga4-variant')),
].filter((vector) => vector !== undefined)

test('a push and a gtag call, before and after the script', async ({
  page,
  customer,
  shop,
  expectStored,
}) => {
  expect(chosen).toHaveLength(2)
  for (const vector of chosen)
    for (const arrival of ['before', 'after'])
      await test.step(`${arrival} ${scriptOf(vector)}`, async () => {
        // Each vector has its own key, so that it is not a duplicate of another.
        const own = customer.another({ ga4: true })
        const tag = shop.tag('', own.trackingKey)
        const push = `<script>${scriptOf(vector)}</script>`
        await page.goto(
          shop.page('/a', { head: HEAD + (arrival === 'before' ? tag + push : push + tag) }),
        )
        await search(page, 'end')
        const expected = vector.expect.map(({ event, ...payload }) => ({ event, payload }))
        await expectStored([...expected, 'end'], { customer: own })
        expect(await page.evaluate('codes')).toEqual(vector.warn)
      })
})

/** Pushes of the same click, in the dialects of GA4, Universal Analytics and the plugins. */
const PUSHES = {
  ga4: "dataLayer.push({event:'add_to_cart',ecommerce:{items:[{item_id:'12',quantity:1}]}})",
  gtag: "gtag('event','add_to_cart',{items:[{item_id:'12',quantity:1}]})",
  ua: "dataLayer.push({event:'addToCart',ecommerce:{add:{products:[{id:'12',quantity:1}]}}})",
  plugin:
    "dataLayer.push({event:'__sm__add_to_cart',product_id:'12',quantity:1,variation:{id:'12-1',sku:'MUG'}})",
}
const add = { operation: 'addToCart', payload: { product_id: 12 } }

const PAIRS = [
  ['ua', 'ga4'],
  ['gtag', 'ga4'],
  ['plugin', 'ga4'],
  ['ga4', 'plugin'],
  ['plugin', 'ua'],
] as const

test('one click pushed in two dialects is one event, two clicks are two', async ({
  page,
  customer,
  shop,
  expectStored,
}) => {
  for (const [first, second] of PAIRS)
    await test.step(`${first} and ${second}`, async () => {
      const own = customer.another({ ga4: true })
      const body = `<button onclick="${PUSHES[first]};setTimeout(()=>{${PUSHES[second]}},30)">Add</button>`
      await page.goto(shop.page('/a', { head: HEAD + shop.tag('', own.trackingKey), body }))
      await page.click('button')
      await page.waitForFunction('codes.length===1')
      await page.click('button')
      await page.waitForFunction('codes.length===2')
      expect(await page.evaluate('codes')).toEqual(['duplicate', 'duplicate'])
      await search(page, 'end')
      await expectStored([add, add, 'end'], { customer: own })
      // Reports are carried over to the next page; another test covers that.
      await page.evaluate(() => sessionStorage.clear())
    })
})

test('all three dialects, a plugin and an attribute for one click are one event', async ({
  page,
  shop,
  expectStored,
}) => {
  const body = `<button data-track="addToCart" data-track-product-id="12" data-track-variation-id="12-1"
    data-track-variation-sku="MUG" onclick="${Object.values(PUSHES).join(';')}">Add</button>`
  await page.goto(shop.page('/a', { head: HEAD + shop.tag(), body }))
  await page.click('button')
  await search(page, 'end')
  await expectStored([
    { payload: { product_id: 12, variation: { id: '12-1', sku: 'MUG' } } },
    'end',
  ])
})

test('pushed for GA4 on one page and by the plugin on the next: one event; the next click is another', async ({
  page,
  shop,
  customer,
  expectStored,
}) => {
  // Longer than a page takes to load on a busy machine.
  const own = customer.another({ ga4: true, duplicateWindowMs: 60_000 })
  const head = HEAD + shop.tag('', own.trackingKey)
  const body = `<a href="/cart" onclick="${PUSHES.ga4}">Add</a>`
  await page.goto(shop.page('/a', { head, body }))
  const next = `<script>${PUSHES.plugin}</script>`
  shop.page('/cart', { head, body: next })
  await page.click('a')
  await page.waitForURL('**/cart')
  // One page later the report is forgotten: the plugin's push is a second click.
  await page.goto(shop.page('/b', { head, body: next }))
  await search(page, 'end')
  await expectStored([add, add, 'end'], { customer: own })
})

test('no personal data is carried over, and a carried report is used once', async ({
  page,
  shop,
}) => {
  await page.goto(shop.page('/a', { head: HEAD + shop.tag() }))
  await page.evaluate(`${PUSHES.ga4};track.setEmail({email_address:'ann@example.com'})`)
  const carried = () => page.evaluate(() => JSON.stringify({ ...sessionStorage }))
  await page.goto(shop.page('/empty', { head: '' }))
  expect(await carried()).toContain('add_to_cart')
  expect(await carried()).not.toContain('ann@')
  await page.goto(shop.page('/a', { head: HEAD + shop.tag() }))
  expect(await carried()).toBe('{}')
})

test('off: pushes for GA4 are not read, those of the plugin are', async ({
  page,
  customer,
  shop,
  expectStored,
}) => {
  const own = customer.another()
  await page.goto(shop.page('/a', { head: HEAD + shop.tag('', own.trackingKey) }))
  await page.evaluate(Object.values(PUSHES).join(';'))
  await search(page, 'end')
  await expectStored([{ payload: { variation: { id: '12-1', sku: 'MUG' } } }, 'end'], {
    customer: own,
  })
})

test('settings of the key: ids by pattern and parameter, the home page, e-mail addresses', async ({
  page,
  customer,
  shop,
  expectStored,
}) => {
  const own = customer.another({
    ga4: {
      productId: { from: 'product', pattern: '^shopify_[A-Z]{2}_(\\d+)' },
      variationId: 'variant_id',
      sku: 'item_sku',
      quantity: 'up',
      homepage: ['/', '/home'],
      userData: true,
    },
  })
  await page.goto(shop.page('/home', { head: HEAD + shop.tag('', own.trackingKey) }))
  await page.evaluate(`
    gtag('event', 'page_view')
    gtag('set', 'user_data', { email: ' ann@example.com ', address: { first_name: 'Ann' } })
    gtag('event', 'add_to_cart', { items: [{ item_id: 'x', product: 'shopify_RO_42_7', variant_id: 7,
      item_sku: 'S-7', quantity: 0.5, callback() {} }], event_callback() {} })`)
  await expectStored(
    [
      { operation: 'viewHomepage', event: 'view_homepage' },
      { payload: { email_address: 'ann@example.com', firstname: 'Ann', lastname: '' } },
      { payload: { product_id: 42, quantity: 1, variation: { id: '7', sku: 'S-7' } } },
    ],
    { customer: own },
  )
})

test('twenty items of a push are sent, and debug mode reports the rest; it also reports a push without items', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/a', { head: HEAD + shop.tag() }))
  await page.evaluate(`
    dataLayer.push({ event: 'add_to_cart', ecommerce: { items:
      Array.from({ length: 23 }, (_, n) => ({ item_id: n + 1 })) } })
    dataLayer.push({ ecommerce: { items: [{ item_id: '90' }] } })
    dataLayer.push({ event: 'add_to_cart' })`)
  await expectStored(Array.from({ length: 20 }, (_, n) => ({ payload: { product_id: n + 1 } })))
  expect(await codesOf(page)).toEqual(['ga4-too-many', 'ga4-split-push'])
})

const codesOf = (page: Page) => page.evaluate('codes')

import type { Page } from '@playwright/test'
import { expect, expectNothingKept, type Row, search, test } from './fixtures.ts'

/** A control of the demo shop, with or without a script (public/shop/README.md lists them). */
const control = (page: Page, name: string, within = '') =>
  page.locator(`${within} [data-test="${name}"]`).first()

/** The fields of an event that are the same with and without a script. */
const fieldsOf = ({ operation, event, payload }: Row) => {
  const { did: _, url: __, http_user_agent: ___, remote_addr: ____, ...fields } = payload
  return { operation, ...fields, event }
}

async function fillOrder(page: Page): Promise<void> {
  await control(page, 'checkout-email').fill('cleo@example.com')
  await control(page, 'checkout-firstname').fill('Cleo')
  await control(page, 'checkout-lastname').fill('Ó Ríordáin')
  await control(page, 'checkout-phone').fill('+353 1 234')
}

/** A walk through the pages with a script. */
async function walkScripted(page: Page, at: (path: string) => string): Promise<void> {
  await page.goto(at('index.html'))
  await control(page, 'toggle-wishlist', '[data-id="15"]').click()
  await page.goto(at('product.html?id=12'))
  await control(page, 'quantity').press('ArrowUp')
  await control(page, 'add-to-cart').click()
  await page.goto(at('product.html?id=12&v=12-2'))
  await control(page, 'add-to-wishlist').click()
  await page.locator('label', { hasText: 'Oat' }).click()
  await control(page, 'notify-email').fill('ben@example.com')
  await control(page, 'notify-submit').click()
  await page.goto(at('product.html?id=15'))
  await control(page, 'add-to-cart').click()
  await page.goto(at('wishlist.html'))
  await control(page, 'remove-from-wishlist', '[data-variation="12-2"]').click()
  await page.goto(at('cart.html'))
  await control(page, 'remove-from-cart', '[data-variation="12-1"]').click()
  await control(page, 'newsletter-email').fill('ann@example.com')
  await control(page, 'newsletter-submit').click()
  await control(page, 'search-input').fill('mug')
  await control(page, 'search-submit').click()
  await page.waitForURL('**/search.html?q=mug')
  await page.goto(at('checkout.html'))
  await fillOrder(page)
  for (const name of ['checkout-town', 'checkout-street'])
    await control(page, name).fill('somewhere')
  await control(page, 'place-order').click()
}

/** The same walk through the pages without a script. */
async function walkPlain(page: Page, at: (path: string) => string): Promise<void> {
  const press = async (path: string, name: string, within = '') => {
    await page.evaluate('leaving = true')
    await control(page, name, within).click()
    // Some forms lead to their own page.
    await page.waitForFunction('typeof leaving === "undefined"')
    // In Firefox, a navigation that begins before the page has loaded is an error of the driver.
    await page.waitForLoadState()
    expect(new URL(page.url()).pathname).toContain(path)
  }
  await page.goto(at('index.html'))
  await press('wishlist.html', 'add-to-wishlist', '[data-id="15"]')
  await page.goto(at('product.html'))
  const first = '[data-variation="12-1"]'
  await control(page, 'quantity', first).press('ArrowUp')
  await press('cart.html', 'add-to-cart', first)
  await page.goto(at('product.html'))
  await press('wishlist.html', 'add-to-wishlist', '[data-variation="12-2"]')
  await page.goBack()
  await control(page, 'notify-email').fill('ben@example.com')
  await press('product.html', 'notify-submit')
  await page.goto(at('product-15.html'))
  await press('cart.html', 'add-to-cart', '[data-variation="15-1"]')
  await page.goto(at('wishlist.html'))
  await press('wishlist.html', 'remove-from-wishlist', '[data-variation="12-2"]')
  await page.goto(at('cart.html'))
  await press('cart.html', 'remove-from-cart', first)
  await control(page, 'newsletter-email').fill('ann@example.com')
  await press('index.html', 'newsletter-submit')
  await page.goto(at('cart.html'))
  await control(page, 'search-input').fill('mug')
  await press('search.html', 'search-submit')
  await page.goto(at('checkout.html'))
  await fillOrder(page)
  await press('index.html', 'place-order')
}

/** True for events of pages, not of actions: the two walks differ in the pages on the way. */
const isOfPage = ({ operation }: Row) => /^view/.test(operation)

test('the demo shop reports the same ten operations with and without a script', async ({
  page,
  shop,
  wire,
  stored,
}) => {
  // Delivery is tested elsewhere: answers arrive before a page is left.
  wire.delayMs = 0
  /** The events stored since the last walk, in order. */
  let known = 0
  const walked = async (name: string) => {
    await page.goto(shop.page(`/${name}`))
    await expectNothingKept(page)
    const rows = (await stored()).sort((a, b) => (a.id < b.id ? -1 : 1)).slice(known)
    known += rows.length
    return rows
  }
  await walkScripted(page, (path) => `${shop.url}/shop/${path}`)
  const scripted = await walked('scripted')
  await walkPlain(page, (path) => `${shop.url}/shop/plain/${path}`)
  const plain = await walked('plain')

  const acts = (rows: Row[]) => rows.filter((row) => !isOfPage(row)).map(fieldsOf)
  expect(acts(plain)).toEqual(acts(scripted))
  // The forms of the plain pages lead to pages that the other walk does not open.
  const pages = (rows: Row[]) =>
    [...new Set(rows.filter(isOfPage).map((row) => JSON.stringify(fieldsOf(row))))].sort()
  expect(pages(plain)).toEqual(pages(scripted))
  expect(new Set(plain.map(({ operation }) => operation)).size).toBe(10)
  expect(new Set(plain.map(({ did }) => did))).toEqual(new Set([scripted[0]?.did]))
})

test('the own scripts of plain pages only push to the dataLayer', async ({ page, shop }) => {
  for (const name of [
    'index',
    'product',
    'product-15',
    'category',
    'search',
    'cart',
    'wishlist',
    'checkout',
  ]) {
    await page.goto(`${shop.url}/shop/plain/${name}.html`)
    const scripts = await page.evaluate(() =>
      [...document.scripts].map(({ src, text }) => src || text.trim()),
    )
    for (const script of scripts)
      expect(script).toMatch(
        /\/t\/j\/|^window\.dataLayer = window\.dataLayer \|\| \[\]\n +dataLayer\.push\(\{[^;]+\}\)$/,
      )
  }
})

test('a product visible for a second, a product without variations, and a sold-out row', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(`${shop.url}/shop/plain/index.html`)
  await control(page, 'seen').scrollIntoViewIfNeeded()
  await expectStored([
    { operation: 'viewHomepage' },
    { operation: 'viewProduct', payload: { product_id: '45' } },
  ])
  await page.goto(`${shop.url}/shop/plain/product-45.html`)
  await control(page, 'add-to-cart').click()
  await page.waitForURL('**/cart.html?*')
  await page.goto(`${shop.url}/shop/plain/product.html`)
  await control(page, 'add-to-cart', '[data-variation="12-3"]').dispatchEvent('click')
  await page.goto(shop.page('/empty'))
  await search(page, 'end')
  await expectStored([
    { operation: 'viewHomepage' },
    { operation: 'viewProduct', payload: { product_id: '45' } },
    { operation: 'viewProduct', payload: { product_id: '45' } },
    { operation: 'addToCart', payload: { product_id: 45, variation: { id: '45', sku: '45' } } },
    { operation: 'viewProduct', payload: { product_id: '12' } },
    'end',
  ])
})

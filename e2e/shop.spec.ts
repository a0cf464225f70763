import type { Page } from '@playwright/test'
import { UUID } from '../src/contract/uuid.ts'
import { VISITOR_ADDRESS } from './faultProxy.ts'
import { expect, expectNothingKept, search, stopClock, test } from './fixtures.ts'

/** A control of the demo shop (public/shop/README.md lists them). */
const control = (page: Page, name: string) => page.locator(`[data-test="${name}"]`)
const readDid = (page: Page) => page.evaluate(() => track.did)

const mug = { product_id: 12, variation: { id: '12-1', sku: 'MUG-COBALT' } }
const celadon = { product_id: 12, variation: { id: '12-2', sku: 'MUG-CELADON' } }

// The inspector must not change what it watches.
for (const isWatched of [false, true])
  test(`a walk through the demo shop${isWatched ? ', watched by the inspector' : ''}: each of the ten helpers stores the right row @both`, async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    if (isWatched) {
      // Firefox runs this in the empty first page too, which has no storage.
      await page.addInitScript(() => {
        if (location.protocol === 'http:') sessionStorage.setItem('track.debug', '1')
      })
      // The panel is beside the shop.
      await page.setViewportSize({ width: 2400, height: 900 })
    }
    const at = (path: string) => `${shop.url}/shop/${path}`

    await page.goto(at('index.html'))
    await expect(page.locator('shoptrail-inspector')).toHaveCount(isWatched ? 1 : 0)
    const did = await readDid(page)
    const agent = await page.evaluate(() => navigator.userAgent)
    await control(page, 'newsletter-email').fill('ann@example.com')
    await control(page, 'newsletter-submit').click()
    await control(page, 'search-input').fill('mug')
    await control(page, 'search-submit').click()
    await page.waitForURL('**/search.html?q=mug')

    await page.goto(at('product.html?id=12'))
    // By a key: in Firefox, filling a number field appends to its value.
    await control(page, 'quantity').press('ArrowUp')
    await control(page, 'add-to-cart').click()
    await control(page, 'add-to-wishlist').click()
    await page.locator('label', { hasText: 'Oat' }).click()
    await control(page, 'notify-email').fill('ben@example.com')
    await control(page, 'notify-submit').click()

    await page.goto(at('wishlist.html'))
    await control(page, 'remove-from-wishlist').click()
    await page.goto(at('cart.html'))
    await control(page, 'cart-quantity').press('ArrowDown')
    await control(page, 'cart-quantity').blur()
    await control(page, 'go-to-checkout').click()
    await page.waitForURL('**/checkout.html')
    await control(page, 'checkout-email').fill('cleo@example.com')
    await control(page, 'checkout-firstname').fill('Cleo')
    await control(page, 'checkout-lastname').fill('Ó Ríordáin')
    await control(page, 'checkout-phone').fill('+353 1 234')
    for (const name of ['checkout-town', 'checkout-street'])
      await control(page, name).fill('somewhere')
    await control(page, 'place-order').click()

    const rows = await expectStored([
      { operation: 'viewHomepage', event: 'view_homepage', payload: { url: at('index.html') } },
      {
        operation: 'setEmail',
        event: 'set_email',
        payload: { email_address: 'ann@example.com', firstname: '', lastname: '', phone: '' },
      },
      {
        operation: 'search',
        event: 'search',
        payload: { search_term: 'mug', url: at('search.html?q=mug') },
      },
      {
        operation: 'viewProduct',
        event: 'view_product',
        payload: { product_id: '12', url: at('product.html?id=12') },
      },
      { operation: 'addToCart', event: 'add_to_cart', payload: { ...mug, quantity: 2 } },
      { operation: 'addToWishlist', event: 'add_to_wishlist', payload: { ...mug, quantity: 1 } },
      {
        operation: 'sendCustom',
        event: 'back_in_stock',
        payload: { email: 'ben@example.com', url: at('product.html?id=12') },
      },
      {
        operation: 'removeFromWishlist',
        event: 'remove_from_wishlist',
        payload: { ...mug, quantity: 1, url: at('wishlist.html') },
      },
      {
        operation: 'removeFromCart',
        event: 'remove_from_cart',
        payload: { ...mug, quantity: 1, url: at('cart.html') },
      },
      {
        operation: 'initiateCheckout',
        event: 'initiate_checkout',
        payload: { url: at('checkout.html') },
      },
      {
        operation: 'setEmail',
        event: 'set_email',
        payload: {
          email_address: 'cleo@example.com',
          firstname: 'Cleo',
          lastname: 'Ó Ríordáin',
          phone: '+353 1 234',
        },
      },
    ])
    for (const { payload } of rows)
      expect(payload).toMatchObject({
        did,
        http_user_agent: agent,
        remote_addr: VISITOR_ADDRESS,
      })
    expect(did).toMatch(UUID)
    expect(wire.events.filter(({ method }) => method === 'OPTIONS')).toEqual([])
  })

test('another variation and the hearts of a shelf', async ({ page, shop, expectStored }) => {
  await page.goto(`${shop.url}/shop/product.html?id=12&v=12-2`)
  await control(page, 'add-to-cart').click()
  await page.goto(`${shop.url}/shop/category.html?c=ceramics`)
  const heart = page.locator('[data-id="12"] [data-test="toggle-wishlist"]')
  await heart.click()
  await heart.click()
  await expectStored([
    { operation: 'viewProduct', payload: { product_id: '12' } },
    { operation: 'addToCart', payload: { ...celadon, quantity: 1 } },
    { operation: 'addToWishlist', payload: { ...mug, quantity: 1 } },
    { operation: 'removeFromWishlist', payload: { ...mug, quantity: 1 } },
  ])
})

test('the device id survives a reload and is shared by tabs @both', async ({
  context,
  page,
  shop,
  expectStored,
}) => {
  const address = shop.page('/a')
  await page.goto(address)
  const did = await readDid(page)
  await page.reload()
  const other = await context.newPage()
  await other.goto(shop.page('/b'))
  expect([await readDid(page), await readDid(other)]).toEqual([did, did])
  await search(page, 'one')
  await search(other, 'two')
  await expectStored([
    { did, payload: { search_term: 'one' } },
    { did, payload: { search_term: 'two' } },
  ])
})

test('reset: a new device id, and kept events are removed', async ({
  context,
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  const before = await readDid(page)
  await context.setOffline(true)
  await search(page, 'forgotten')
  const did = await page.evaluate(() => {
    track.reset()
    return track.did
  })
  expect(did).toMatch(UUID)
  expect(did).not.toBe(before)
  await expectNothingKept(page)
  await context.setOffline(false)
  await search(page, 'after')
  await expectStored([{ did, payload: { search_term: 'after' } }])
})

test('reset in one tab reaches the others', async ({ context, page, shop, expectStored }) => {
  await page.goto(shop.page('/a'))
  const before = await readDid(page)
  const other = await context.newPage()
  await other.goto(shop.page('/b'))
  expect(await readDid(other)).toBe(before)
  const did = await page.evaluate(() => {
    track.reset()
    return track.did
  })
  await expect.poll(() => readDid(other)).toBe(did)
  await search(other, 'after')
  await expectStored([{ did, payload: { search_term: 'after' } }])
})

test('an invalid call makes no request and returns the reason', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  const result = await page.evaluate(async () => {
    const notices: unknown[] = []
    track.on('dropped', ({ reason, operation }) => notices.push({ reason, operation }))
    const outcome = await track.addToCart({
      product_id: '12-34',
      quantity: 0.5,
      variation: { id: '7', sku: ' ' },
    })
    if (outcome.ok || typeof outcome.error === 'string') return { outcome, notices }
    const { name, issues } = outcome.error
    await new Promise((resolve) => setTimeout(resolve))
    return { name, paths: issues.map(({ path }) => path), issues, notices }
  })
  expect(result).toMatchObject({
    name: 'ValidationException',
    paths: ['product_id', 'quantity', 'variation.sku'],
    notices: [{ reason: 'invalid', operation: 'addToCart' }],
  })
  await search(page, 'valid')
  await expectStored(['valid'])
  expect(wire.events).toHaveLength(1)
})

test('an accepted call returns its id; its delivery is reported later', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  const [outcome, delivered] = await page.evaluate(async () => {
    const delivery = new Promise<string | undefined>((resolve) => {
      track.on('delivered', ({ id }) => resolve(id))
    })
    return [await track.viewProduct({ product_id: 42 }), await delivery] as const
  })
  expect(outcome).toEqual({ ok: true, id: delivered })
  await expectStored([{ id: delivered ?? '', payload: { product_id: '42' } }])
})

test('flush delivers kept events and returns their number', async ({
  page,
  shop,
  wire,
  stored,
}) => {
  // Otherwise the script sends them again by itself.
  await stopClock(page)
  await page.goto(shop.page('/a'))
  wire.always({ status: 503 })
  await search(page, 'one')
  await expect.poll(() => wire.events.length).toBe(1)
  await search(page, 'two', 'three')
  expect(await page.evaluate(() => track.flush())).toMatchObject({ delivered: 0, kept: 3 })
  wire.heal()
  expect(await page.evaluate(() => track.flush())).toEqual({ delivered: 3, kept: 0, dropped: 0 })
  expect(await stored()).toHaveLength(3)
})

test.describe('a key that requires consent', () => {
  test.use({ config: { consent: 'required' } })

  test('the shop asks, sends what happened before after a yes, and asks again from its foot', async ({
    page,
    shop,
    wire,
    stored,
    expectStored,
  }) => {
    await page.goto(`${shop.url}/shop/privacy.html`)
    await expect(control(page, 'consent')).toBeVisible()
    await expect(control(page, 'consent-state')).toHaveText('You have not answered yet.')
    await page.goto(`${shop.url}/shop/product.html?id=12`)
    await expect(control(page, 'consent')).toBeVisible()
    await control(page, 'add-to-wishlist').click()
    expect(wire.events).toEqual([])

    await control(page, 'consent-granted').click()
    await expect(control(page, 'consent')).toBeHidden()
    await expectStored([
      { operation: 'viewProduct', payload: { product_id: '12' } },
      { operation: 'addToWishlist', payload: mug },
    ])

    await page.goto(`${shop.url}/shop/privacy.html`)
    await expect(control(page, 'consent-state')).toHaveText('What you do here is recorded.')
    await expect(control(page, 'consent')).toBeHidden()
    await control(page, 'consent-again').click()
    await control(page, 'consent-denied').click()
    await expect(control(page, 'consent')).toBeHidden()
    await expect(control(page, 'consent-state')).toHaveText('Nothing is recorded.')
    expect(await page.evaluate(() => localStorage.getItem('track.did'))).toBeNull()
    await page.goto(`${shop.url}/shop/product.html?id=12`)
    await expect(control(page, 'consent-again')).toBeVisible()
    await expect(control(page, 'consent')).toBeHidden()
    expect(await stored()).toHaveLength(2)
  })
})

test('a key that does not ask for consent: the shop does not ask', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(`${shop.url}/shop/privacy.html`)
  await expect(control(page, 'consent-state')).toHaveText('What you do here is recorded.')
  await expect(control(page, 'consent')).toBeHidden()
  await expect(control(page, 'consent-again')).toBeHidden()
  await search(page, 'end')
  await expectStored(['end'])
})

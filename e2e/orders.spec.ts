import { rmSync } from 'node:fs'
import type { BrowserContext, Page } from '@playwright/test'
import type { Gateway } from '../src/gateway/index.ts'
import { addShop, expectNoSidewaysScroll, signIn } from './campaignPage.ts'
import { test as base, expect } from './fixtures.ts'
import { loadGateway, makeFolder } from './gateway.ts'

/*
 * Orders and subscribers from the demo shop to the operators' pages. The gateway plays the shop's server
 * (src/gateway/demoShop.ts).
 */

/** A gateway for each test, since other tests count the visitors of the demo campaign too. */
const test = base.extend<{ demo: Gateway }>({
  demo: async ({ browserName }, use) => {
    const folder = makeFolder(`orders-${browserName}`)
    const demo = await (await loadGateway()).startGateway({ dataDir: folder, demo: true })
    await use(demo)
    await demo.close()
    rmSync(folder, { recursive: true, force: true })
  },
})

test.use({ testIdAttribute: 'data-test' })

/** Opens a page of the demo shop in a browser of its own: another visitor. */
async function visit(context: BrowserContext, url: string): Promise<Page> {
  const visitor = await context.browser()?.newContext()
  const shop = await (visitor as BrowserContext).newPage()
  await shop.goto(url)
  await shop.waitForLoadState()
  return shop
}

/** Puts two mugs into the cart and orders them. @returns The order's number. */
async function order(shop: Page, url: string, email: string): Promise<string> {
  await shop.goto(`${url}/shop/product.html?id=12`)
  await shop.waitForLoadState()
  await shop.getByTestId('quantity').fill('2')
  await shop.getByTestId('add-to-cart').click()
  await shop.getByTestId('nav-cart').click()
  await shop.waitForURL('**/cart.html')
  await shop.getByTestId('go-to-checkout').click()
  await shop.waitForURL('**/checkout.html')
  await shop.getByTestId('checkout-email').fill(email)
  for (const name of ['firstname', 'lastname', 'phone', 'town', 'street'])
    await shop.getByTestId(`checkout-${name}`).fill('somewhere')
  await shop.getByTestId('place-order').click()
  await expect(shop.getByTestId('placed')).toBeVisible()
  return (await shop.getByTestId('order-number').textContent()) ?? ''
}

test('an order of the demo shop appears in the live view and in the report of its campaign, and so does its refund', async ({
  page,
  context,
  demo,
}) => {
  const { url } = demo
  await page.goto(`${url}/live/?customer=demo`)
  await expect(page.getByTestId('state')).toHaveText('live')
  const letter = `${url}/shop/?utm_campaign=autumn-mugs&utm_medium=email&utm_source=newsletter`
  const shop = await visit(context, letter)
  // Another visitor of the campaign, who buys nothing.
  const other = await visit(context, letter)
  const number = await order(shop, url, 'orders.ann@example.com')

  const row = page.locator('[data-operation=saveOrder]').filter({ hasText: number })
  await expect(row).toContainText(`No. ${number}`)
  await expect(row).toContainText('€52.90')
  await expect(row).toContainText('1 product · orders.ann@example.com')
  await expect(row).toContainText('server')
  await expect(page.getByTestId('kind-saveOrder')).toContainText('1')
  await expect(page.getByTestId('funnel-saveOrder')).toContainText('1 device · 1 order')
  await row.locator('.open').press('Enter')
  await expect(page.getByTestId('json')).toContainText('"total_value": "52.90"')
  await page.keyboard.press('Escape')
  // No key in the pages of the shop.
  expect(await shop.content()).not.toContain('k=')

  await page.goto(`${url}/campaigns/?customer=demo&id=autumn-mugs`)
  await expect(page.getByTestId('orders')).toHaveText('1')
  await expect(page.getByTestId('revenue')).toHaveText('€52.90')
  await expect(page.getByTestId('average-order')).toHaveText('€52.90')
  await expect(page.getByTestId('visitors')).toHaveText('2')
  await expect(page.getByTestId('revenue-per-visitor')).toHaveText('€26.45')
  await expect(page.getByTestId('revenue-under')).toHaveText('nothing of it refunded')
  await expect(page.getByTestId('funnel-saveOrder')).toHaveAttribute('data-count', '1')
  await expect(page.getByTestId('time-zone')).toContainText('UTC')
  await expect(page.getByTestId('statuses')).toContainText('no status yet')

  // The picture, by keyboard and as a table.
  await expect(page.getByRole('img', { name: /Revenue by day/ })).toBeVisible()
  await page.getByTestId('timeline').focus()
  await page.keyboard.press('End')
  await expect(page.getByTestId('tip')).toContainText('1 order')
  await expect(page.getByTestId('tip')).toContainText('€52.90 of revenue')
  await page.getByText('As a table').click()
  await expect(page.getByRole('row', { name: /2 .* 1 €52\.90/ })).toBeVisible()

  // The shop cancels it.
  await shop.getByTestId('cancel-order').click()
  await expect(shop.getByTestId('cancelled')).toHaveText('It is cancelled.')
  await expect(page.getByTestId('revenue-under')).toHaveText('€52.90 of it refunded, 1 order')
  await expect(page.locator('[data-status=cancelled]')).toContainText('refund')
  await expect(page.getByTestId('revenue')).toHaveText('€52.90')
  await page.goto(`${url}/live/?customer=demo`)
  const status = page.locator('[data-operation=updateOrderStatus]').filter({ hasText: number })
  await expect(status).toContainText('cancelled')
  await shop.context().close()
  await other.context().close()
})

test('a subscription of the demo shop and its end appear in the live view', async ({
  page,
  context,
  demo,
}) => {
  await page.goto(`${demo.url}/live/?customer=demo`)
  await expect(page.getByTestId('state')).toHaveText('live')
  const shop = await visit(context, `${demo.url}/shop/`)
  await shop.getByTestId('newsletter-email').fill('reader@example.com')
  await shop.getByTestId('newsletter-submit').click()
  const added = page.locator('[data-operation=addSubscriber]')
  await expect(added).toContainText('reader@example.com')
  await expect(added).toContainText('Subscribed')
  await shop.getByTestId('unsubscribe-link').click()
  await shop.waitForURL('**/unsubscribe.html')
  await shop.getByTestId('unsubscribe-email').fill('reader@example.com')
  await shop.getByTestId('unsubscribe-submit').press('Enter')
  await expect(shop.getByTestId('unsubscribed')).toHaveText(
    'reader@example.com gets no more letters.',
  )
  await expect(page.locator('[data-operation=removeSubscriber]')).toContainText(
    'reader@example.com',
  )
  await page.getByTestId('kind-removeSubscriber').click()
  await expect(page.getByTestId('row')).toHaveCount(1)
  await shop.context().close()
})

test('a long number of an order leaves room for its status, and a long amount moves nothing below it', async ({
  page,
  demo,
}) => {
  const shop = await addShop(demo, 'Long', ['Ours'])
  const number = 'AN-2026-11-29-000153-INVOICE'
  const email_address = 'ann@shop.example'
  const link = 'https://shop.example/?utm_campaign=mugs&utm_medium=email&utm_source=letter'
  const total = { total_value: '1261346.74', currency: 'EUR', minor: { total_value: 126134674 } }
  const records = [
    ['viewHomepage', 'device', { url: link }],
    ['setEmail', 'device', { url: link, email_address }],
    ['saveOrder', null, { number, email_address, ...total, products: [] }],
    ['updateOrderStatus', null, { order_number: number, order_status: 'delivered in part' }],
  ] as const
  const at = Date.now()
  await demo.log.append(
    records.map(([operation, did, payload], index) => ({
      customer: shop.customerId,
      id: `01900000-0000-7000-8001-${String(index).padStart(12, '0')}`,
      at: at + index,
      receivedAt: at + index,
      did,
      bot: false,
      version: null,
      operation,
      event: operation,
      payload: JSON.stringify(payload),
    })),
  )
  await signIn(page, demo, shop)
  await page.getByTestId('open-campaign').click()
  await expect(page.getByTestId('revenue')).toHaveText('€1,261,346.74')
  const [short, long] = await Promise.all(
    ['orders-under', 'revenue-under'].map((one) => page.getByTestId(one).boundingBox()),
  )
  expect(long?.y).toBe(short?.y)

  await page.goto(`${demo.url}/live/?customer=${shop.customerId}`)
  const status = page.locator('[data-operation=updateOrderStatus] .what span')
  await expect(status).toHaveText('delivered in part')
  expect((await status.boundingBox())?.width).toBeGreaterThan(90)
})

test('bots are left out of a report, and counted if the operator asks; the address keeps it', async ({
  page,
  demo,
}) => {
  const shop = await addShop(demo, 'Scanned', ['Ours'])
  demo.customers.change(shop.customerId, { timeZone: 'Europe/Bucharest' })
  const link = 'https://shop.example/?utm_campaign=mugs&utm_medium=email&utm_source=letter'
  await demo.log.append(
    Array.from({ length: 3 }, (_, index) => ({
      customer: shop.customerId,
      id: `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`,
      at: Date.now(),
      receivedAt: Date.now(),
      did: `device-${index}`,
      bot: index > 0,
      version: null,
      operation: 'viewHomepage' as const,
      event: 'view_homepage',
      payload: JSON.stringify({ url: link }),
    })),
  )
  await signIn(page, demo, shop)
  await page.getByTestId('open-campaign').click()
  await expect(page.getByTestId('visitors')).toHaveText('1')
  await expect(page.getByTestId('time-zone')).toContainText('Europe/Bucharest')
  await expect(page.getByTestId('bots-state')).toHaveText('Left out: 2 bots with 2 events')
  await page.getByRole('switch', { name: 'Count bots too' }).press('Space')
  await expect(page.getByTestId('visitors')).toHaveText('3')
  await expect(page.getByTestId('bots-state')).toHaveText('Included: 2 bots with 2 events')
  await page.reload()
  await expect(page.getByRole('switch')).toBeChecked()
  await expect(page.getByTestId('visitors')).toHaveText('3')
  await page.getByRole('switch').click()
  await expect(page.getByTestId('visitors')).toHaveText('1')
  await expect(page).not.toHaveURL(/bots/)
  await page.setViewportSize({ width: 320, height: 700 })
  await expectNoSidewaysScroll(page)
})

import type { BrowserContext, Page } from '@playwright/test'
import { partitionOf } from '../src/gateway/nats/names.ts'
import { fillRest, names } from './campaignPage.ts'
import { type Pair, test } from './clusterPair.ts'
import { expect, expectNothingKept } from './fixtures.ts'
import { fillLogin } from './operatorPage.ts'

/*
 * The demo shop and the operators' pages over two gateways on a cluster of three nodes. What one gateway is given, the
 * other has.
 */
test.use({ testIdAttribute: 'data-test' })

/** Each page is left after it has loaded: the script is async, and before it runs a page reports nothing. */
async function follow(shop: Page, link: string, path: string) {
  await shop.getByTestId(link).first().click()
  await shop.waitForURL(path)
  await shop.waitForLoadState()
}

/** Walks from the home page of the demo shop to an order. */
async function walk(shop: Page, email: string) {
  await follow(shop, 'product-link', '**/product.html?*')
  await shop.getByTestId('add-to-cart').click()
  await follow(shop, 'nav-cart', '**/cart.html')
  await follow(shop, 'go-to-checkout', '**/checkout.html')
  await shop.getByTestId('checkout-email').fill(email)
  for (const name of ['firstname', 'lastname', 'phone', 'town', 'street'])
    await shop.getByTestId(`checkout-${name}`).fill('somewhere')
  await shop.getByTestId('place-order').click()
  await expect(shop.getByTestId('thanks')).toBeVisible()
  await expectNothingKept(shop)
}

async function openShop(context: BrowserContext, pair: Pair, query = '') {
  const shop = await context.newPage()
  await shop.goto(`${pair.url}/shop/${query}`)
  await shop.waitForLoadState()
  return shop
}

/** How often each id of the demo customer is in the streams, and its operations. */
async function readDemo({ streams }: Pair) {
  const events = (await streams.read()).filter(({ customer }) => customer === 'demo')
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length)
  return events
}

test('a walk through the demo shop is in the live view of both gateways, and in the cluster once', async ({
  context,
  page,
  pair,
}) => {
  const other = await context.newPage()
  await page.goto(`${pair.one}/live/?customer=demo`)
  await other.goto(`${pair.two}/live/?customer=demo`)
  for (const live of [page, other]) await expect(live.getByTestId('state')).toHaveText('live')
  const before = await readDemo(pair)

  const shop = await openShop(context, pair)
  await walk(shop, 'walker@example.com')

  const events = (await readDemo(pair)).slice(before.length)
  expect(events.map(({ operation }) => operation).sort()).toEqual([
    'addToCart',
    'initiateCheckout',
    // By the shop's own server.
    'saveOrder',
    'setEmail',
    // A page view of each of the four pages, and the homepage.
    ...Array.from({ length: 5 }, () => 'viewHomepage'),
    'viewProduct',
  ])
  const idsIn = async (live: Page) => {
    const rows = await live.getByTestId('row').all()
    return Promise.all(rows.map((row) => row.getAttribute('data-id')))
  }
  const ids = events.map(({ id }) => id).sort()
  for (const live of [page, other])
    await expect.poll(async () => (await idsIn(live)).sort()).toEqual(ids)
  const partition = partitionOf('demo', pair.streams.partitions)
  expect(new Set(events.map((event) => event.partition))).toEqual(new Set([partition]))
  for (const answered of pair.answered) expect(answered).toBeGreaterThan(0)
})

test('a campaign that is created on one gateway is listed on the other, and visits by its link are counted there', async ({
  context,
  page,
  pair,
}) => {
  await page.goto(`${pair.one}/campaigns/?customer=demo&new=`)
  await page.getByTestId('subject.name').fill('Kiln opening')
  await fillRest(page)
  await page.getByTestId('create').click()
  await expect(page.getByTestId('campaign-name')).toHaveText('Kiln opening')
  const { search } = new URL((await page.getByTestId('link').textContent()) ?? '')

  await page.goto(`${pair.two}/campaigns/?customer=demo`)
  await expect.poll(() => names(page)).toContain('Kiln opening')
  await page.getByTestId('open-campaign').filter({ hasText: 'Kiln opening' }).click()
  await expect(page.getByTestId('report-empty')).toContainText('Waiting for the first visit')

  const shop = await openShop(context, pair, search)
  await walk(shop, 'opener@example.com')
  for (const name of ['visitors', 'identified', 'carts', 'checkouts'])
    await expect(page.getByTestId(name)).toHaveText('1')
})

test('a sign-in on one gateway is valid on the other, and ends on both when the key is rotated', async ({
  context,
  page,
  pair,
}) => {
  const kiln = await pair.addCustomer('kiln')
  const script = (gateway: string, key: string) =>
    fetch(`${gateway}/t/j/${key}`).then(({ status }) => status)
  for (const gateway of [pair.one, pair.two])
    await expect.poll(() => script(gateway, kiln.trackingKey)).toBe(200)

  // By the balancer: the cookie is of its port.
  await page.goto(`${pair.url}/live/?customer=kiln`)
  await fillLogin(page, kiln)
  const other = await context.newPage()
  await other.goto(`${pair.url}/live/?customer=kiln`)
  for (const live of [page, other]) await expect(live.getByTestId('state')).toHaveText('live')
  const before = [...pair.answered]
  const ask = () => page.evaluate(() => fetch('/live/customers').then(({ status }) => status))
  for (let i = 0; i < 4; i++) expect(await ask()).toBe(200)
  for (const [i, answered] of pair.answered.entries())
    expect(answered).toBeGreaterThan(before[i] as number)

  const printed = await pair.command('customer', 'rotate', 'kiln', '--key', 'rest')
  const restKey = /^restKey\s+(\S+)$/m.exec(printed)?.[1] ?? ''
  for (const live of [page, other])
    await expect(live.getByTestId('login-error')).toHaveText(
      'The REST key of kiln has changed: sign in again.',
    )
  await fillLogin(other, { ...kiln, restKey })
  await expect(other.getByTestId('state')).toHaveText('live')

  const tracking = await pair.command('customer', 'rotate', 'kiln', '--key', 'tracking')
  const trackingKey = /^trackingKey\s+(\S+)$/m.exec(tracking)?.[1] ?? ''
  for (const gateway of [pair.one, pair.two]) {
    await expect.poll(() => script(gateway, trackingKey)).toBe(200)
    expect(await script(gateway, kiln.trackingKey)).toBe(404)
  }
})

test('a person is found on both gateways, and erased on one is gone on the other and in the cluster', async ({
  context,
  page,
  pair,
}) => {
  const shop = await openShop(context, pair)
  await shop.getByTestId('newsletter-email').fill('cleo@example.com')
  const subscribed = shop.waitForResponse('**/server/subscribe')
  await shop.getByTestId('newsletter-submit').click()
  expect((await subscribed).ok()).toBe(true)
  await expectNothingKept(shop)

  const find = async () => {
    await page.getByTestId('person').fill('cleo@example.com')
    await page.getByTestId('find').click()
  }
  for (const gateway of [pair.one, pair.two]) {
    await page.goto(`${gateway}/people/?customer=demo`)
    await find()
    await expect(page.getByTestId('counts')).toHaveText(/^\d+ events of 1 device$/)
  }
  await page.getByTestId('confirm').fill('cleo@example.com')
  await page.getByTestId('erase').click()
  await expect(page.getByTestId('notice')).toContainText(/Removed \d+ events of 1 device/)

  await page.goto(`${pair.one}/people/?customer=demo`)
  await expect(page.getByTestId('proofs').getByRole('row')).toHaveCount(2)
  await find()
  await expect(page.getByTestId('nothing')).toContainText('Nothing is kept of cleo@example.com')
  const events = await readDemo(pair)
  expect(events.filter(({ payload }) => payload.includes('cleo@example.com'))).toEqual([])
})

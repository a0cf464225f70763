import { pathToFileURL } from 'node:url'
import type { BrowserContext, Page } from '@playwright/test'
import type { createClient } from '../src/client/index.ts'
import {
  addShop,
  campaign,
  expectIconNextToText,
  expectNoSidewaysScroll,
  holdTimers,
  names,
  setHidden,
  signIn,
  test,
} from './campaignPage.ts'
import { expect } from './fixtures.ts'

const PHONES = [390, 320]

test.use({ testIdAttribute: 'data-test' })

/** Walks through the demo shop: a product view, a cart, a checkout, an e-mail address. */
async function walk(shop: Page) {
  // Each page is left after it has loaded: the script is async, and before it runs a page reports nothing.
  const open = async (link: string, path: string) => {
    await shop.getByTestId(link).first().click()
    await shop.waitForURL(path)
  }
  await shop.waitForLoadState()
  await open('product-link', '**/product.html?*')
  await shop.getByTestId('add-to-cart').click()
  await open('nav-cart', '**/cart.html')
  await open('go-to-checkout', '**/checkout.html')
  // Another spec counts the events of the other addresses in the demo.
  await shop.getByTestId('checkout-email').fill('walker@example.com')
  for (const name of ['firstname', 'lastname', 'phone', 'town', 'street'])
    await shop.getByTestId(`checkout-${name}`).fill('somewhere')
  await shop.getByTestId('place-order').click()
  await expect(shop.getByTestId('thanks')).toBeVisible()
}

const newTab = (context: BrowserContext, act: () => Promise<void>) =>
  Promise.all([context.waitForEvent('page'), act()]).then(([page]) => page)

test('the report updates by itself while a visitor walks through the demo shop', async ({
  page,
  context,
  demo,
}) => {
  await page.goto(`${demo.url}/campaigns`)
  await page.getByTestId('open-campaign').click()
  await expect(page.getByTestId('campaign-name')).toHaveText('Autumn mugs')
  await expect(page.getByTestId('report-empty')).toContainText('Waiting for the first visit')
  const shop = await newTab(context, () => page.getByTestId('open-shop').click())
  await expect(shop).toHaveURL((await page.getByTestId('link').textContent()) ?? '')
  await walk(shop)
  // A visit without the link does not count for the campaign.
  const other = await (await context.browser()?.newContext())?.newPage()
  await other?.goto(`${demo.url}/shop/product.html?id=12`)

  for (const name of ['visitors', 'identified', 'carts', 'checkouts'])
    await expect(page.getByTestId(name)).toHaveText('1')
  for (const kind of ['viewHomepage', 'viewProduct', 'addToCart', 'initiateCheckout'])
    await expect(page.getByTestId(`funnel-${kind}`)).toHaveAttribute('data-count', '1')
  await expect(page.locator('[data-name="add_to_cart"]')).toContainText('1')
  await expect(page.getByRole('img', { name: /How far visitors came/ })).toBeVisible()
  await expect(page.getByTestId('report-empty')).toBeHidden()

  // The days by keyboard and as a table.
  await page.getByTestId('timeline').focus()
  await page.keyboard.press('ArrowLeft')
  await expect(page.getByTestId('tip')).toContainText('1 visitor')
  await page.keyboard.press('Home')
  await expect(page.getByTestId('tip')).toContainText('0 visitors')
  await page.keyboard.press('Escape')
  await expect(page.getByTestId('tip')).toBeHidden()
  await page.getByText('As a table').click()
  const byDay = page.getByLabel('Day by day', { exact: true })
  await expect(byDay.getByRole('row')).toHaveCount(2)

  // The shop's own link to its letter counts for the same campaign.
  await shop.goto(`${demo.url}/shop/plain/`)
  await shop.getByTestId('letter-link').click()
  await expect(shop).toHaveURL(/utm_campaign=autumn-mugs/)
  await expect(page.locator('[data-name="view_homepage"] b')).toHaveText('3')
  await expect(page.getByTestId('visitors')).toHaveText('1')
  await other?.context().close()
})

test('search, channel and page number are part of the address; back returns to them', async ({
  page,
  demo,
}) => {
  const some = Array.from({ length: 22 }, (_, index) => `Letter ${index + 1}`)
  const shop = await addShop(demo, 'Many', [...some, 'Căni SMS', '100 % SMS'])
  await signIn(page, demo, shop)
  await expect(page.getByTestId('found')).toHaveText('24 campaigns')
  await page.getByTestId('older').click()
  await expect.poll(() => names(page)).toEqual(['Letter 4', 'Letter 3', 'Letter 2', 'Letter 1'])
  await page.getByTestId('type-sms').click()
  await expect.poll(() => names(page)).toEqual(['100 % SMS', 'Căni SMS'])
  await page.getByTestId('search').fill('CĂNI')
  await expect.poll(() => names(page)).toEqual(['Căni SMS'])
  await expect(page).toHaveURL(/search=C%C4%82NI&type=sms/)
  await page.reload()
  await expect.poll(() => names(page)).toEqual(['Căni SMS'])
  await page.getByTestId('open-campaign').click()
  await expect(page.getByTestId('no-report')).toContainText('Only e-mail campaigns have reports')
  await expect(page.getByTestId('report')).toBeHidden()
  await page.goBack()
  await expect(page.getByTestId('search')).toHaveValue('CĂNI')
  await page.goBack()
  await expect.poll(() => names(page)).toHaveLength(4)
  await page.goBack()
  await expect.poll(() => names(page)).toHaveLength(20)
  await page.getByTestId('search').fill('no such thing')
  await expect(page.getByTestId('no-match')).toContainText('No campaign has “no such thing”')
  await page.getByTestId('show-all').click()
  await expect(page.getByTestId('found')).toHaveText('24 campaigns')
})

test('one sign-in is valid on both pages, and another customer’s campaigns can not be read', async ({
  page,
  demo,
}) => {
  const [one, two] = [await addShop(demo, 'One', ['Ours']), await addShop(demo, 'Two', ['Theirs'])]
  await signIn(page, demo, one)
  await expect.poll(() => names(page)).toEqual(['Ours'])
  const statusOf = (path: string) =>
    page.evaluate((url) => fetch(url).then(({ status }) => status), `/campaigns/data/${path}`)
  expect(await statusOf(`list?customer=${two.customerId}`)).toBe(403)
  await page.goto(`${demo.url}/campaigns/?customer=${one.customerId}&id=${two.customerId}-0`)
  await expect(page.getByTestId('campaign-name')).toHaveText('No such campaign')

  await page.getByTestId('customer').selectOption('Another customer…')
  await page.getByLabel(/Customer ID/).fill(two.customerId)
  await page.getByLabel('REST key').fill(two.restKey)
  await page.getByTestId('login-submit').click()
  await expect.poll(() => names(page)).toEqual(['Theirs'])
  await page.getByTestId('to-live').click()
  await expect(page.getByTestId('customer')).toHaveValue(two.customerId)
  await expect(page.getByTestId('state')).toHaveText('live')
  await page.getByTestId('to-campaigns').click()
  await expect.poll(() => names(page)).toEqual(['Theirs'])

  await page.getByTestId('open-campaign').click()
  await expect(page.getByTestId('state')).toHaveText('live')
  demo.customers.rotate(two.customerId, 'rest')
  await expect(page.getByTestId('login-error')).toHaveText(
    'You can no longer see Two: sign in again.',
  )
  await expect(page.getByTestId('campaign')).toBeHidden()
})

test('a typed search is applied, also if something else is clicked at once', async ({
  page,
  demo,
}) => {
  const some = Array.from({ length: 22 }, (_, index) => `Letter ${index + 1}`)
  const shop = await addShop(demo, 'Quick', [...some, 'Mugs SMS', 'Mugs'])
  await signIn(page, demo, shop)
  await expect(page.getByTestId('search')).toHaveAttribute('maxlength', '200')
  await page.getByTestId('search').fill('mugs')
  await page.getByTestId('type-email').click()
  await expect.poll(() => names(page)).toEqual(['Mugs'])
  await expect(page).toHaveURL(/search=mugs&type=email/)
  await page.getByTestId('search').fill('letter')
  await page.getByTestId('new-campaign').click()
  await page.goBack()
  await expect(page.getByTestId('search')).toHaveValue('letter')
  await expect(page.getByTestId('found')).toHaveText('22 campaigns')
  // In one task: on a busy machine the list may be loaded before a separate click.
  await page.getByTestId('search').evaluate((field: HTMLInputElement) => {
    field.value = 'letter 2'
    field.dispatchEvent(new Event('input', { bubbles: true }))
    document.querySelector<HTMLElement>('[data-test=older]')?.click()
  })
  await expect.poll(() => names(page)).toEqual(['Letter 22', 'Letter 21', 'Letter 20', 'Letter 2'])
})

test('event names are sorted by count, twelve are shown at first, and long names stay distinguishable', async ({
  page,
  demo,
}) => {
  const shop = await addShop(demo, 'Names', ['Ours', 'The same'])
  const long = (end: string) => `shop_added_${'something_'.repeat(6)}to_the_${end}`
  const counts = new Map([
    ['view_page', 9],
    ['2026', 2],
    [long('cart'), 3],
    [long('list'), 3],
    ...Array.from({ length: 11 }, (_, index) => [`event_${index + 10}`, 1] as const),
  ])
  await demo.log.append(
    [...counts].flatMap(([event, count], kind) =>
      Array.from({ length: count }, (_, index) => ({
        customer: shop.customerId,
        id: `01900000-0000-7000-8000-${String(kind * 100 + index).padStart(12, '0')}`,
        at: Date.now(),
        receivedAt: Date.now(),
        did: 'd-1',
        bot: false,
        version: null,
        operation: 'sendCustom' as const,
        event,
        payload: JSON.stringify({
          event,
          url: 'https://shop.example/?utm_campaign=mugs&utm_medium=email&utm_source=letter',
        }),
      })),
    ),
  )
  await signIn(page, demo, shop)
  await page.getByText('Ours', { exact: true }).click()
  const rows = page.getByTestId('event-name')
  await expect(rows).toHaveCount(12)
  const order = await rows.evaluateAll((all) => all.map((row) => row.dataset.name))
  expect(order.slice(0, 4)).toEqual(['view_page', long('cart'), long('list'), '2026'])
  const shown = await rows.locator('code').allTextContents()
  expect(new Set(shown).size).toBe(12)
  await page.getByTestId('more-names').press('Enter')
  await expect(rows).toHaveCount(15)
  await expect(rows.nth(12)).toBeFocused()
  await expect(page.getByTestId('more-names')).toBeHidden()
  await expect(page.getByTestId('bots-state')).toContainText('No bots came')

  // Alt and left is the browser's shortcut for back.
  const isTaken = (key: string, altKey: boolean) =>
    page
      .getByTestId('timeline')
      .evaluate(
        (chart, init) =>
          !chart.dispatchEvent(
            new KeyboardEvent('keydown', { ...init, bubbles: true, cancelable: true }),
          ),
        { key, altKey },
      )
  expect(await isTaken('ArrowLeft', true)).toBe(false)
  expect(await isTaken('ArrowLeft', false)).toBe(true)

  // The content in the form's words, and other campaigns with the same utm values.
  await expect(page.getByTestId('same-utm')).toContainText('Same utm values as “The same”')
  await page.getByText('Content and settings').click()
  await expect(page.getByTestId('campaign')).toContainText('Regular')
  await expect(page.getByTestId('campaign')).toContainText('Everybody')
  const letter = await page.getByTestId('campaign').getByTestId('preview').boundingBox()
  expect(letter?.height).toBeLessThan(400)
})

test('a campaign that could not be loaded is loaded when the page becomes visible again', async ({
  page,
  demo,
}) => {
  await page.route('**/data/campaign?*', (route) => route.abort())
  await page.goto(`${demo.url}/campaigns/?customer=demo&id=autumn-mugs`)
  await expect(page.getByTestId('state')).toContainText('does not answer')
  await page.unroute('**/data/campaign?*')
  await setHidden(page, true)
  await setHidden(page, false)
  await expect(page.getByTestId('campaign-name')).toHaveText('Autumn mugs')
  await expect(page.getByTestId('link')).toBeVisible()
})

for (const [what, query] of [
  ['report', 'customer=demo&id=autumn-mugs'],
  ['list', 'customer=demo'],
])
  test(`a hidden page does not load its ${what} again, also after a failed request`, async ({
    page,
    demo,
  }) => {
    let asked = 0
    await page.route(`**/data/${what}?*`, (route) => {
      asked++
      return route.abort()
    })
    await page.goto(`${demo.url}/campaigns/?${query}`)
    await expect(page.getByTestId('state')).toContainText('does not answer')
    const letGo = await holdTimers(page)
    const again = page.waitForEvent('requestfailed')
    await setHidden(page, false)
    await again
    await setHidden(page, true)
    const before = asked
    for (let i = 0; i < 3; i++) {
      await page.evaluate(() => fetch('/livez').then(() => {}))
      await letGo()
    }
    await page.evaluate(() => fetch('/livez').then(() => {}))
    expect(asked).toBe(before)
    await setHidden(page, false)
    await expect.poll(() => asked).toBe(before + 1)
  })

test('the client creates a campaign, and reads its report after a walk', async ({ page, demo }) => {
  const bundle = pathToFileURL(new URL('../dist/client.js', import.meta.url).pathname).href
  const load: { createClient: typeof createClient } = await import(bundle)
  const restKey = demo.customers.rotate('demo', 'rest') as string
  const client = load.createClient({ customerId: 'demo', restKey, baseUrl: demo.url })
  const { id, tracking } = await client.campaigns.create({
    ...campaign('By the client'),
    tracking: { utm_campaign: 'by client & co', utm_medium: 'email', utm_source: 'ă' },
  })
  await page.goto(`${demo.url}/shop/?${new URLSearchParams(tracking)}`)
  await walk(page)
  await expect
    .poll(async () => (await client.campaigns.getEmailReport(id)).events)
    .toMatchObject({ view_homepage: 1, add_to_cart: 1, initiate_checkout: 1, set_email: 1 })
  const report = await client.campaigns.getEmailReport(id)
  expect(report).toMatchObject({
    campaign_id: id,
    visitors: 1,
    identified: 1,
    funnel: { view_product: 1, add_to_cart: 1, initiate_checkout: 1 },
  })
  expect(report.days.at(-1)).toMatchObject({ date: report.to, visitors: 1, add_to_cart: 1 })
})

test('an address without a customer opens the one that is signed in, not the demo', async ({
  page,
  demo,
}) => {
  const shop = await addShop(demo, 'Mine', ['Ours'])
  await signIn(page, demo, shop)
  for (const path of ['/campaigns', '/live']) {
    await page.goto(`${demo.url}${path}`)
    await expect(page.getByTestId('customer')).toHaveValue(shop.customerId)
  }
})

test('the state of the view is not shown next to the sign-in form', async ({ page, demo }) => {
  await page.goto(`${demo.url}/live`)
  await expect(page.getByTestId('state')).toHaveText('live')
  await page.getByTestId('sign-in').click()
  await page.getByLabel(/Customer ID/).fill('nobody')
  await page.getByLabel('REST key').fill('wrong')
  await page.getByTestId('login-submit').click()
  await expect(page.getByTestId('login-error')).toContainText('do not belong together')
  await expect(page.getByTestId('state')).toBeHidden()
  await page.getByRole('button', { name: 'Back' }).click()
  await expect(page.getByTestId('state')).toHaveText('live')
})

for (const width of PHONES)
  test(`at ${width} px the page does not scroll sideways, and an icon is next to its text`, async ({
    page,
    demo,
  }) => {
    await page.setViewportSize({ width, height: 844 })
    const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'
    const shop = await addShop(demo, `Phone ${long}`, [long])
    await signIn(page, demo, shop)
    await expect.poll(() => names(page)).toEqual([long])
    await expect(page.getByTestId('campaign-row')).toContainText('scheduled')
    await expect(page.getByText('scheduled')).toBeVisible()
    await expectNoSidewaysScroll(page)
    await page.getByTestId('open-campaign').click()
    await expect(page.getByTestId('report-empty')).toBeVisible()
    await expectNoSidewaysScroll(page)
    await page.getByTestId('campaign').getByTestId('back').click()
    await page.getByTestId('new-campaign').click()
    await page.getByTestId('create').click()
    await expect(page.getByTestId('wrong-subject.name')).not.toBeEmpty()
    await expectNoSidewaysScroll(page)
    await page.getByTestId('to-live').click()
    await expect(page.getByTestId('state')).toHaveText('live')
    await expectNoSidewaysScroll(page)
    await page.goto(`${demo.url}/campaigns/?customer=demo&id=autumn-mugs`)
    await expect(page.getByTestId('open-shop')).toBeInViewport()
    await expectIconNextToText(page.getByTestId('open-shop'))
    await expectNoSidewaysScroll(page)
    await page.goto(`${demo.url}/campaigns/?customer=nobody&id=autumn-mugs`)
    await expect(page.getByTestId('login')).toBeVisible()
    await expectNoSidewaysScroll(page)
  })

import { rmSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { BrowserContext, Page } from '@playwright/test'
import type { createClient } from '../src/client/index.ts'
import type { Gateway } from '../src/gateway/index.ts'
import { test as base, expect } from './fixtures.ts'
import { loadGateway, makeFolder } from './gateway.ts'

// The campaigns page, on a gateway with its demo, as a newcomer meets it. `watch` fails a test on any
// error in the console, and a breach of the page's policy is one.

const PHONE = { width: 390, height: 844 }

const test = base.extend<object, { demo: Gateway }>({
  demo: [
    async ({ browserName }, use) => {
      const folder = makeFolder(`demo-${browserName}`)
      const gateway = await (await loadGateway()).startGateway({ dataDir: folder, demo: true })
      await use(gateway)
      await gateway.close()
      rmSync(folder, { recursive: true, force: true })
    },
    { scope: 'worker' },
  ],
})

test.use({ testIdAttribute: 'data-test' })

const campaign = (name: string, type: 'email' | 'sms' | 'push' = 'email') => ({
  type,
  mode: 'regular' as const,
  sender: { name: 'Ann', sender: 'ann@shop.example', reply_to: 'ann@shop.example' },
  audience: { audience_type: 'all' as const, smart_sending: false },
  subject: { name, subject_line: `${name}, now`, preview_text: 'Look' },
  content: { html: '<p>Hello</p>' },
  scheduling: {
    send_at: '2026-12-01 09:00',
    use_optimal_time: 0 as const,
    optimize_for: 'buying' as const,
  },
  tracking: { utm_campaign: 'mugs', utm_medium: 'email', utm_source: 'letter' },
})

/** A customer with campaigns, straight into the store. */
async function addShop({ customers, campaigns }: Gateway, name: string, names: string[] = []) {
  const { customer, restKey } = customers.add({ name, origins: ['https://shop.example'] })
  const { customerId } = customer
  for (const [index, one] of names.entries())
    await campaigns.create(customerId, {
      ...campaign(one, one.includes('SMS') ? 'sms' : 'email'),
      id: `${customerId}-${index}`,
      status: 'scheduled',
      created_at: new Date(Date.now() + index).toISOString(),
    })
  return { customerId, restKey, name }
}

async function signIn(page: Page, { url }: Gateway, shop: { customerId: string; restKey: string }) {
  await page.goto(`${url}/campaigns/`)
  await page.getByTestId('sign-in').click()
  await page.getByLabel(/Customer ID/).fill(shop.customerId)
  await page.getByLabel('REST key').fill(shop.restKey)
  await page.getByTestId('login-submit').click()
  await expect(page.getByTestId('customer')).toHaveValue(shop.customerId)
}

const names = (page: Page) => page.getByTestId('open-campaign').allTextContents()

/** From a page of the demo shop that was reached by a link: a look, a cart, a checkout, an address. */
async function walk(shop: Page) {
  await shop.getByTestId('product-link').first().click()
  await shop.getByTestId('add-to-cart').click()
  await shop.getByTestId('nav-cart').click()
  await shop.getByTestId('go-to-checkout').click()
  await shop.getByTestId('checkout-email').fill('cleo@example.com')
  for (const name of ['firstname', 'lastname', 'phone', 'town', 'street'])
    await shop.getByTestId(`checkout-${name}`).fill('somewhere')
  await shop.getByTestId('place-order').click()
  await expect(shop.getByTestId('thanks')).toBeVisible()
}

const newTab = (context: BrowserContext, act: () => Promise<void>) =>
  Promise.all([context.waitForEvent('page'), act()]).then(([page]) => page)

test('a newcomer walks through the demo shop from the campaign, and its report fills by itself', async ({
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
  // An ordinary visit, without the link, is nobody's.
  const other = await (await context.browser()?.newContext())?.newPage()
  await other?.goto(`${demo.url}/shop/product.html?id=12`)

  for (const name of ['visitors', 'identified', 'carts', 'checkouts'])
    await expect(page.getByTestId(name)).toHaveText('1')
  for (const kind of ['viewHomepage', 'viewProduct', 'addToCart', 'initiateCheckout'])
    await expect(page.getByTestId(`funnel-${kind}`)).toHaveAttribute('data-count', '1')
  await expect(page.locator('[data-name="add_to_cart"]')).toContainText('1')
  await expect(page.getByRole('img', { name: /How far visitors came/ })).toBeVisible()
  await expect(page.getByTestId('report-empty')).toBeHidden()

  // Day by day, by keyboard and as a table.
  await page.getByTestId('timeline').focus()
  await page.keyboard.press('ArrowLeft')
  await expect(page.getByTestId('tip')).toContainText('1 visitor')
  await page.keyboard.press('Home')
  await expect(page.getByTestId('tip')).toContainText('0 visitors')
  await page.keyboard.press('Escape')
  await expect(page.getByTestId('tip')).toBeHidden()
  await page.getByText('As a table').click()
  await expect(page.getByRole('row')).toHaveCount(2)

  // The shop's own link to its letter counts for the same campaign.
  await shop.goto(`${demo.url}/shop/plain/`)
  await shop.getByTestId('letter-link').click()
  await expect(shop).toHaveURL(/utm_campaign=autumn-mugs/)
  await expect(page.locator('[data-name="view_homepage"] b')).toHaveText('3')
  await expect(page.getByTestId('visitors')).toHaveText('1')
  await other?.context().close()
})

test('a campaign is created in the page: what is wrong at its field, and nothing typed is lost', async ({
  page,
  demo,
}) => {
  const shop = await addShop(demo, 'Kiln')
  await signIn(page, demo, shop)
  await expect(page.getByTestId('no-campaigns')).toContainText('Create a campaign')
  await page.getByTestId('first-campaign').click()
  const field = (path: string) => page.getByTestId(path)
  await field('sender.name').fill('Kiln')
  await field('sender.sender').fill('letters@kiln')
  await field('create').click()

  await expect(field('subject.name')).toBeFocused()
  await expect(field('wrong-subject.name')).toHaveText(
    'Expected text that is not blank, received ""',
  )
  await expect(field('subject.name')).toHaveAttribute('aria-invalid', 'true')
  await expect(field('subject.name')).toHaveAccessibleDescription(/Only you see it.*Expected text/)
  await expect(field('wrong-sender.reply_to')).toHaveText(
    'Expected an e-mail address, received "letters@kiln"',
  )
  await expect(field('wrong-content.html')).toContainText('Expected HTML')
  await expect(field('wrong-sender.name')).toBeEmpty()
  await expect(field('faults')).toContainText('7 fields need another look')

  await field('subject.name').fill('Căni de toamnă')
  await expect(field('tracking.utm_campaign')).toHaveValue('cani-de-toamna')
  await field('subject.subject_line').fill('Now')
  await field('subject.preview_text').fill('Look')
  await field('sender.sender').fill('letters@kiln.example')
  await expect(field('sender.reply_to')).toHaveValue('letters@kiln.example')
  await field('content.html').fill('<h1 style="color: teal">Out of the kiln</h1>')
  await field('scheduling.date').fill('')
  await field('create').click()
  await expect(field('scheduling.date')).toBeFocused()
  await expect(field('wrong-scheduling.send_at')).toContainText('Expected a moment of the calendar')
  await expect(field('wrong-subject.name')).toBeEmpty()
  await expect(field('subject.name')).not.toHaveAttribute('aria-invalid')
  await field('scheduling.date').fill('2026-12-24')
  await field('scheduling.time').fill('18:30')

  // A dead network, a reload, another view: what was typed is there.
  await page.route('**/campaigns/data/create*', (route) => route.abort())
  await field('create').click()
  await expect(field('faults')).toContainText('The gateway does not answer')
  await page.unroute('**/campaigns/data/create*')
  await page.reload()
  await expect(field('subject.name')).toHaveValue('Căni de toamnă')
  await page.getByTestId('new').getByTestId('back').click()
  await page.goBack()
  await expect(field('scheduling.time')).toHaveValue('18:30')

  await field('create').click()
  await expect(page.getByTestId('campaign-name')).toHaveText('Căni de toamnă')
  await expect(page.getByTestId('link')).toHaveText(
    'https://shop.example/?utm_campaign=cani-de-toamna&utm_medium=email&utm_source=newsletter',
  )
  await expect(page.getByTestId('open-shop')).toHaveCount(0)
  const { heads } = await demo.campaigns.list(shop.customerId, { page: 1, limit: 9 })
  expect(heads).toMatchObject([
    {
      type: 'email',
      mode: 'regular',
      sender: { name: 'Kiln', sender: 'letters@kiln.example', reply_to: 'letters@kiln.example' },
      audience: { audience_type: 'all', smart_sending: true },
      scheduling: { send_at: '2026-12-24 18:30', use_optimal_time: 0, optimize_for: 'opening' },
    },
  ])
  // A new form begins anew.
  await page.getByTestId('campaign').getByTestId('back').click()
  await page.getByTestId('new-campaign').click()
  await expect(field('subject.name')).toHaveValue('')
})

test('search, channel and pages stand in the address; back goes back', async ({ page, demo }) => {
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
  await expect(page.getByTestId('no-report')).toContainText('Reports are of e-mail campaigns')
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

test('one sign-in for both pages; another customer’s campaigns are not to be read', async ({
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

  await page.getByTestId('customer').selectOption('Sign in to another…')
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
    'You may not see Two any more: sign in again.',
  )
  await expect(page.getByTestId('campaign')).toBeHidden()
})

test('the preview shows a letter’s styles, and runs and loads nothing', async ({ page, demo }) => {
  const shop = await addShop(demo, 'Letters')
  await signIn(page, demo, shop)
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await page.getByTestId('first-campaign').click()
  await page
    .getByTestId('content.html')
    .fill(
      '<style>h1 { color: rgb(1, 2, 3) }</style><h1 onclick="top.seen=1" style="font-size: 31px">Hello</h1>' +
        '<script>top.seen = 1</script><img src="https://pixel.example/p.gif" onerror="top.seen=1">' +
        '<p style="background: url(https://pixel.example/b.png)"><a href="https://shop.example/">there</a></p>',
    )
  const letter = page.frameLocator('#new iframe')
  await expect(letter.locator('h1')).toHaveCSS('color', 'rgb(1, 2, 3)')
  await expect(letter.locator('h1')).toHaveCSS('font-size', '31px')
  await letter.locator('h1').click()
  await letter.locator('a').click()
  await expect(letter.locator('h1')).toBeVisible()
  expect(await page.evaluate(() => 'seen' in window)).toBe(false)
  expect(asked.filter((url) => !url.startsWith(demo.url) && !url.startsWith('data:'))).toEqual([])
})

test('a campaign by the client, and its report read by the client after a walk', async ({
  page,
  demo,
}) => {
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

test.describe('on a phone', () => {
  test.use({ viewport: PHONE })

  test('nothing scrolls sideways', async ({ page, demo }) => {
    const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'
    const shop = await addShop(demo, 'Phone', [long])
    await signIn(page, demo, shop)
    const sideways = () =>
      page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
    await expect.poll(() => names(page)).toEqual([long])
    expect(await sideways()).toBe(0)
    await page.getByTestId('open-campaign').click()
    await expect(page.getByTestId('report-empty')).toBeVisible()
    expect(await sideways()).toBe(0)
    await page.getByTestId('campaign').getByTestId('back').click()
    await page.getByTestId('new-campaign').click()
    await page.getByTestId('create').click()
    await expect(page.getByTestId('wrong-subject.name')).not.toBeEmpty()
    expect(await sideways()).toBe(0)
    await page.goto(`${demo.url}/campaigns/?customer=demo&id=autumn-mugs`)
    await expect(page.getByTestId('open-shop')).toBeInViewport()
    expect(await sideways()).toBe(0)
  })
})

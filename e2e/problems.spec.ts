import type { APIRequestContext, Page } from '@playwright/test'
import type { Gateway } from '../src/gateway/index.ts'
import { expectIconNextToText, expectNoSidewaysScroll, setHidden, test } from './campaignPage.ts'
import { createWatch, expect } from './fixtures.ts'
import { addOperated, fillLogin, openSignedIn } from './operatorPage.ts'
import { type Shop, startShop } from './shopServer.ts'

/** The problems and the coverage of the live view, from pages with faults to what the operator reads. */
test.use({ testIdAttribute: 'data-test' })

/** Bots are in no number of the coverage, and headless browsers are taken for bots. */
const AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0'

/** A button whose variation has no SKU, as after a release that renamed an attribute. */
const BROKEN = `<button id="add" data-track="addToCart" data-track-product-id="12"
  data-track-variation-id="12-1" data-track-sku="MUG-BLUE">Add to cart</button>`

/** A visitor's click on the broken button, and the next page, whose request carries the report. */
async function visit(page: Page, shop: Shop): Promise<void> {
  await page.goto(shop.page('/mug', { body: BROKEN }))
  await page.locator('#add').click()
  await page.goto(shop.page('/thanks'))
  // The event of its own takes the report along if that of the page view has left already.
  await page.evaluate(async () => {
    track.search({ search_term: 'end' })
    await track.flush()
  })
}

/** Has the page load its lists again: it does when it becomes visible, unless it is loading them already. */
const reload = (page: Page) =>
  expect(async () => {
    const asked = page.waitForRequest('**/live/problems*', { timeout: 1_000 })
    const shown = setHidden(page, true).then(() => setHidden(page, false))
    const [request] = await Promise.all([asked, shown])
    await request.response()
  }).toPass()

/** Has the page load its lists until they say what is expected: for half a second the gateway gives the same answer. */
const reloadUntil = (page: Page, expectation: () => Promise<void>) =>
  expect(async () => {
    await reload(page)
    await expectation()
  }).toPass()

/** Sends an event that the gateway refuses: its e-mail address is none. */
async function sendRefused(request: APIRequestContext, { url }: Gateway, key: string) {
  const origin = 'http://localhost:1'
  const answer = await request.post(`${url}/t/r?k=${key}`, {
    headers: { origin, 'content-type': 'text/plain' },
    data: JSON.stringify({
      did: crypto.randomUUID(),
      event: 'set_email',
      url: `${origin}/newsletter`,
      email_address: 'cleo at example.com',
      firstname: 'Cleopatra',
    }),
  })
  expect(answer.status()).toBe(422)
}

/** A browser context of a visitor. Errors in its pages fail the test too. */
async function newVisitor(page: Page) {
  const watch = createWatch()
  const context = await page.context().browser()?.newContext({ userAgent: AGENT })
  if (!context) throw new Error('No browser')
  watch.add(context)
  return {
    page: await context.newPage(),
    async close() {
      await context.close()
      expect(watch.faults).toEqual([])
    },
  }
}

test('a faulty attribute of a page is listed with its place and its fix', async ({
  page,
  demo,
}) => {
  const kiln = addOperated(demo, 'Kiln')
  const shop = await startShop(demo.url, kiln.trackingKey)
  await openSignedIn(page, demo, '/live/', kiln)
  const visitor = await newVisitor(page)
  await visit(visitor.page, shop)
  await visitor.close()
  await reloadUntil(page, () =>
    expect(page.getByTestId('news')).toContainText('Cart, added: invalid on /mug', {
      timeout: 200,
    }),
  )
  await page.getByTestId('view-problems').click()
  const problem = page.getByTestId('problem')
  await expect(problem).toHaveCount(1)
  await expect(problem).toContainText('in the page')
  await expect(problem).toContainText('variation.sku')
  await expect(problem.getByTestId('problem-count')).toHaveText('1')
  await expect(problem.getByTestId('fix')).toContainText('data-track-variation-sku')
  await shop.close()
})

test('a page of an Origin that is not allowed appears with the command that allows it', async ({
  page,
  demo,
}) => {
  const kiln = addOperated(demo, 'Kiln', ['https://shop.example'])
  const shop = await startShop(demo.url, kiln.trackingKey)
  const visitor = await newVisitor(page)
  const refused = visitor.page.waitForResponse((answer) => answer.status() === 403)
  await visitor.page.goto(shop.page('/mug'))
  await refused
  await visitor.close()

  await openSignedIn(page, demo, '/live/', kiln)
  await page.getByTestId('view-problems').click()
  const problem = page.getByTestId('problem')
  await expect(problem).toContainText('Origin is not allowed')
  await expect(problem).toContainText(shop.url)
  const command = `npx shoptrail customer set ${kiln.customerId} --origin https://shop.example --origin ${shop.url}`
  await expect(problem.locator('.fix code')).toHaveText(command)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await problem.getByTestId('copy-fix').click()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(command)
  await shop.close()
})

test('a new problem announces itself, and is counted where every view shows it', async ({
  page,
  demo,
  request,
}) => {
  const kiln = addOperated(demo, 'Kiln')
  await openSignedIn(page, demo, '/live/', kiln)
  await page.getByTestId('view-problems').click()
  await expect(page).toHaveURL(/#problems$/)
  await expect(page.getByTestId('no-problems')).toContainText('No problem in the last')
  await expect(page.getByTestId('no-problems')).toContainText('Origin')
  await page.getByTestId('view-events').click()
  await expect(page.getByTestId('problem-badge')).toBeHidden()

  await sendRefused(request, demo, kiln.trackingKey)
  const title = 'E-mail known: refused by the gateway on /newsletter'
  await reloadUntil(page, () =>
    expect(page.getByTestId('problem-badge')).toHaveText('1', { timeout: 200 }),
  )
  await expect(page.getByTestId('news')).toContainText(title)
  await expect(page.locator('p.sr')).toHaveText(`1 new problem: ${title}`)
  await page.getByTestId('news').click()
  await expect(page.getByTestId('problem-count')).toHaveText('1')
  await page.getByTestId('view-events').click()
  await expect(page.getByTestId('news')).toBeHidden()

  // Again: it is counted, and no news.
  await sendRefused(request, demo, kiln.trackingKey)
  await reloadUntil(page, async () =>
    expect(await page.getByTestId('problem-count').textContent()).toBe('2'),
  )
  await expect(page.getByTestId('news')).toBeHidden()
  await page.getByTestId('view-problems').click()
  // A link to the view opens it.
  await page.reload()
  await expect(page.getByTestId('problem')).toBeVisible()
})

test('a payload that the gateway refuses is shown without personal values', async ({
  page,
  demo,
  request,
}) => {
  const kiln = addOperated(demo, 'Kiln')
  await sendRefused(request, demo, kiln.trackingKey)
  await openSignedIn(page, demo, '/live/', kiln)
  await page.getByTestId('view-problems').click()
  const problem = page.getByTestId('problem')
  await expect(problem).toContainText('E-mail known: refused by the gateway')
  await problem.getByText('Last example').click()
  await expect(problem.locator('pre')).toContainText('"email_address"')
  await expect(problem).not.toContainText(/cleo/i)
})

test('the coverage tells which operations come', async ({ page, demo }) => {
  const kiln = addOperated(demo, 'Kiln')
  const shop = await startShop(demo.url, kiln.trackingKey)
  await openSignedIn(page, demo, '/live/', kiln)
  await page.getByTestId('view-coverage').click()
  const rows = page.getByTestId('coverage').locator('tbody tr')
  await expect(rows).toHaveCount(11)
  await expect(page.locator('tr[data-state="never"]')).toHaveCount(11)

  const visitor = await newVisitor(page)
  await visitor.page.goto(shop.page('/mug'))
  await visitor.page.evaluate(async () => {
    track.search({ search_term: 'mug' })
    await track.flush()
  })
  const { customerId: customer } = kiln
  await expect.poll(async () => (await demo.log.read({ customer, max: 9 })).length).toBe(2)
  await visitor.close()
  await reloadUntil(page, () =>
    expect(page.getByTestId('coverage-search')).toHaveAttribute('data-state', 'comes', {
      timeout: 200,
    }),
  )
  await expect(page.getByTestId('coverage-search')).toContainText('1')
  await expect(page.getByTestId('coverage-viewHomepage')).toHaveAttribute('data-state', 'comes')
  await expect(page.locator('tr[data-state="never"]')).toHaveCount(9)
  await expect(page.getByTestId('coverage-badge')).toBeHidden()
  await shop.close()
})

test('an operation that has stopped is a warning, seen from the other views', async ({
  page,
  demo,
}) => {
  const kiln = addOperated(demo, 'Kiln')
  await page.route('**/live/problems*', async (route) => {
    const answer = await route.fetch()
    const list = await answer.json()
    if (!answer.ok()) return route.fulfill({ response: answer })
    Object.assign(list.coverage[1], { state: 'stopped', message: '36 are usual, 0 came.' })
    return route.fulfill({ json: list })
  })
  await openSignedIn(page, demo, '/live/', kiln)
  await expect(page.getByTestId('coverage-badge')).toHaveText('1')
  await page.getByTestId('view-coverage').click()
  await expect(page.locator('tr.warns')).toHaveCount(1)
  await expect(page.locator('tr.warns')).toContainText('stopped')
  await expect(page.locator('tr.warns')).toContainText('36 are usual, 0 came.')
})

test('a list that can not be loaded stays, with a note, until it can', async ({ page, demo }) => {
  const kiln = addOperated(demo, 'Kiln')
  await openSignedIn(page, demo, '/live/', kiln)
  await page.getByTestId('view-coverage').click()
  await expect(page.getByTestId('coverage')).toBeVisible()
  await page.route('**/live/problems*', (route) =>
    route.fulfill({ status: 503, json: { message: 'Too busy.' } }),
  )
  const trouble = page.getByTestId('problems-trouble').filter({ visible: true })
  await reload(page)
  await expect(trouble).toContainText('Too busy. Not renewed since')
  await expect(page.getByTestId('coverage')).toBeVisible()
  await page.unroute('**/live/problems*')
  await reload(page)
  await expect(trouble).toHaveCount(0)
})

test('a hidden page loads no lists', async ({ page, demo }) => {
  const kiln = addOperated(demo, 'Kiln')
  await page.clock.install()
  let asked = 0
  page.on('request', (request) => {
    if (request.url().includes('/live/problems')) asked++
  })
  await openSignedIn(page, demo, '/live/', kiln)
  await expect.poll(() => asked).toBe(1)
  // The next question is timed when the first one has its answer.
  await expect(page.getByTestId('no-problems')).toBeAttached()
  await page.clock.runFor(31_000)
  await expect.poll(() => asked).toBe(2)
  await setHidden(page, true)
  await page.clock.runFor(300_000)
  expect(asked).toBe(2)
  await setHidden(page, false)
  await expect.poll(() => asked).toBe(3)
})

test('who may not see the customer any more is asked to sign in', async ({ page, demo }) => {
  const [kiln, other] = [addOperated(demo, 'Kiln'), addOperated(demo, 'Other')]
  await openSignedIn(page, demo, '/live/', kiln)
  const { customerId } = other
  const statuses = await page.evaluate(async (id) => {
    const answers = await Promise.all([
      fetch(`/live/problems?customer=${id}`),
      fetch(`/live/problems?customer=${id}`, { credentials: 'omit' }),
    ])
    return answers.map(({ status }) => status)
  }, customerId)
  // Without a cookie, the demo is what this machine may see.
  expect(statuses).toEqual([403, 403])
  // The stream goes on, and only the lists are refused.
  await page.route('**/live/problems*', (route) => route.fulfill({ status: 403, json: {} }))
  await reload(page)
  await expect(page.getByTestId('login-error')).toHaveText(
    'You can no longer see Kiln: sign in again.',
  )
  await page.unroute('**/live/problems*')
  await fillLogin(page, kiln)
  await page.getByTestId('view-problems').click()
  await expect(page.getByTestId('no-problems')).toBeVisible()
})

test('on a phone the views come first, icons are next to their text, and nothing scrolls sideways', async ({
  page,
  demo,
  request,
}) => {
  await sendRefused(request, demo, 'DEMOSHOP')
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 844 })
    // The demo needs no sign-in.
    await page.goto(`${demo.url}/live/#problems`)
    const title = page.getByTestId('problem').getByRole('heading').first()
    await expect(title).toBeVisible()
    await expectIconNextToText(title)
    await expectNoSidewaysScroll(page)
    await expect(page.getByTestId('problem-badge')).toBeInViewport()
    await page.getByTestId('view-coverage').click()
    await expect(page.getByTestId('coverage-search')).toBeVisible()
    await expectNoSidewaysScroll(page)
    await page.getByTestId('view-events').click()
    await expect(page.getByRole('region', { name: 'Events' })).toBeVisible()
    await expect(page.getByTestId('problem-badge')).toBeInViewport()
  }
})

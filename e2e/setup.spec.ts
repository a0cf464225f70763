import type { Page } from '@playwright/test'
import { expectNoSidewaysScroll, test } from './campaignPage.ts'
import { expect } from './fixtures.ts'
import { addOperated, fillLogin, openSignedIn } from './operatorPage.ts'
import { startShop } from './shopServer.ts'

/** The set up page: from the shop's address to eleven operations that arrive. */
test.use({ testIdAttribute: 'data-test' })

const OPERATIONS = [
  'viewHomepage',
  'viewProduct',
  'search',
  'addToWishlist',
  'removeFromWishlist',
  'addToCart',
  'removeFromCart',
  'initiateCheckout',
  'setEmail',
  'sendCustom',
  'sendCustomApi',
]

async function show(page: Page, address: string): Promise<void> {
  await page.getByTestId('shop').fill(address)
  await page.getByTestId('show').click()
}

test('an address, its tag, and a walk through the shop that ticks off what arrives', async ({
  page,
  context,
  demo,
}) => {
  const kiln = addOperated(demo, 'Kiln')
  const shop = await startShop(demo.url, kiln.trackingKey)
  await page.goto(`${demo.url}/live/`)
  await page.getByTestId('to-setup').click()
  await page.getByTestId('sign-in').click()
  await fillLogin(page, kiln)
  await expect(page.getByTestId('shop')).toBeFocused()
  await show(page, `${shop.url}/shop/`)
  await expect(page.getByTestId('tag')).toHaveText(
    `<script async src="${demo.url}/t/j/${kiln.trackingKey}"></script>`,
  )
  await expect(page.getByTestId('not-allowed')).toHaveCount(0)
  // The link that skips the header does not lose the address.
  await page.locator('.skip').focus()
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(new RegExp(`#shop=${encodeURIComponent(shop.url)}`))
  await expect(page.getByTestId('progress')).toHaveText('0 of 11')
  await expect(page.getByTestId('waiting')).toContainText('Waiting for the first event')

  const tab = await Promise.all([
    context.waitForEvent('page'),
    page.getByTestId('open-viewHomepage').click(),
  ]).then(([opened]) => opened)
  await expect(tab).toHaveURL(`${shop.url}/shop/`)
  expect(await tab.evaluate(() => opener)).toBeNull()
  const step = (operation: string) => page.getByTestId(`step-${operation}`)
  await expect(step('viewHomepage')).toHaveAttribute('data-state', 'arrived')
  await expect(step('viewHomepage')).toContainText(`${new URL(shop.url).host}/shop/`)
  await expect(page.getByTestId('waiting')).toHaveText('Next: Product view.')
  await expect(page.getByTestId('attribute-viewProduct')).toBeVisible()
  await tab.goto(`${shop.url}/shop/product.html?id=12`)
  await expect(step('viewProduct')).toHaveAttribute('data-state', 'arrived')
  await tab.getByTestId('add-to-cart').click()
  await expect(step('addToCart')).toHaveAttribute('data-state', 'arrived')
  await expect(page.getByTestId('progress')).toHaveText('3 of 11')
  await expect(page.locator('p.sr')).toHaveText('Cart, added arrived')
  await tab.close()

  // A colleague opens the same address.
  await page.reload()
  await expect(page.getByTestId('shop')).toHaveValue(`${shop.url}/shop/`)
  await expect(page.getByTestId('tag')).toContainText(kiln.trackingKey)
  await expect(page.getByTestId('progress')).toHaveText('3 of 11')
  // It came before this page was opened; in the same second, it may count as new.
  await expect(step('addToCart')).toHaveAttribute('data-state', /before|arrived/)
  await shop.close()
})

test('each line that the page shows reports its operation', async ({ page, demo, request }) => {
  const kiln = addOperated(demo, 'Kiln')
  const shop = await startShop(demo.url, kiln.trackingKey)
  // Where the forms of the examples lead.
  for (const path of ['/search', '/newsletter', '/notify']) shop.page(path)
  await openSignedIn(page, demo, '/setup/', kiln)
  await show(page, shop.url)
  const steps = page.locator('.steps li')
  await expect(steps).toHaveCount(11)
  for (const operation of OPERATIONS) {
    const step = page.getByTestId(`step-${operation}`)
    const line = step.getByTestId(`call-${operation}`)
    // The page opens the next step when one has arrived, so a click may close it.
    await expect(async () => {
      if (!(await line.isVisible())) await step.locator('.name').click()
      await expect(line).toBeVisible({ timeout: 1_000 })
    }).toPass()
    const call = (await line.textContent()) ?? ''
    const lines = step.getByTestId(`attribute-${operation}`)
    const attribute = (await lines.count()) > 0 ? await lines.textContent() : null
    if (operation === 'sendCustomApi') {
      const [, url = '', body = ''] =
        /^curl '([^']+)' -H 'content-type: application\/json' -d '([^']+)'$/.exec(call) ?? []
      const answer = await request.post(url.replace('RESTKEY', kiln.restKey), {
        data: JSON.parse(body),
      })
      expect(answer.status()).toBe(200)
    } else {
      const visitor = await page.context().newPage()
      await visitor.goto(shop.page(`/example-${operation}`, { body: attribute ?? '' }))
      if (attribute?.startsWith('<form')) {
        await visitor.locator('input').fill(operation === 'search' ? 'bowl' : 'bea@shop.example')
        await visitor.locator('input').press('Enter')
        await visitor.waitForURL((url) => url.pathname !== `/example-${operation}`)
      } else if (attribute?.startsWith('<button')) await visitor.locator('button').click()
      // On another page: the same report on one page is one event.
      await visitor.goto(shop.page('/call'))
      await visitor.evaluate((line) => new Function(`return ${line}`)(), call)
      await visitor.evaluate(() => track.flush())
      await visitor.close()
    }
    await expect(step).toHaveAttribute('data-state', 'arrived')
  }
  await expect(page.getByTestId('progress')).toHaveText('11 of 11')
  await expect(page.getByTestId('waiting')).toHaveText('Every operation arrives.')
  // Each but three was reported twice: by the attribute and by the call.
  const count = async () => {
    const rows = await demo.log.read({ customer: kiln.customerId, after: 0, max: 1_000 })
    const counts: Record<string, number> = {}
    for (const { event, operation } of rows)
      if (event !== 'view_page') counts[operation] = (counts[operation] ?? 0) + 1
    return counts
  }
  await expect.poll(count).toEqual({
    viewHomepage: 1,
    viewProduct: 2,
    search: 2,
    addToWishlist: 2,
    removeFromWishlist: 2,
    addToCart: 2,
    removeFromCart: 2,
    initiateCheckout: 2,
    setEmail: 2,
    sendCustom: 2,
    sendCustomApi: 1,
  })
  await shop.close()
})

test('a check says what is wrong with the fix, and finds the pages of the walk', async ({
  page,
  demo,
}) => {
  const kiln = addOperated(demo, 'Kiln')
  const shop = await startShop(demo.url, kiln.trackingKey)
  const links = '<a href="/products/mug">Mug</a> <a href="/cart">Cart</a>'
  const csp = { 'content-security-policy': "default-src 'self'" }
  shop.page('/', { head: '', body: links, headers: csp })
  shop.page('/products/mug')
  shop.page('/cart')
  await openSignedIn(page, demo, '/setup/', kiln)
  await show(page, shop.url)
  await page.getByTestId('check').click()
  const finding = (code: string) =>
    page.getByTestId('finding').and(page.locator(`[data-code="${code}"]`))
  await expect(finding('tag-missing')).toContainText('The tag is not there.')
  await expect(finding('tag-missing').locator('code', { hasText: '<script' })).toHaveText(
    `<script async src="${demo.url}/t/j/${kiln.trackingKey}"></script>`,
  )
  await expect(finding('csp-script')).toContainText("script-src 'self'")
  await expect(page.getByTestId('verdict')).toContainText('keep events from arriving')
  await page.getByTestId('step-viewProduct').locator('.name').click()
  await expect(page.getByTestId('open-viewProduct')).toHaveAttribute(
    'href',
    `${shop.url}/products/mug`,
  )
  await page.getByTestId('policy').locator('summary').click()
  await expect(page.getByTestId('policy')).toContainText(`${demo.url}/t/`)

  // Mended.
  shop.page('/', { body: links })
  await page.getByTestId('check').click()
  await expect(page.getByTestId('verdict')).toHaveText(/Nothing keeps events from arriving/)
  await expect(finding('tag-missing')).toHaveCount(0)
  await shop.close()
})

test('the lines of a key with another global name have that name', async ({ page, demo }) => {
  const kiln = addOperated(demo, 'Kiln')
  demo.customers.change(kiln.customerId, { config: { global: 'kiln' } })
  await openSignedIn(page, demo, '/setup/', kiln)
  await show(page, 'https://kiln.example')
  await expect(page.getByTestId('call-viewHomepage')).toHaveText('kiln.viewHomepage()')
})

test('an address that the customer does not allow comes with the command, and is not read', async ({
  page,
  demo,
}) => {
  const kiln = addOperated(demo, 'Kiln', ['https://shop.example'])
  const other = await startShop(demo.url, kiln.trackingKey)
  let reads = 0
  await openSignedIn(page, demo, '/setup/', kiln)
  // The first origin of the list is the shop.
  await expect(page.getByTestId('shop')).toHaveValue('https://shop.example/')
  await expect(page.getByTestId('tag')).toBeVisible()
  await expect(page.getByTestId('not-allowed')).toHaveCount(0)
  page.on('request', (request) => {
    if (request.url().startsWith(other.url)) reads++
  })
  await show(page, other.url)
  await expect(page.getByTestId('allow-command')).toHaveText(
    `npx shoptrail customer set ${kiln.customerId} --origin https://shop.example --origin ${other.url}`,
  )
  await page.getByTestId('check').click()
  await expect(page.getByTestId('check-trouble')).toContainText("not one of the customer's origins")
  expect(reads).toBe(0)
  await show(page, 'no address')
  await expect(page.getByTestId('trouble')).toContainText('no address of a web page')
  await expect(page.getByTestId('tag')).toHaveCount(0)
  await other.close()
})

test('a link of a colleague asks to sign in first, and keeps the address', async ({
  page,
  demo,
}) => {
  const [kiln, other] = [addOperated(demo, 'Kiln'), addOperated(demo, 'Other')]
  const shop = 'https://kiln.example/de/'
  const link = `${demo.url}/setup/?customer=${kiln.customerId}#shop=${encodeURIComponent(shop)}`
  await page.goto(link)
  await expect(page.getByTestId('login-customer')).toHaveValue(kiln.customerId)
  await expect(page.getByTestId('tag')).toHaveCount(0)
  await fillLogin(page, kiln)
  await expect(page.getByTestId('shop')).toHaveValue(shop)
  await expect(page.getByTestId('tag')).toContainText(kiln.trackingKey)
  // The data of another customer is refused.
  const statuses = await page.evaluate(async (id) => {
    const body = JSON.stringify({ shop: 'https://kiln.example/' })
    const headers = { 'content-type': 'application/json' }
    const answers = await Promise.all([
      fetch(`/setup/data/snippet?customer=${id}&shop=https://kiln.example/`),
      fetch(`/setup/data/check?customer=${id}`, { method: 'POST', body, headers }),
      fetch(`/setup/data/check`, { method: 'POST', body: 'shop=https://kiln.example/' }),
    ])
    return answers.map(({ status }) => status)
  }, other.customerId)
  expect(statuses).toEqual([403, 403, 415])
  // A key that has changed ends the view with the reason.
  demo.customers.rotate(kiln.customerId, 'rest')
  await expect(page.getByTestId('login-error')).toHaveText(
    'The REST key of Kiln has changed: sign in again.',
  )
  await expect(page.getByTestId('tag')).toHaveCount(0)
})

test('the demo is set up with its own shop, and nothing scrolls sideways on a phone', async ({
  page,
  demo,
}) => {
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 844 })
    await page.goto(`${demo.url}/setup/`)
    await expect(page.getByTestId('shop')).toHaveValue(`${demo.url}/shop/`)
    await page.getByTestId('check').click()
    await expect(page.getByTestId('verdict')).toHaveText(/Nothing keeps events from arriving/)
    await page.getByTestId('stubs').locator('summary').click()
    await page.getByTestId('policy').locator('summary').click()
    await expect(page.getByTestId('keeping-stub')).toBeVisible()
    for (const operation of OPERATIONS) {
      await page.getByTestId(`step-${operation}`).locator('.name').click()
      await expectNoSidewaysScroll(page)
    }
  }
})

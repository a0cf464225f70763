import { randomUUID } from 'node:crypto'
import type { Page } from '@playwright/test'
import type { Gateway } from '../src/gateway/index.ts'
import { expect, test } from './fixtures.ts'

// The live view: signing in, the end of a session, and the events.

const PHONE = { width: 390, height: 844 }

const add = ({ customers }: Gateway, name: string) => {
  const { customer, restKey } = customers.add({ name, origins: ['loopback'] })
  return { ...customer, name, restKey }
}
type Viewed = ReturnType<typeof add>

/** Fills in the sign-in form. */
async function fillIn(page: Page, { customerId, restKey }: Viewed) {
  await page.getByLabel(/Customer ID \(as customer add printed it\)/).fill(customerId)
  await page.getByLabel('REST key').fill(restKey)
  await page.getByTestId('login-submit').click()
}

async function signIn(page: Page, { url }: Gateway, customer: Viewed) {
  await page.goto(`${url}/live`)
  await fillIn(page, customer)
  await expect(page.getByTestId('state')).toHaveText('live')
}

test.use({ testIdAttribute: 'data-test' })

test('an operator signs in to a second customer and switches between both', async ({
  page,
  gateway,
}) => {
  const [one, two] = [add(gateway, 'One'), add(gateway, 'Two')]
  await signIn(page, gateway, one)
  await page.getByTestId('customer').selectOption('Another customer…')
  await fillIn(page, two)
  await expect(page.getByTestId('customer')).toHaveValue(two.customerId)
  await page.getByTestId('customer').selectOption('One')
  await expect(page.getByTestId('state')).toHaveText('live')
  await expect(page.getByTestId('empty')).toContainText(one.trackingKey)
})

test('a REST key that changes ends the view with the reason, and no other customer is shown instead', async ({
  page,
  gateway,
}) => {
  const [one, two] = [add(gateway, 'One'), add(gateway, 'Two')]
  await signIn(page, gateway, two)
  await page.getByTestId('customer').selectOption('Another customer…')
  await fillIn(page, one)
  await expect(page.getByTestId('customer')).toHaveValue(one.customerId)
  await expect(page.getByTestId('state')).toHaveText('live')
  const restKey = gateway.customers.rotate(one.customerId, 'rest') as string
  await expect(page.getByTestId('login-error')).toHaveText(
    'The REST key of One has changed: sign in again.',
  )
  await expect(page.getByTestId('login-customer')).toHaveValue(one.customerId)
  await expect(page.getByTestId('stream')).toBeHidden()
  await fillIn(page, { ...one, restKey })
  await expect(page.getByTestId('customer')).toHaveValue(one.customerId)
})

test('signing out in another tab ends the view with the reason', async ({
  page,
  context,
  gateway,
}) => {
  const one = add(gateway, 'One')
  await signIn(page, gateway, one)
  const other = await context.newPage()
  await other.goto(`${gateway.url}/live`)
  await other.getByTestId('sign-out').click()
  await expect(page.getByTestId('login-error')).toHaveText('You are signed out: sign in again.')
  // The tab that signed out shows no message.
  await expect(other.getByTestId('login')).toBeVisible()
  await expect(other.getByTestId('login-error')).toHaveText('')
})

test('a stream that is refused ends the view with the reason', async ({ page, gateway }) => {
  const one = add(gateway, 'One')
  await page.route('**/live/events*', (route) => route.fulfill({ status: 401, json: {} }))
  await page.goto(`${gateway.url}/live`)
  await fillIn(page, one)
  await expect(page.getByTestId('state')).toHaveText('reconnecting…')
  await page.context().clearCookies()
  await expect(page.getByTestId('login-error')).toHaveText('You are signed out: sign in again.')
})

test('the address of a customer without access asks to sign in to it, and shows no other customer', async ({
  page,
  gateway,
}) => {
  const [one, two] = [add(gateway, 'One'), add(gateway, 'Two')]
  await signIn(page, gateway, one)
  // A bookmark, on both pages.
  for (const path of ['live/', 'campaigns/']) {
    await page.goto(`${gateway.url}/${path}?customer=${two.customerId}`)
    await expect(page.getByTestId('login-customer')).toHaveValue(two.customerId)
    await expect(page.getByTestId('login-key')).toBeFocused()
    await expect(page.locator('#view')).toBeHidden()
    await page.getByRole('button', { name: 'Show One instead' }).click()
    await expect(page.getByTestId('customer')).toHaveValue(one.customerId)
    await expect(page).toHaveURL(`${gateway.url}/${path}`)
  }
  await page.goto(`${gateway.url}/live/?customer=${two.customerId}`)
  await page.getByTestId('login-key').fill(two.restKey)
  await page.getByTestId('login-submit').click()
  await expect(page.getByTestId('customer')).toHaveValue(two.customerId)

  // After signing out, the address contains no customer. The form keeps the id of the last one.
  await page.getByTestId('sign-out').click()
  await expect(page.getByTestId('login-customer')).toHaveValue(two.customerId)
  await expect(page).toHaveURL(`${gateway.url}/live/`)
  await page.reload()
  await expect(page.getByTestId('login-customer')).toHaveValue('')
})

test('an operator who has not signed in is not called signed out', async ({ page, gateway }) => {
  add(gateway, 'One')
  await page.goto(`${gateway.url}/live`)
  await expect(page.getByTestId('login')).toBeVisible()
  await expect(page.getByTestId('login-error')).toBeEmpty()
  await expect(page.getByTestId('state')).toBeHidden()
})

test('a button signs in to a further customer', async ({ page, gateway }) => {
  const [one, two] = [add(gateway, 'One'), add(gateway, 'Two')]
  await signIn(page, gateway, one)
  await page.getByRole('button', { name: 'Another customer' }).click()
  await fillIn(page, two)
  await expect(page.getByTestId('customer')).toHaveValue(two.customerId)
  await page.getByTestId('sign-in').click()
  await page.getByRole('button', { name: 'Back' }).click()
  await expect(page.getByTestId('customer')).toHaveValue(two.customerId)
})

test('the script tag has the current tracking key', async ({ page, gateway }) => {
  const one = add(gateway, 'One')
  await signIn(page, gateway, one)
  const trackingKey = gateway.customers.rotate(one.customerId, 'tracking') as string
  await page.getByTestId('show-tag').click()
  await expect(page.getByTestId('tag-dialog')).toContainText(`/t/j/${trackingKey}"`)
})

test('a live view above the limit shows a notice, and starts when there is room', async ({
  page,
  context,
  gateway,
}) => {
  const one = add(gateway, 'One')
  await signIn(page, gateway, one)
  await page.goto('about:blank')
  // Not pages: a browser has six connections to a host, and each view takes one.
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
  const address = `${gateway.url}/live/events?customer=${one.customerId}`
  // Keep a reference to each response: Node ends the stream of a response that is garbage-collected.
  const others: (readonly [AbortController, Response])[] = []
  while (others.length < 10) {
    const other = new AbortController()
    const answer = await fetch(address, { headers: { cookie }, signal: other.signal })
    if (answer.ok) others.push([other, answer])
  }
  await page.goto(`${gateway.url}/live`)
  await expect(page.getByTestId('no-room')).toContainText(
    'Too many live views of this shop are open.',
  )
  await expect(page.getByTestId('empty')).toBeHidden()
  others[0]?.[0].abort()
  await expect(page.getByTestId('state')).toHaveText('live')
  await expect(page.getByTestId('no-room')).toBeHidden()
  await expect(page.getByTestId('empty')).toBeVisible()
  for (const [other] of others) other.abort()
})

test('a gateway that has lost its data is not called full', async ({ page, gateway }) => {
  const one = add(gateway, 'One')
  await signIn(page, gateway, one)
  const refused = { status: 503, json: { message: 'The data can not be opened' } }
  await page.route('**/live/events*', (route) => route.fulfill(refused))
  let asked = 0
  await page.route('**/live/customers', (route) =>
    asked++ === 0 ? route.continue() : route.fulfill(refused),
  )
  await page.reload()
  await expect(page.getByTestId('state')).toHaveText('reconnecting…')
  await expect(page.getByTestId('no-room')).toBeHidden()
})

test('a large event is shown shortened, with a note', async ({ page, gateway }) => {
  const one = add(gateway, 'One')
  const { customerId: customer } = one
  const payload = { search_term: `mugs ${'x'.repeat(130_000)}`, url: 'https://shop.example/s' }
  await gateway.log.append([
    {
      customer,
      id: randomUUID(),
      at: Date.now(),
      receivedAt: Date.now(),
      did: null,
      operation: 'search',
      event: 'search',
      bot: false,
      version: null,
      payload: JSON.stringify(payload),
    },
  ])
  await signIn(page, gateway, one)
  const row = page.getByTestId('row')
  await expect(row).toContainText('mugs xxx')
  await expect(row).toContainText('cut')
  await row.locator('.open').click()
  await expect(page.getByTestId('shortened')).toContainText('130 kB are stored')
  await expect(page.getByTestId('json')).toContainText('x…"')
  await page.getByTestId('close-inspector').click()
})

test('an event without consent is marked, and one without an address is shown', async ({
  page,
  gateway,
}) => {
  const one = add(gateway, 'One')
  const append = (did: string, payload: object) =>
    gateway.log.append([
      {
        customer: one.customerId,
        id: randomUUID(),
        at: Date.now(),
        receivedAt: Date.now(),
        did,
        operation: 'search',
        event: 'search',
        bot: false,
        version: null,
        payload: JSON.stringify({ did, event: 'search', ...payload }),
      },
    ])
  const url = 'https://shop.example/s'
  await append('0b5f6d3a-1f0c-8a00-9000-000000000000', { search_term: 'mug', url })
  await append(randomUUID(), { search_term: 'bowl', url, remote_addr: '203.0.113.0' })
  await signIn(page, gateway, one)
  const row = (term: string) => page.getByTestId('row').filter({ hasText: term })
  const consent = page.getByTestId('inspector').getByText('none: the device id is a hash')
  await expect(row('mug')).toContainText('no consent')
  await row('mug').locator('.open').click()
  await expect(consent).toBeVisible()
  await expect(page.getByTestId('json')).not.toContainText('remote_addr')
  await page.getByTestId('close-inspector').click()
  await row('bowl').locator('.open').click()
  await expect(page.getByTestId('json')).toContainText('203.0.113.0')
  await expect(consent).toBeHidden()
  await expect(row('bowl')).not.toContainText('no consent')
})

test('arriving events do not disturb selection, focus, typing and scroll position', async ({
  page,
  gateway,
}) => {
  const one = add(gateway, 'One')
  let sent = 0
  const append = (count: number) =>
    gateway.log.append(
      Array.from({ length: count }, () => ({
        customer: one.customerId,
        id: `01900000-0000-7000-8000-${String(++sent).padStart(12, '0')}`,
        at: Date.now(),
        receivedAt: Date.now(),
        did: 'd-1',
        bot: false,
        version: null,
        operation: 'search' as const,
        event: 'search',
        payload: JSON.stringify({ search_term: `mugs ${sent}`, url: 'https://shop.example/s' }),
      })),
    )
  await append(60)
  await signIn(page, gateway, one)
  const rows = page.getByTestId('row')
  await expect(rows).toHaveCount(60)
  const row = rows.filter({ hasText: '“mugs 30”' })
  const list = page.getByTestId('stream')
  await page.getByTestId('look').fill('mu')
  await row.locator('.open').focus()
  await row.scrollIntoViewIfNeeded()
  await row.locator('.what b').evaluate((text) => getSelection()?.selectAllChildren(text))
  await row.evaluate((element) => Object.assign(element, { isSame: true }))
  const before = await row.boundingBox()
  expect(await list.evaluate(({ scrollTop }) => scrollTop)).toBeGreaterThan(0)

  await append(20)
  await expect(page.getByTestId('total')).toHaveText('80')
  await expect(rows).toHaveCount(80)
  expect(await row.evaluate((element) => 'isSame' in element)).toBe(true)
  expect(await row.boundingBox()).toEqual(before)
  await expect(row.locator('.open')).toBeFocused()
  await expect(row.locator('.open')).toHaveAttribute('tabindex', '0')
  expect(await page.evaluate(() => String(getSelection()))).toBe('“mugs 30”')
  await expect(page.getByTestId('look')).toHaveValue('mu')

  // The arrow keys continue from there, and an opened row gets the focus back.
  await page.keyboard.press('ArrowDown')
  const next = rows.filter({ hasText: '“mugs 29”' }).locator('.open')
  await expect(next).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByTestId('inspector').getByRole('heading').first()).toBeFocused()
  await append(5)
  await expect(rows).toHaveCount(85)
  await expect(page.getByTestId('json')).toContainText('mugs 29')
  await page.keyboard.press('Escape')
  await expect(next).toBeFocused()
  await page.getByTestId('look').fill('mugs 29')
  await expect(rows).toHaveCount(1)
})

test('the list of devices is bounded, also while the pointer is on it', async ({
  page,
  gateway,
}) => {
  const one = add(gateway, 'One')
  await signIn(page, gateway, one)
  const send = async (count: number) => {
    const address = `${gateway.url}/t/r?k=${one.trackingKey}&api_key=${one.restKey}`
    const sending = Array.from({ length: count }, () => {
      const data = {
        did: randomUUID(),
        event: 'view_page',
        url: `${gateway.url}/${'p'.repeat(2_000)}`,
        http_user_agent: 'Test',
        remote_addr: '203.0.113.7',
      }
      return page.request.post(address, { data })
    })
    for (const answer of await Promise.all(sending)) expect(answer.status()).toBe(200)
  }
  await send(1)
  const devices = page.getByTestId('device')
  await expect(devices).toHaveCount(1)
  await devices.first().hover()
  // A few at a time: each update lists the newest twelve.
  for (let sent = 1; sent < 90; sent += 10) {
    await send(10)
    await expect(page.getByTestId('device-total')).toHaveText(`${sent + 10}`)
  }
  await expect(devices).toHaveCount(50)
  const [path] = await page.getByTestId('row').locator('.path').allTextContents()
  expect(path).toBe(`/${'p'.repeat(299)}…`)
  await page.mouse.move(0, 0)
  await send(1)
  await expect(devices).toHaveCount(12)
})

test('after too many wrong keys the form shows the time to wait, and the right key still signs in', async ({
  page,
  gateway,
}) => {
  const one = add(gateway, 'One')
  await page.goto(`${gateway.url}/live`)
  await fillIn(page, { ...one, restKey: 'wrong' })
  await expect(page.getByTestId('login-error')).toHaveText(
    'This customer ID and REST key do not belong together.',
  )
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ customerId: one.customerId, restKey: 'wrong' })
  await expect(async () => {
    await Promise.all(
      Array.from({ length: 30 }, () =>
        fetch(`${gateway.url}/live/login`, { method: 'POST', headers, body }),
      ),
    )
    await page.getByTestId('login-submit').click()
    await expect(page.getByTestId('login-error')).toHaveText(
      /^Too many tries\. .* in (a second|\d seconds)\.$/,
      { timeout: 1_000 },
    )
  }).toPass()
  await fillIn(page, one)
  await expect(page.getByTestId('state')).toHaveText('live')
})

test.describe('on a phone', () => {
  test.use({ viewport: PHONE })

  test('the script tag comes first, then the events; the bars of the funnel are aligned', async ({
    page,
    gateway,
  }) => {
    const one = add(gateway, 'One')
    await signIn(page, gateway, one)
    await expect(page.getByTestId('copy-tag')).toBeInViewport()
    const shop = await page.context().newPage()
    await shop.goto(gateway.url)
    await shop.addScriptTag({ url: `${gateway.url}/t/j/${one.trackingKey}` })
    await shop.evaluate(() =>
      track.addToCart({
        product_id: 12,
        quantity: 2,
        variation: { id: '12-1', sku: 'MUG-BLUE-LARGE' },
      }),
    )
    await expect(page.locator('[data-operation=addToCart]')).toContainText('× 2  MUG-BLUE-LARGE')
    await expect(page.getByTestId('kinds')).toBeHidden()
    const figures = page.getByLabel('Totals')
    await expect(figures.getByText('device', { exact: true })).toBeVisible()
    const bars = await page
      .locator('#funnel .track')
      .evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect().top))
    expect(new Set(bars).size).toBe(1)
  })
})

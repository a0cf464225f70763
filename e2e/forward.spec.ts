import { randomUUID } from 'node:crypto'
import type { Page } from '@playwright/test'
import type { Gateway } from '../src/gateway/index.ts'
import { type Receiver, startReceiver, status } from '../src/test/receiver.ts'
import { test as base, expectNoSidewaysScroll } from './campaignPage.ts'
import { expect } from './fixtures.ts'
import { addOperated, openSignedIn } from './operatorPage.ts'

/** The forwarding page, with a real gateway and a real receiver. */
const test = base.extend<{ receiver: Receiver }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from the pattern.
  receiver: async ({}, use) => {
    const receiver = await startReceiver()
    await use(receiver)
    await receiver.close()
  },
})
test.use({ testIdAttribute: 'data-test' })

const PHONES = [375, 320]
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const REASON = 'The receiver refused it (HTTP 422)'

/** Adds a customer with a destination, and signs in to its page. */
async function openPage(page: Page, demo: Gateway, receiver: Receiver, name = 'Own program') {
  const shop = addOperated(demo, 'Kiln')
  const added = await demo.forwarding.add({
    customer: shop.customerId,
    kind: 'webhook',
    name,
    leaveOut: ['remote_addr'],
    settings: { url: `${receiver.url}/token-in-the-path`, secret: SECRET },
  })
  if (!added.ok) throw new Error(added.faults.join())
  await openSignedIn(page, demo, '/forward/', shop)
  return { ...shop, destination: added.destination.id }
}

/** Stores events of the operations, each of its own device. */
const store = ({ log }: Gateway, customer: string, operations: readonly string[]) =>
  log.append(
    operations.map((operation, i) => {
      const event = operation === 'search' ? 'search' : 'view_product'
      return {
        customer,
        id: randomUUID(),
        at: Date.now(),
        receivedAt: Date.now(),
        operation,
        event,
        did: `device-${i}`,
        bot: false,
        version: null,
        payload: JSON.stringify({
          did: `device-${i}`,
          event,
          url: 'https://shop.example/a-long-path-of-a-page/that-has-no-place-to-break-in-it-at-all.html',
          http_user_agent: 'Mozilla/5.0',
          remote_addr: '203.0.113.7',
          ...(operation === 'search' ? { search_term: 'mug' } : { product_id: `p${i}` }),
        }),
      }
    }),
  )

/** Refuses events until they have the source `mended`. */
const refuseUnmended = (receiver: Receiver) =>
  receiver.answer(({ body }, response) => {
    const { events } = JSON.parse(body) as { events: { payload: { source?: string } }[] }
    const isMended = events.every(({ payload }) => payload.source === 'mended')
    response.writeHead(isMended ? 200 : 422).end()
  })

test('without a destination the page says how to add one', async ({ page, demo }) => {
  const shop = addOperated(demo, 'Anvil')
  await openSignedIn(page, demo, '/forward/', shop)
  await expect(page.getByTestId('no-destinations')).toContainText(
    `npx shoptrail forward add ${shop.customerId} `,
  )
  await page.getByTestId('to-people').click()
  await page.getByTestId('to-forward').click()
  await expect(page.getByTestId('customer')).toHaveValue(shop.customerId)
})

test('a destination is shown with its lag, paused and resumed', async ({
  page,
  demo,
  receiver,
}) => {
  receiver.answer(status(503, { 'retry-after': '1' }))
  const { customerId } = await openPage(page, demo, receiver)
  const row = page.getByTestId('destination')
  await expect(row).toContainText('Own program')
  await expect(row).toContainText(receiver.url)
  await expect(row).toContainText('Without remote_addr')
  await expect(page.getByTestId('state-of')).toContainText('Up to date')
  await store(demo, customerId, ['viewProduct', 'viewProduct'])
  await expect(page.getByTestId('lag')).toContainText('2 events')
  await expect(page.getByTestId('state-of')).toContainText('HTTP 503')
  receiver.answer(status(204))
  // The pause after some failures may be 16 seconds.
  await expect(page.getByTestId('delivered')).toHaveText('2', { timeout: 60_000 })
  await expect(page.getByTestId('lag')).toHaveText('0 events')

  await page.getByTestId('pause').click()
  await expect(page.getByTestId('notice')).toContainText('Own program is paused')
  await expect(page.getByTestId('state-of')).toContainText('Paused')
  await expect(page.getByTestId('pause')).toBeFocused()
  await store(demo, customerId, ['search'])
  await expect(page.getByTestId('lag')).toContainText('1 event')
  await page.getByRole('button', { name: 'Resume Own program' }).click()
  await expect(page.getByTestId('delivered')).toHaveText('3')
  expect(await page.content()).not.toMatch(/token-in|whsec/)
})

test('dead letters are mended and sent again, with the keyboard only', async ({
  page,
  demo,
  receiver,
}) => {
  refuseUnmended(receiver)
  const { customerId, destination } = await openPage(page, demo, receiver)
  await store(demo, customerId, ['viewProduct', 'search', 'viewProduct'])
  await expect(page.getByTestId('show-letters')).toHaveText('3 dead letters')
  await page.getByTestId('show-letters').press('Enter')
  await expect(page).toHaveURL(new RegExp(`#${destination}$`))
  const letters = page.getByTestId('letter')
  await expect(letters).toHaveCount(3)
  await expect(letters.nth(1)).toContainText(`search`)
  await expect(letters.nth(1)).toContainText(REASON)
  await letters.nth(1).locator('summary').press('Enter')
  await expect(letters.nth(1).getByTestId('payload')).toContainText('"search_term": "mug"')
  await expect(letters.nth(1).getByTestId('payload')).not.toContainText('203.0.113.7')

  await page.getByTestId('filter-operation').focus()
  await page.getByTestId('filter-operation').selectOption('search')
  await expect(letters).toHaveCount(1)
  await expect(page.getByTestId('filter-operation')).toBeFocused()
  await expect(page.getByTestId('what')).toHaveText('For all 1 letter of the filter:')
  await page.getByTestId('mend').press('Enter')
  const patch = page.getByTestId('patch')
  await patch.fill('{source: "mended"}')
  await page.getByTestId('preview').press('Enter')
  await expect(page.getByTestId('patch-fault')).toContainText('This is not JSON')
  await patch.fill('{"url": 7}')
  await page.getByTestId('preview').press('Enter')
  await expect(page.getByTestId('previews')).toContainText('The mended payload is invalid')
  await patch.fill('{"source": "mended"}')
  await expect(page.getByTestId('previews')).toHaveCount(0)
  await expect(page.getByTestId('save-replay')).toBeDisabled()
  await page.getByTestId('preview').press('Enter')
  await expect(page.getByTestId('previews')).toContainText('source')
  await expect(page.getByTestId('preview')).toBeFocused()
  await expect(page.getByTestId('previews')).toContainText('nothing → "mended"')
  await page.getByTestId('save-replay').press('Enter')
  await expect(page.getByTestId('notice')).toHaveText('1 letter mended, and sent again.')
  const title = page.getByRole('heading', { name: 'Dead letters of Own program' })
  await expect(title).toBeFocused()
  await expect(page.getByTestId('show-letters')).toHaveText('2 dead letters')
  await expect(page.getByTestId('delivered')).toHaveText('1')

  await page.getByTestId('filter-operation').selectOption('All')
  await expect(letters).toHaveCount(2)
  await page.getByTestId('select').nth(1).press('Space')
  await expect(page.getByTestId('what')).toHaveText('For 1 selected letter:')
  await page.getByTestId('discard').press('Enter')
  await page.getByTestId('discard-now').press('Enter')
  await expect(page.getByTestId('notice')).toHaveText('1 letter discarded.')
  await expect(page.getByTestId('discard')).toBeFocused()
  await expect(letters).toHaveCount(1)

  // Everything else is taken now.
  receiver.answer(status(200))
  await page.getByTestId('replay').press('Enter')
  await expect(page.getByTestId('notice')).toHaveText('1 letter will be sent again.')
  await expect(page.getByTestId('show-letters')).toHaveText('No dead letters')
  await expect(title).toBeFocused()
  await expect(page.getByTestId('delivered')).toHaveText('2')
  // The address leads to the same letters.
  await page.reload()
  await expect(page.getByTestId('no-letters')).toBeVisible()
})

test('what was shown of a customer is gone with the customer', async ({ page, demo, receiver }) => {
  receiver.answer(status(422))
  const { customerId } = await openPage(page, demo, receiver)
  await store(demo, customerId, ['viewProduct'])
  await page.getByTestId('show-letters').click()
  await expect(page.getByTestId('letter')).toHaveCount(1)
  await page.getByTestId('customer').selectOption('demo')
  await expect(page.getByTestId('no-destinations')).toBeVisible()
  await expect(page.getByTestId('panel')).toHaveCount(0)
  await page.getByTestId('customer').selectOption(customerId)
  await expect(page.getByTestId('destination')).toHaveCount(1)
  // A new key ends the session.
  demo.customers.rotate(customerId, 'rest')
  await expect(page.getByTestId('login-error')).not.toBeEmpty()
  await expect(page.getByTestId('destination')).toHaveCount(0)
})

test('a gateway that does not answer is a sentence on the page', async ({
  page,
  demo,
  receiver,
}) => {
  await openPage(page, demo, receiver)
  await page.route('**/forward/data/pause*', (route) => route.abort())
  await page.getByTestId('pause').click()
  await expect(page.getByTestId('trouble')).toContainText('does not answer')
  await page.unroute('**/forward/data/pause*')
  await page.getByTestId('pause').click()
  await expect(page.getByTestId('trouble')).toBeHidden()
  await expect(page.getByTestId('state-of')).toContainText('Paused')
  await page.route('**/forward/data/list*', (route) => route.abort())
  await expect(page.getByTestId('state')).toContainText('does not answer')
  await page.unroute('**/forward/data/list*')
  await expect(page.getByTestId('state')).toBeHidden()
})

for (const width of PHONES)
  test(`at a width of ${width} px, nothing scrolls sideways`, async ({ page, demo, receiver }) => {
    refuseUnmended(receiver)
    await page.setViewportSize({ width, height: 700 })
    const name = 'A program with a very long name-that-has-no-place-to-break-in-it-anywhere'
    const { customerId } = await openPage(page, demo, receiver, name)
    await store(demo, customerId, ['viewProduct', 'search'])
    await page.getByTestId('show-letters').click()
    await page.getByTestId('letter').first().locator('summary').click()
    await page.getByTestId('mend').click()
    await page.getByTestId('patch').fill(`{"source": "${'long'.repeat(50)}"}`)
    await page.getByTestId('preview').click()
    await expect(page.getByTestId('previews')).toBeVisible()
    await expectNoSidewaysScroll(page)
    await page.getByTestId('discard').click()
    await expect(page.getByTestId('confirm-discard')).toBeVisible()
    await expectNoSidewaysScroll(page)
  })

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import type { Gateway } from '../src/gateway/index.ts'
import { addShop, expectNoSidewaysScroll, test } from './campaignPage.ts'
import { expect } from './fixtures.ts'

/** The people page: what is kept of a person, its download, and its erasure. */
test.use({ testIdAttribute: 'data-test' })

const PHONES = [390, 320]

/** Stores events of a device, the first of which gives its address. */
const store = ({ log }: Gateway, customer: string, did: string, address: string, more = 2) =>
  log.append(
    Array.from({ length: more + 1 }, (_, i) => {
      const operation = i === 0 ? 'setEmail' : 'viewProduct'
      const payload = i === 0 ? { did, email_address: address } : { did, product_id: `${i}` }
      return {
        customer,
        id: randomUUID(),
        at: Date.now() - i * 60_000,
        receivedAt: Date.now(),
        operation,
        event: operation,
        did,
        bot: false,
        version: null,
        payload: JSON.stringify(payload),
      }
    }),
  )

async function search(page: Page, person: string) {
  await page.getByTestId('person').fill(person)
  await page.getByTestId('find').click()
}

test('a person is found, downloaded, and erased after the address was typed again', async ({
  page,
  demo,
}) => {
  await store(demo, 'demo', 'device-cleo', 'Cleo@example.com')
  await store(demo, 'demo', 'device-bert', 'bert@example.com')
  await page.goto(`${demo.url}/live/`)
  await page.getByTestId('to-people').click()
  await expect(page.getByTestId('no-proofs')).toBeVisible()
  await search(page, ' cleo@EXAMPLE.com ')
  await expect(page.getByTestId('counts')).toHaveText('3 events of 1 device')
  await expect(page.getByTestId('operations')).toContainText('viewProduct2')
  await expect(page.getByTestId('dids')).toContainText('device-cleo')
  await expect(page.getByTestId('shared')).toHaveCount(0)
  // The person is neither in the address nor in storage.
  expect(page.url()).not.toContain('leo')
  const stored = () =>
    page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
  expect(await stored()).not.toMatch(/cleo/i)

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByTestId('download').click(),
  ])
  expect(download.suggestedFilename()).toBe('person.json')
  const file = JSON.parse(readFileSync(await download.path(), 'utf8'))
  expect(file).toMatchObject({ person: { email: 'cleo@example.com' }, devices: ['device-cleo'] })
  expect(file.events).toHaveLength(3)

  await expect(page.getByTestId('erase')).toBeDisabled()
  await page.getByTestId('confirm').fill('cleo@example.com')
  await expect(page.getByTestId('erase')).toBeDisabled()
  await page.getByTestId('confirm').fill('cleo@EXAMPLE.com')
  await page.getByTestId('erase').click()
  await expect(page.getByTestId('notice')).toContainText('Removed 3 events of 1 device')
  await expect(page.getByTestId('kept')).toHaveCount(0)
  await expect(page.getByTestId('person')).toHaveValue('')
  await expect(page.getByTestId('proofs').getByRole('row')).toHaveCount(2)
  await expect(page.locator('#page')).not.toContainText(/cleo/i)
  await search(page, 'Cleo@example.com')
  await expect(page.getByTestId('nothing')).toContainText('Nothing is kept of Cleo@example.com')
  // A forgotten @ is searched as a device id.
  await search(page, 'cleo')
  await expect(page.getByTestId('nothing')).toContainText('Nothing is kept of the device id cleo')
  await search(page, 'device-bert')
  await expect(page.getByTestId('counts')).toHaveText('3 events of 1 device')

  await page.reload()
  await expect(page.getByTestId('proofs').getByRole('row')).toHaveCount(2)
})

test('a device that gave two addresses is marked, before its data is handed over', async ({
  page,
  demo,
}) => {
  await store(demo, 'demo', 'device-shared', 'dora@example.com')
  await store(demo, 'demo', 'device-shared', 'emil@example.com', 0)
  await page.goto(`${demo.url}/people/`)
  await search(page, 'dora@example.com')
  await expect(page.getByTestId('counts')).toHaveText('4 events of 1 device')
  await expect(page.getByTestId('shared')).toContainText('1 device gave another address too')
})

test('what was found of a customer is gone with the customer, and after the sign-out', async ({
  page,
  demo,
}) => {
  const shop = await addShop(demo, 'Kiln')
  await store(demo, shop.customerId, 'device-gina', 'gina@example.com')
  await page.goto(`${demo.url}/people/`)
  await page.getByTestId('sign-in').click()
  await page.getByTestId('login-customer').fill(shop.customerId)
  await page.getByTestId('login-key').fill(shop.restKey)
  await page.getByTestId('login-submit').click()
  await expect(page.getByTestId('customer')).toHaveValue(shop.customerId)
  await search(page, 'gina@example.com')
  await expect(page.getByTestId('counts')).toHaveText('3 events of 1 device')
  await page.getByTestId('customer').selectOption('demo')
  await expect(page.getByTestId('kept')).toHaveCount(0)
  await expect(page.getByTestId('person')).toHaveValue('')
  await search(page, 'gina@example.com')
  await expect(page.getByTestId('nothing')).toBeVisible()

  await page.getByTestId('customer').selectOption(shop.customerId)
  await search(page, 'gina@example.com')
  await expect(page.getByTestId('kept')).toBeVisible()
  // A new key ends the session: the next request asks to sign in again.
  demo.customers.rotate(shop.customerId, 'rest')
  await page.getByTestId('confirm').fill('gina@example.com')
  await page.getByTestId('erase').click()
  await expect(page.getByTestId('login-error')).not.toBeEmpty()
  await expect(page.locator('#page')).not.toContainText('gina')
  expect((await demo.log.read({ customer: shop.customerId, max: 9 })).length).toBe(3)
})

test('a gateway that does not answer is a sentence on the page', async ({ page, demo }) => {
  await page.goto(`${demo.url}/people/`)
  await expect(page.getByTestId('no-proofs').or(page.getByTestId('proofs'))).toBeVisible()
  await page.route('**/people/data/find*', (route) => route.abort())
  await search(page, 'ida@example.com')
  await expect(page.getByTestId('trouble')).toContainText('does not answer')
  await page.unroute('**/people/data/find*')
  await search(page, 'ida@example.com')
  await expect(page.getByTestId('trouble')).toBeHidden()
  await expect(page.getByTestId('nothing')).toBeVisible()
  await search(page, 'ida@localhost')
  await expect(page.getByTestId('trouble')).toContainText('Expected an e-mail address')
})

for (const width of PHONES)
  test(`at a width of ${width} px, nothing is cut and nothing scrolls sideways`, async ({
    page,
    demo,
  }) => {
    const did = 'a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d'
    const address = `${'long.'.repeat(8)}${width}@mail.example-with-a-long-name.example`
    await store(demo, 'demo', did, address)
    await page.setViewportSize({ width, height: 700 })
    await page.goto(`${demo.url}/people/`)
    await search(page, address)
    await expect(page.getByTestId('kept')).toBeVisible()
    await expectNoSidewaysScroll(page)
    await page.getByTestId('confirm').fill(address)
    await page.getByTestId('erase').click()
    await expect(page.getByTestId('notice')).toBeVisible()
    await expectNoSidewaysScroll(page)
  })

import { VISITOR_ADDRESS } from './faultProxy.ts'
import { expect, expectNothingKept, search, test } from './fixtures.ts'

test('events from an address that the customer ignores are acknowledged and not stored', async ({
  page,
  shop,
  wire,
  gateway,
  customer,
  stored,
  expectStored,
}) => {
  const ignore = (ignored: string[]) => gateway.customers.change(customer.customerId, { ignored })
  ignore([VISITOR_ADDRESS])
  await page.goto(shop.page('/a'))
  // The answer is lost, so the page asks or sends again.
  wire.next('loseAnswer')
  await search(page, 'one')
  await expect.poll(() => wire.events.map(({ outcome }) => outcome)).toContain('lost')
  await search(page, 'two', 'three')
  await expectNothingKept(page)
  expect(await stored()).toEqual([])
  ignore([])
  await search(page, 'four')
  await expectStored(['four'])
})

import { expect, expectNothingKept, keptIn, search, stopClock, test } from './fixtures.ts'

/** The most requests in ten minutes: the first wait is 1 to 2 s, and it doubles up to 1 to 2 minutes. */
const MAX_REQUESTS = 16

test('an outage of ten minutes: a bounded number of requests, then every event arrives', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const clock = await stopClock(page)
  await page.goto(shop.page('/a'))
  // Ends each request without an answer. Unlike refused connections, these can be counted.
  wire.always('lose')
  wire.delayMs = 0
  await search(page, 'one', 'two')
  await clock.pass(300_000, 10_000)
  await search(page, 'three')
  await clock.pass(300_000, 10_000)
  expect(wire.events.length).toBeGreaterThan(5)
  expect(wire.events.length).toBeLessThanOrEqual(MAX_REQUESTS)
  expect(await keptIn(page)).toBe(3)
  wire.heal()
  await clock.pass(180_000)
  await expectStored(['one', 'two', 'three'])
  await expectNothingKept(page)
})

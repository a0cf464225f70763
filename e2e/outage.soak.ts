import { expect, expectNothingKept, keptIn, passTime, search, test } from './fixtures.ts'

/** With a first wait of 1 to 2 s that doubles up to 1 to 2 minutes, ten minutes hold at most so many. */
const MOST_ATTEMPTS = 16

test('down for ten minutes: a bounded number of attempts, then everything', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.clock.install()
  await page.goto(shop.page('/a'))
  // Answers nothing at once, and counts, as a refused connection can not.
  wire.always('lose')
  wire.delayMs = 0
  await search(page, 'one', 'two')
  await passTime(page, 300_000, 10_000)
  await search(page, 'three')
  await passTime(page, 300_000, 10_000)
  expect(wire.events.length).toBeGreaterThan(5)
  expect(wire.events.length).toBeLessThanOrEqual(MOST_ATTEMPTS)
  expect(await keptIn(page)).toBe(3)
  wire.heal()
  await passTime(page, 180_000)
  await expectStored(['one', 'two', 'three'])
  await expectNothingKept(page)
})

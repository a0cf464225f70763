import { setTimeout as sleep } from 'node:timers/promises'
import { expect, expectNothingKept, keptIn, search } from './fixtures.ts'
import { test } from './profile.ts'

test.describe.configure({ timeout: 180_000 })

/** Time after which Chromium has written localStorage to disk, ms. */
const WRITTEN_MS = 10_000

test('no network: events kept for 10 s survive a kill of the browser, once each', async ({
  startBrowser,
  shop,
  wire,
  stored,
  expectStored,
}) => {
  const before = await startBrowser()
  const page = await before.context.newPage()
  await page.goto(shop.page('/a'))
  await wire.down()
  await search(page, 'one', 'two')
  await sleep(WRITTEN_MS)
  await before.kill()

  await wire.up()
  const middle = await startBrowser()
  const next = await middle.context.newPage()
  await next.goto(shop.page('/b'))
  await expectStored(['one', 'two'])
  await expectNothingKept(next)
  await wire.down()
  await search(next, 'too late')
  await expect.poll(() => keptIn(next)).toBe(1)
  await middle.kill()

  // The file may still contain delivered events, whose removal was not written: they are sent again and stored once. It
  // lacks the newest event, which was not written either.
  await wire.up()
  const last = await startBrowser()
  const end = await last.context.newPage()
  await end.goto(shop.page('/c'))
  await search(end, 'three')
  await expectNothingKept(end)
  const terms = (await stored()).map(({ payload }) => payload.search_term)
  expect(terms.filter((term) => term !== 'too late').sort()).toEqual(['one', 'three', 'two'])
})

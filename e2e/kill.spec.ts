import { setTimeout as sleep } from 'node:timers/promises'
import { expect, expectNothingKept, keptIn, search } from './fixtures.ts'
import { test } from './profile.ts'

// A test starts three browsers, which takes long on a busy machine.
test.describe.configure({ timeout: 180_000 })

test('the browser is killed online, 100 ms after some calls and a second after others: nothing is lost', async ({
  startBrowser,
  shop,
  wire,
  expectStored,
}) => {
  // Requests must arrive before the browser is killed; the default of 150 ms is a slow network.
  wire.delayMs = 20
  const terms: string[] = []
  for (const ms of [100, 1000]) {
    const { context, kill } = await startBrowser()
    const page = await context.newPage()
    await page.goto(shop.page(`/${ms}`))
    terms.push(`${ms} one`, `${ms} two`)
    const before = wire.events.length
    await search(page, `${ms} one`, `${ms} two`)
    // On a busy machine the browser connects later. Before that, nothing could keep the events: the browser writes
    // localStorage to the disk after seconds.
    await expect.poll(() => wire.events.length).toBeGreaterThan(before)
    // A fixed time: the test is about how long the browser lives after the calls.
    await sleep(ms)
    await kill()
  }
  const { context } = await startBrowser()
  const page = await context.newPage()
  await page.goto(shop.page('/next'))
  await search(page, 'three')
  await expectStored([...terms, 'three'])
  await expectNothingKept(page)
})

test('the process of a page crashes: nothing is lost', async ({
  context,
  page,
  shop,
  wire,
  expectStored,
}) => {
  const tab = await context.newPage()
  await tab.goto(shop.page('/a'))
  await wire.down()
  await search(tab, 'one', 'two')
  await expect.poll(() => keptIn(tab)).toBe(2)
  const crashed = tab.waitForEvent('crash')
  await tab.goto('chrome://crash').catch(() => {})
  await crashed
  await wire.up()
  await page.goto(shop.page('/b'))
  await expectStored(['one', 'two'])
  await expectNothingKept(page)
})

import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, expectNothingKept, keptIn, search, test } from './fixtures.ts'
import { makeFolder } from './gateway.ts'
import { type OwnChromium, startChromium } from './ownChromium.ts'

/*
 * The whole browser is killed (SIGKILL).
 *
 * Chromium writes localStorage to its file some 5 s after a page's first write and up to a minute after
 * later ones; what is in memory until then dies with the browser. So an event survives when its first
 * request left (within ms of the call, online) or when it was kept for long enough. What is lost is an
 * event that could not be sent (offline, a failing gateway) and whose browser is killed within that time.
 * The waits here are that time, and can not be awaited.
 */

// Up to three browsers are started in a test, which takes long on a busy machine.
test.describe.configure({ timeout: 180_000 })

/** A profile's folder, the browsers over it, and what removes it all, also where a test fails before its end. */
const makeProfile = () => {
  const folder = makeFolder('profile')
  const started: OwnChromium[] = []
  const profile = {
    async start() {
      const browser = await startChromium(folder)
      started.push(browser)
      return browser
    },
    async remove() {
      for (const browser of started) await browser.kill()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  profiles.push(profile)
  return profile
}
const profiles: { remove(): Promise<void> }[] = []
test.afterEach(async () => {
  for (const profile of profiles.splice(0)) await profile.remove()
})

for (const ms of [100, 1000])
  test(`online, killed ${ms} ms after the call`, async ({ shop, wire, watch, expectStored }) => {
    const profile = makeProfile()
    // The request is on the wire before the browser dies; 150 ms would be a slow network's.
    wire.delayMs = 20
    const before = await profile.start()
    watch.add(before.context)
    const page = await before.context.newPage()
    await page.goto(shop.page('/a'))
    await search(page, 'one', 'two')
    await sleep(ms)
    await before.kill()

    const after = await profile.start()
    watch.add(after.context)
    const next = await after.context.newPage()
    await next.goto(shop.page('/b'))
    await search(next, 'three')
    await expectStored(['one', 'two', 'three'])
    await expectNothingKept(next)
    await after.kill()
  })

test('no network, killed 10 s after the call, then once more at once', async ({
  shop,
  wire,
  watch,
  stored,
  expectStored,
}) => {
  const profile = makeProfile()
  const before = await profile.start()
  watch.add(before.context)
  const page = await before.context.newPage()
  await page.goto(shop.page('/a'))
  await wire.down()
  await search(page, 'one', 'two')
  await sleep(10_000)
  await before.kill()

  await wire.up()
  const middle = await profile.start()
  watch.add(middle.context)
  const next = await middle.context.newPage()
  await next.goto(shop.page('/b'))
  await expectStored(['one', 'two'])
  await expectNothingKept(next)
  await wire.down()
  await search(next, 'too late')
  await expect.poll(() => keptIn(next)).toBe(1)
  await middle.kill()

  // What was removed after its delivery may be back in the file: sent again, it is stored once. What
  // was kept a moment ago is what the browser had not written.
  await wire.up()
  const last = await profile.start()
  watch.add(last.context)
  const end = await last.context.newPage()
  await end.goto(shop.page('/c'))
  await search(end, 'three')
  await expectNothingKept(end)
  const terms = (await stored()).map(({ payload }) => payload.search_term)
  expect(terms.filter((term) => term !== 'too late').sort()).toEqual(['one', 'three', 'two'])
  await last.kill()
})

test('the process of a page crashes: nothing lost', async ({
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

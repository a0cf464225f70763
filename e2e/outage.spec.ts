import { rmSync } from 'node:fs'
import { startFaultProxy } from './faultProxy.ts'
import { expect, expectNothingKept, keptIn, search, stopClock, test } from './fixtures.ts'
import { addCustomer, loadGateway, makeFolder, startGatewayProcess } from './gateway.ts'
import { startShop } from './shopServer.ts'

// The gateway can not be reached.

/** Longer than the first two waits of a backoff, ms. */
const FIRST_WAITS_MS = 6000

test('the backoff starts again after `online`, a new page and a success', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const clock = await stopClock(page)
  wire.delayMs = 0
  wire.always({ status: 503 })
  await page.goto(shop.page('/a'))
  await search(page, 'one')
  await clock.pass(160_000)
  const before = wire.events.length
  await page.evaluate(() => void dispatchEvent(new Event('online')))
  await expect.poll(() => wire.events.length).toBe(before + 1)
  await page.goto(shop.page('/b'))
  const opened = wire.events.length
  // The first wait, although the earlier page's waits have become minutes long. It is longer if that page held the lock.
  await clock.pass(2 * FIRST_WAITS_MS)
  expect(wire.events.length).toBeGreaterThan(opened)
  wire.heal()
  await clock.pass(FIRST_WAITS_MS)
  await expectStored(['one'])
  wire.next({ status: 503 })
  const healed = wire.events.length
  await search(page, 'two')
  await expect.poll(() => wire.events.length).toBe(healed + 1)
  await clock.pass(FIRST_WAITS_MS)
  await expectStored(['one', 'two'])
})

test('connections are refused, then accepted again', async ({ page, shop, wire, expectStored }) => {
  await page.goto(shop.page('/a'))
  await wire.down()
  await search(page, 'one', 'two')
  await expect.poll(() => keptIn(page)).toBe(2)
  await wire.up()
  await expectStored(['one', 'two'])
  await expectNothingKept(page)
})

test('an idle page makes no requests', async ({ page, shop, wire, expectStored }) => {
  const clock = await stopClock(page)
  await page.goto(shop.page('/a'))
  await search(page, 'one')
  await expectStored(['one'])
  await expectNothingKept(page)
  for (let minutes = 0; minutes < 10; minutes++) await clock.jump(60_000)
  expect(wire.events).toHaveLength(1)
})

test('the gateway is killed with kill -9 under load and restarted: each accepted event is stored once', async ({
  context,
  watch,
}) => {
  const folder = makeFolder('killed')
  const { startGateway } = await loadGateway()
  const prepared = await startGateway({ dataDir: folder })
  const customer = addCustomer(prepared)
  await prepared.close()

  let running = await startGatewayProcess(folder)
  const wire = await startFaultProxy(running.url)
  wire.delayMs = 20
  const shop = await startShop(wire.url, customer.trackingKey)
  const page = await context.newPage()
  await page.goto(shop.page('/a'))
  const terms: string[] = []
  for (let kill = 0; kill < 2; kill++) {
    for (let n = 0; n < 20; n++) {
      const term = `${kill}-${n}`
      terms.push(term)
      await search(page, term)
      if (n === 10) {
        await running.kill()
        running = await startGatewayProcess(folder)
        wire.target = running.url
      }
    }
    await page.evaluate(() => track.flush())
  }
  await expectNothingKept(page, 40_000)
  await running.kill()

  const gateway = await startGateway({ dataDir: folder })
  const rows = await gateway.log.read({ customer: customer.customerId, max: 1000 })
  const stored = rows.map(({ payload }) => JSON.parse(payload).search_term as string)
  expect(stored.sort()).toEqual(terms.sort())
  await gateway.close()
  await shop.close()
  await wire.close()
  rmSync(folder, { recursive: true, force: true })
  expect(watch.faults).toEqual([])
})

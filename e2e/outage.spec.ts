import { rmSync } from 'node:fs'
import { startFaultProxy } from './faultProxy.ts'
import { expect, expectNothingKept, keptIn, passTime, search, test } from './fixtures.ts'
import { addCustomer, loadGateway, makeFolder, startGatewayProcess } from './gateway.ts'
import { startShop } from './shopServer.ts'

// The gateway can not be reached.

test('the backoff starts again after `online`, a new page and a success', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.clock.install()
  wire.delayMs = 0
  wire.always({ status: 503 })
  await page.goto(shop.page('/a'))
  await search(page, 'one')
  await passTime(page, 160_000)
  const before = wire.events.length
  await page.evaluate(() => void dispatchEvent(new Event('online')))
  await expect.poll(() => wire.events.length).toBe(before + 1)
  await page.goto(shop.page('/b'))
  // A page waits some seconds before it sends the events of an earlier page; the page's clock skips them.
  await page.clock.runFor(10_000)
  await expect.poll(() => wire.events.length).toBeGreaterThan(before + 1)
  wire.heal()
  await page.clock.runFor(10_000)
  await expectStored(['one'])
  wire.next({ status: 503 })
  const healed = wire.events.length
  await search(page, 'two')
  await expect.poll(() => wire.events.length).toBe(healed + 1)
  await page.clock.runFor(3000)
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
  await page.clock.install()
  await page.goto(shop.page('/a'))
  await search(page, 'one')
  await expectStored(['one'])
  await expectNothingKept(page)
  // A jump of the clock runs every timer that becomes due.
  for (let minutes = 0; minutes < 10; minutes++) {
    await page.clock.fastForward(60_000)
    await page.evaluate(() => fetch('/nothing').then(() => {}))
  }
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

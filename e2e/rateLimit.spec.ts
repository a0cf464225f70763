import { rmSync } from 'node:fs'
import { startFaultProxy } from './faultProxy.ts'
import { expect, expectNothingKept, test } from './fixtures.ts'
import { addCustomer, loadGateway, makeFolder } from './gateway.ts'
import { startShop } from './shopServer.ts'

const EVENTS = 40

test('a page over the rate limit of its address or customer obeys Retry-After, and delivers each event once', async ({
  context,
}) => {
  await Promise.all(
    (['address', 'customer'] as const).map((limit) =>
      test.step(limit, async () => {
        const folder = makeFolder('limited')
        const { startGateway } = await loadGateway()
        const gateway = await startGateway({
          dataDir: folder,
          trustedProxies: ['127.0.0.1'],
          limits: { [limit]: { events: { perSecond: 4, burst: 10 } } },
        })
        const customer = addCustomer(gateway)
        const wire = await startFaultProxy(gateway.url)
        const shop = await startShop(wire.url, customer.trackingKey)
        const page = await context.newPage()
        await page.goto(shop.page('/a'))
        const terms = Array.from({ length: EVENTS }, (_, n) => `term ${n}`)
        await page.evaluate(async (all) => {
          for (const search_term of all) {
            track.search({ search_term })
            await new Promise((resolve) => setTimeout(resolve, 20))
          }
        }, terms)
        await expectNothingKept(page, 60_000)

        const refused = wire.events.filter(({ outcome }) => outcome === 429)
        expect(refused.length).toBeGreaterThan(0)
        // 40 events at 4 a second: a page that ignored Retry-After would send twice as many requests.
        expect(refused.length).toBeLessThan(8)
        const rows = await gateway.log.read({ customer: customer.customerId, max: 1000 })
        const stored = rows.map(({ payload }) => JSON.parse(payload).search_term as string)
        expect(stored.sort()).toEqual(terms.sort())

        await shop.close()
        await wire.close()
        await gateway.close()
        rmSync(folder, { recursive: true, force: true })
      }),
    ),
  )
})

import { execFile } from 'node:child_process'
import { appendFileSync, cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Gateway } from '../src/gateway/index.ts'
import { expect, test as fixtures, search } from './fixtures.ts'
import { addCustomer, loadGateway, makeFolder } from './gateway.ts'
import { type Shop, startShop } from './shopServer.ts'

const DIST = fileURLToPath(new URL('../dist', import.meta.url))

/** A gateway whose data the command line can open, and a shop. */
type Setup = {
  readonly gateway: Gateway
  readonly shop: Shop
  readonly customer: { readonly customerId: string; readonly trackingKey: string }
  /** Prints the tag of a script that never changes, as an operator does it. */
  pin(): Promise<string>
  /** Starts the gateway again at the same address, with scripts of another version. */
  upgrade(): Promise<void>
  /** The terms that were searched for, with the source of each. */
  searches(): Promise<unknown[]>
}

const test = fixtures.extend<{ setup: Setup }>({
  setup: async ({ browserName }, use) => {
    const folder = makeFolder(`integrity-${browserName}`)
    const dataDir = join(folder, 'data')
    const { startGateway } = await loadGateway()
    const start = (options = {}) => startGateway({ dataDir, ...options })
    let gateway = await start()
    const { port, url } = gateway
    const customer = addCustomer(gateway, { source: 'first' })
    const shop = await startShop(url, customer.trackingKey)
    await use({
      get gateway() {
        return gateway
      },
      shop,
      customer,
      async pin() {
        const { stdout } = await promisify(execFile)(
          process.execPath,
          [
            join(DIST, 'shoptrail.js'),
            'snippet',
            '--key',
            customer.trackingKey,
            '--integrity',
            '--gateway',
            url,
          ],
          { env: { DATA_DIR: dataDir } },
        )
        return stdout.trim().split('\n')[1] as string
      },
      async upgrade() {
        const next = join(folder, 'next')
        // Only the scripts: other tests write into dist/e2e meanwhile.
        for (const name of readdirSync(DIST))
          if (name === 'track' || name.endsWith('.js'))
            cpSync(join(DIST, name), join(next, name), { recursive: true })
        for (const file of readdirSync(join(next, 'track')))
          appendFileSync(join(next, 'track', file), '/* next */')
        await gateway.close()
        gateway = await start({ port, scriptFolder: next })
      },
      async searches() {
        const records = await gateway.log.read({ after: 0, max: 100 })
        return records.map(({ payload }) => {
          const { search_term, source } = JSON.parse(payload)
          return [search_term, source]
        })
      },
    })
    await shop.close()
    await gateway.close()
    rmSync(folder, { recursive: true, force: true })
  },
})

test('a tag with integrity runs the script of its day, after other settings and after an upgrade', async ({
  page,
  setup,
}) => {
  const { shop, customer, searches } = setup
  const pinned = await setup.pin()
  const expected: unknown[] = []
  /** Opens a page with the tag, and waits for its event. */
  const visit = async (head: string, term: string, source: string) => {
    await page.goto(shop.page('/a', { head: head.replace('async', '') }))
    await search(page, term)
    expected.push([term, source])
    await expect.poll(searches).toEqual(expected)
  }
  await visit(pinned, 'at first', 'first')

  setup.gateway.customers.change(customer.customerId, {
    config: { pageViews: 'off', source: 'second' },
  })
  await visit(shop.tag(), 'other settings', 'second')
  await visit(pinned, 'pinned, other settings', 'first')

  await setup.upgrade()
  expect(await (await fetch(shop.script())).text()).toContain('/* next */')
  await visit(pinned, 'pinned, after an upgrade', 'first')

  const renewed = await setup.pin()
  expect(renewed).not.toBe(pinned)
  await visit(renewed, 'pinned again', 'second')
  await visit(pinned, 'both are kept', 'first')
})

test('the browser does not run a script whose text is another', async ({ page, setup, watch }) => {
  const { shop } = setup
  const pinned = await setup.pin()
  const [, integrity = ''] = /integrity="([^"]+)"/.exec(pinned) ?? []
  await setup.upgrade()
  // The address that follows the settings and the version.
  const head = shop.tag(`integrity="${integrity}" crossorigin="anonymous"`)
  await page.goto(shop.page('/a', { head }))
  expect(await page.evaluate(() => typeof window.track)).toBe('undefined')
  await expect.poll(() => watch.faults.splice(0).join()).toContain('integrity')
})

test('a removed script is not loaded any more', async ({ page, setup }) => {
  const pinned = await setup.pin()
  const { shop, customer } = setup
  setup.gateway.customers.rotate(customer.customerId, 'tracking')
  await page.goto(shop.page('/a', { head: pinned.replace('async', '') }))
  expect(await page.evaluate(() => typeof window.track)).toBe('undefined')
})

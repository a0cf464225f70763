import type { Page } from '@playwright/test'
import type { Shop } from '../shopServer.ts'
import { expect, readGuide, settingsOf, test } from './guide.ts'

const block = readGuide('several-domains')

/** The addresses of the guide on this machine, where each subdomain of localhost is found. */
const local = (text: string, { url }: Shop) =>
  text.replace(/https:\/\/([\w.*]+)\.example/g, `http://$1.localhost:${new URL(url).port}`)

const didOf = (page: Page) => page.evaluate(() => track.did)

test('the origins of the list are allowed, and no others', async ({
  page,
  shop,
  gateway,
  wire,
  watch,
}) => {
  const origins = [...block('origins').matchAll(/--origin '?([^\s']+)/g)].map(([, origin = '']) =>
    local(origin, shop),
  )
  expect(origins).toHaveLength(3)
  const { customer } = gateway.customers.add({ origins, config: {} })
  shop.page('/', { head: shop.tag('', customer.trackingKey) })
  const visit = async (host: string) => {
    const before = wire.events.length
    await page.goto(local(`https://${host}.example/`, shop))
    // Before its answer, the outcome of a request is a word.
    await expect.poll(() => typeof wire.events[before]?.outcome).toBe('number')
    return wire.events[before]?.outcome
  }
  for (const host of ['shop', 'www.shop', 'checkout.shop', 'laden'])
    expect([host, await visit(host)]).toEqual([host, 200])
  expect(await visit('other')).toBe(403)
  expect(watch.faults).toEqual([])
})

test('subdomains share the id', async ({ page, shop, customer }) => {
  const own = customer.another(settingsOf(block('cookie')))
  shop.page('/', { head: shop.tag('', own.trackingKey) })
  await page.goto(local('https://www.shop.example/', shop))
  const did = await didOf(page)
  await page.goto(local('https://checkout.shop.example/', shop))
  expect(await didOf(page)).toBe(did)
  await page.goto(local('https://laden.example/', shop))
  expect(await didOf(page)).not.toBe(did)
})

test('a link hands the id over to another domain, and the address does not keep it', async ({
  page,
  shop,
  customer,
  arriveAt,
}) => {
  const own = customer.another({ pageViews: 'load', ...settingsOf(block('adopt')) })
  const arrive = arriveAt(own)
  const tag = shop.tag('', own.trackingKey)
  const body = local(block('leave'), shop)
  shop.page('/shop', { head: tag, body })
  shop.page('/', { head: block('enter') + tag })
  await page.goto(local('https://shop.example/shop', shop))
  const did = await didOf(page)
  await page.click('a')
  await page.waitForURL(/laden\.localhost/)
  await page.waitForFunction('typeof track?.version === "string"')
  expect(await didOf(page)).toBe(did)
  await arrive({ did }, { did, payload: { url: local('https://laden.example/?from=***', shop) } })
})

test('a name for the events of a domain', async ({ page, shop, arrive }) => {
  await page.goto(shop.page('/', { head: block('source', shop) }))
  await arrive({ payload: { source: 'laden' } })
})

import type { BrowserContext, Page } from '@playwright/test'
import { expect, search, test } from './fixtures.ts'
import type { Shop } from './shopServer.ts'

// The device id in a cookie: of all subdomains, and set by the gateway on the shop's own host.

const UUID4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const DAY_SECONDS = 86_400

/** The address of a page on a subdomain. Browsers find every subdomain of localhost on this machine. */
const on = (name: string, address: string) => address.replace('//localhost', `//${name}.localhost`)
const didOf = (page: Page) => page.evaluate(() => track.did)
const storedIn = (page: Page) => page.evaluate(() => localStorage.getItem('track.did'))
/** The cookies with the device id, as `domain=value`. */
const cookiesOf = async (context: BrowserContext) =>
  (await context.cookies())
    .filter(({ name }) => name === 'track.did')
    .map(({ domain, value }) => `${domain}=${value}`)
/** The script's tag with the gateway on the shop's own host. */
const ownTag = (shop: Shop, attributes = '') =>
  shop.tag(attributes).replace(/src="http:\/\/[^/]+/, 'src="')

test.describe('cookieDomain', () => {
  test.use({ config: { cookieDomain: 'auto' } })

  test('subdomains share one id, and it counts for more than their own', async ({
    page,
    context,
    shop,
    expectStored,
  }) => {
    const plain = shop.page('/plain', { head: '' })
    const address = shop.page('/a')
    await page.goto(on('checkout.shop', plain))
    await page.evaluate(() =>
      localStorage.setItem('track.did', '11111111-2222-4333-8444-555555555555'),
    )
    await page.goto(on('www.shop', address))
    await search(page, 'www')
    const did = await didOf(page)
    await page.goto(on('checkout.shop', address))
    await search(page, 'checkout')
    expect(await storedIn(page)).toBe(did)
    const rows = await expectStored(['www', 'checkout'])
    expect(rows.map((row) => row.did)).toEqual([did, did])
    expect(await cookiesOf(context)).toEqual([`.shop.localhost=${did}`])
  })

  test('a reset and a refusal count for all subdomains', async ({ page, context, shop }) => {
    const address = shop.page('/a')
    await page.goto(on('www.shop', address))
    const did = await didOf(page)
    await page.evaluate(() => track.reset())
    const next = await didOf(page)
    expect(next).not.toBe(did)
    await page.goto(on('checkout.shop', address))
    expect(await didOf(page)).toBe(next)
    await page.evaluate(() => track.consent('denied'))
    expect(await cookiesOf(context)).toEqual([])
    expect(await storedIn(page)).toBeNull()
  })

  test('a host without subdomains has a cookie of its own', async ({ page, context, shop }) => {
    await page.goto(shop.page('/a'))
    const did = await didOf(page)
    expect(await cookiesOf(context)).toEqual([`localhost=${did}`])
  })
})

test.describe('firstParty', () => {
  test.use({ config: { firstParty: true } })

  test('the gateway sets a cookie that outlives storage', async ({
    page,
    context,
    shop,
    expectStored,
  }) => {
    const address = on('www.shop', shop.page('/a', { head: ownTag(shop) }))
    await page.goto(address)
    await search(page, 'first')
    const [first] = await expectStored(['first'])
    await expect.poll(() => cookiesOf(context)).toEqual([`www.shop.localhost=${first?.did}`])
    const [cookie] = await context.cookies()
    expect(cookie).toMatchObject({ httpOnly: false, secure: true, sameSite: 'Lax', path: '/' })
    const days = ((cookie?.expires ?? 0) - Date.now() / 1000) / DAY_SECONDS
    expect(Math.round(days)).toBe(400)
    await page.evaluate(() => localStorage.clear())
    await page.goto(address)
    await search(page, 'second')
    const rows = await expectStored(['first', 'second'])
    expect(rows[1]?.did).toBe(first?.did)
  })

  test('a batch sets it too, and a reset replaces it', async ({ page, context, shop, wire }) => {
    await page.goto(on('www.shop', shop.page('/a', { head: ownTag(shop) })))
    await search(page, 'a', 'b')
    const did = await didOf(page)
    await expect.poll(() => cookiesOf(context)).toEqual([`www.shop.localhost=${did}`])
    expect(wire.events.map(({ path }) => path)).toEqual(['/t/batch'])
    await page.evaluate(() => track.reset())
    const next = await didOf(page)
    expect(await cookiesOf(context)).toEqual([`www.shop.localhost=${next}`])
  })

  test('a refusal deletes it, also if an answer sets it later', async ({
    page,
    context,
    shop,
    wire,
    expectStored,
  }) => {
    await page.goto(on('www.shop', shop.page('/a', { head: ownTag(shop) })))
    // Later than the denial, also on a busy machine.
    wire.next({ slowMs: 5_000 })
    const answered = page.waitForResponse(/\/t\/r/)
    await search(page, 'first')
    await expectStored(['first'])
    await page.evaluate(() => track.consent('denied'))
    expect(await cookiesOf(context)).toEqual([])
    expect((await (await answered).headerValue('set-cookie')) ?? '').toContain('track.did=')
    await expect.poll(() => cookiesOf(context)).toEqual([])
  })

  test('a gateway on another host gets and sets no cookie', async ({
    page,
    context,
    shop,
    wire,
    expectStored,
  }) => {
    await page.goto(
      on(
        'www.shop',
        shop.page('/a', { head: `<script>document.cookie = 'a=b'</script>${shop.tag()}` }),
      ),
    )
    await search(page, 'first')
    await expectStored(['first'])
    expect(wire.events[0]?.headers.cookie).toBeUndefined()
    expect(await cookiesOf(context)).toEqual([])
  })
})

test.describe('firstParty with cookieDomain', () => {
  test.use({ config: { firstParty: true, cookieDomain: 'auto' } })

  test('there is one cookie, of all subdomains', async ({ page, context, shop, expectStored }) => {
    const address = shop.page('/a', { head: ownTag(shop) })
    for (const name of ['www', 'checkout', 'www']) {
      await page.goto(on(`${name}.shop`, address))
      await page.evaluate(() => localStorage.clear())
      await search(page, name)
      await expect.poll(async () => (await context.cookies())[0]?.secure).toBe(true)
      expect(await cookiesOf(context)).toEqual([`.shop.localhost=${await didOf(page)}`])
    }
    const rows = await expectStored(['www', 'checkout', 'www'])
    expect(rows[0]?.did).toMatch(UUID4)
    expect(new Set(rows.map(({ did }) => did)).size).toBe(1)
  })
})

test.describe('under consent', () => {
  test.use({ config: { firstParty: true, cookieDomain: 'auto', consent: 'required' } })

  test('there is no cookie before it', async ({ page, context, shop, wire, expectStored }) => {
    const written = `<script>
      written = []
      const { get, set } = Object.getOwnPropertyDescriptor(Document.prototype, 'cookie')
      Object.defineProperty(document, 'cookie', {
        get() { written.push('read'); return get.call(document) },
        set(text) { written.push(text); set.call(document, text) },
      })</script>`
    await page.goto(on('www.shop', shop.page('/a', { head: written + ownTag(shop) })))
    await search(page, 'held')
    expect(await page.evaluate('written')).toEqual([])
    expect(wire.events).toEqual([])
    await page.evaluate(() => track.consent('granted'))
    const [row] = await expectStored(['held'])
    await expect.poll(async () => (await context.cookies())[0]?.secure).toBe(true)
    expect(await cookiesOf(context)).toEqual([`.shop.localhost=${row?.did}`])
  })
})

import type { BrowserContext, Page } from '@playwright/test'
import { expect, search, test } from './fixtures.ts'

const BODY =
  '<button id="add" data-track="addToCart" data-track-product-id="12-34" data-track-variation-id="1" data-track-variation-sku="s">Add</button>'

/** The console lines of a context's pages with their levels, without the first line of debug mode. */
function listenTo(context: BrowserContext): string[] {
  const lines: string[] = []
  context.on('console', (message) => {
    const line = `${message.type()}: ${message.text()}`
    if (!/^info: track: debug mode/.test(line)) lines.push(line)
  })
  return lines
}

/** Causes two problems, after which nothing is sent. */
const fail = async (page: Page) => {
  await page.click('#add')
  await page.evaluate(
    "dataLayer.push({event:'__sm__order',number:731});track.search({search_term:''})",
  )
}

test('nothing is printed, and the inspector is not loaded, without debug mode', async ({
  page,
  shop,
  wire,
  context,
  expectStored,
}) => {
  const lines = listenTo(context)
  await page.goto(shop.page('/a', { body: BODY }))
  await fail(page)
  await search(page, 'end')
  await expectStored(['end'])
  expect(lines).toEqual([])
  expect(wire.others.map(({ path }) => path)).not.toContain('/t/i.js')
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
})

test('switched on by the address, for the tab: prints each problem once, with element, reason and fix', async ({
  page,
  shop,
  wire,
  context,
}) => {
  const lines = listenTo(context)
  shop.page('/a', { body: BODY })
  await page.goto(`${shop.url}/a?track_debug=1`)
  await expect.poll(() => wire.others.map(({ path }) => path)).toContain('/t/i.js')
  // It prints problems that occur after it has loaded.
  await expect
    .poll(async () => {
      await page.click('#add')
      return lines.length
    })
    .toBe(1)
  const [line = ''] = lines
  expect(line).toMatch(/^warning: track: addToCart was not sent \(invalid\)/)
  expect(line).toContain('at: <button id="add">')
  expect(line).toMatch(/why: .+/)
  expect(line).toMatch(/product_id: .+"12-34"/)
  expect(line).toMatch(/fix: .+/)

  await fail(page)
  await expect.poll(() => lines.length).toBe(3)
  expect(lines[1]).toMatch(
    /order was not sent \(order\)\n {2}at: \{"event":"__sm__order","number":731\}\n {2}why: .+\n {2}fix: /,
  )
  expect(lines[2]).toMatch(/search was not sent \(invalid\)/)
  // Once per problem, however often it occurs.
  await fail(page)
  await fail(page)

  // It stays on for the next page of the tab, and is off in another tab.
  await page.goto(`${shop.url}/a`)
  await expect
    .poll(async () => {
      await page.click('#add')
      return lines.length
    })
    .toBe(4)
  const other = await context.newPage()
  await other.goto(`${shop.url}/a`)
  await fail(other)
  await search(other, 'end')
  expect(await other.evaluate(() => sessionStorage.length)).toBe(0)
  expect(lines).toHaveLength(4)
})

test('a misspelled setting on the tag, and a phone number that waits, are explained', async ({
  page,
  shop,
  wire,
  context,
}) => {
  const lines = listenTo(context)
  shop.page('/a', { head: shop.tag('data-event-prefx="x"') })
  await page.goto(`${shop.url}/a?track_debug=1`)
  await expect
    .poll(() => lines.join())
    .toMatch(/data-event-prefx .+ignored[\s\S]+data-event-prefix\?/)
  await expect.poll(() => wire.others.map(({ path }) => path)).toContain('/t/i.js')
  // It prints problems that occur after it has started.
  await expect
    .poll(async () => {
      await page.evaluate("dataLayer.push({event:'__sm__set_phone',phone:'0722'})")
      return lines.join()
    })
    .toContain('set_phone is kept until set_email')
})

test('switched on by a call, and off again on the next page', async ({ page, shop, context }) => {
  const lines = listenTo(context)
  await page.goto(shop.page('/a', { body: BODY }))
  await page.evaluate(() => track.debug(true))
  await expect
    .poll(async () => {
      await page.click('#add')
      return lines.length
    })
    .toBe(1)
  await page.evaluate(() => track.debug(false))
  await page.reload()
  await fail(page)
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
  expect(lines).toHaveLength(1)
})

test('a console that calls a helper, and one that throws, do no harm', async ({
  page,
  shop,
  stored,
  expectStored,
}) => {
  const head = `<script>console.warn = (text) => { track.search({ search_term: String(text).slice(0, 15) }); throw new Error('mine') }</script>${shop.tag()}`
  shop.page('/a', { head, body: BODY })
  await page.goto(`${shop.url}/a?track_debug=1`)
  // The inspector prints problems that occur after it has started.
  await expect
    .poll(async () => {
      await page.click('#add')
      return (await stored()).length
    })
    .toBeGreaterThan(0)
  await expectStored(['track: addToCar'])
})

test('a policy that forbids the inspector does no harm', async ({
  page,
  shop,
  wire,
  watch,
  expectStored,
}) => {
  // Only the path of the script is allowed, and no inline script.
  const policy = `script-src ${wire.url}/t/j/; connect-src ${wire.url}; require-trusted-types-for 'script'`
  shop.page('/a', { body: BODY, headers: { 'content-security-policy': policy } })
  await page.goto(`${shop.url}/a?track_debug=1`)
  await fail(page)
  await search(page, 'end')
  await expectStored(['end'])
  expect(wire.others.map(({ path }) => path)).not.toContain('/t/i.js')
  // Only the browser's own line about it appears.
  for (const fault of watch.faults.splice(0)) expect(fault).toMatch(/Content.Security.Policy/i)
})

test('a nonce that allows the script allows the inspector too', async ({ page, shop, wire }) => {
  const policy = "script-src 'nonce-x'; require-trusted-types-for 'script'"
  const head = shop.tag('nonce="x"')
  shop.page('/a', { head, body: BODY, headers: { 'content-security-policy': policy } })
  await page.goto(`${shop.url}/a?track_debug=1`)
  await expect.poll(() => wire.others.map(({ path }) => path)).toContain('/t/i.js')
})

test('an inspector that can not be loaded does no harm', async ({
  page,
  shop,
  context,
  expectStored,
}) => {
  await context.route('**/t/i.js', (route) => route.abort())
  shop.page('/a', { body: BODY })
  await page.goto(`${shop.url}/a?track_debug=1`)
  await fail(page)
  await search(page, 'end')
  await expectStored(['end'])
})

test.describe('a key that requires consent', () => {
  test.use({ config: { consent: 'required' } })

  test('debug mode says that events wait, how to test, and each change', async ({
    page,
    shop,
    context,
    expectStored,
  }) => {
    const lines = listenTo(context)
    shop.page('/a')
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect.poll(() => lines.length).toBe(1)
    expect(lines[0]).toMatch(
      /nobody has answered.+\n.+Nothing is stored or sent[\s\S]+track\.consent/,
    )
    expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0)
    await search(page, 'mug')
    await expect.poll(() => lines[1]).toMatch(/search waits \(consent\)/)
    await page.evaluate(() => track.consent('granted'))
    await expect
      .poll(() => lines[2])
      .toMatch(/consent is granted\n {2}by: the answer of this visitor/)
    await expectStored(['mug'])
  })
})

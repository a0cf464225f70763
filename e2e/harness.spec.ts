import { expect, test } from './fixtures.ts'

// The assumptions of the other specs. If these tests fail, the others prove nothing.

test('the proxy can lose requests: a plain fetch does not survive its page', async ({
  page,
  shop,
  wire,
}) => {
  await page.goto(shop.page('/a', { head: '' }))
  shop.page('/b', { head: '' })
  // The request must not arrive, however long the navigation takes.
  wire.delayMs = 60_000
  await page.evaluate((base) => {
    fetch(`${base}/t/r?k=none&id=plain`, { method: 'POST', body: '{}' }).catch(() => {})
  }, wire.url)
  // Wait for the connection: before it, a navigation would leave no trace of the request.
  await expect.poll(() => wire.events.length).toBe(1)
  await page.goto(`${shop.url}/b`)
  await expect.poll(() => wire.events.map(({ outcome }) => outcome)).toEqual(['aborted'])
})

test('the proxy causes the chosen faults', async ({ page, shop, wire }) => {
  await page.goto(shop.page('/a', { head: '' }))
  const send = () =>
    page.evaluate(async (base) => {
      const request = fetch(`${base}/t/r?k=none`, { method: 'POST', body: '{}' })
      return request.then(({ status }) => status).catch(() => 0)
    }, wire.url)
  wire.next({ status: 503 }, 'lose', 'loseAnswer', { status: 500, cors: false })
  expect([await send(), await send(), await send(), await send(), await send()]).toEqual([
    503, 0, 0, 0, 404,
  ])
  await wire.down()
  expect(await send()).toBe(0)
  await wire.up()
  expect(await send()).toBe(404)
  await expect
    .poll(() => wire.events.map(({ outcome }) => outcome))
    .toEqual([503, 'lost', 'lost', 500, 404, 404])
})

test('an error in a page is detected', async ({ page, shop, watch }) => {
  await page.goto(shop.page('/a', { head: '' }))
  await page.evaluate(() => {
    setTimeout(() => {
      throw new Error('thrown')
    })
    Promise.reject(new Error('rejected'))
    console.error('logged')
  })
  await expect.poll(() => watch.faults.length).toBe(3)
  watch.faults.splice(0)
})

import { expect, search, test } from './fixtures.ts'

test('marks around a slot, in an open shadow root @both', async ({ page, shop, expectStored }) => {
  const card = `<p data-track-product-id="7"><button data-track="viewProduct"><slot></slot></button></p>`
  const body = `<x-card><i>Look</i></x-card>
    <script>document.querySelector('x-card').attachShadow({mode:'open'}).innerHTML='${card}'</script>`
  await page.goto(shop.page('/a', { body }))
  await page.click('i')
  await expectStored([{ event: 'view_product', payload: { product_id: '7' } }])
})

test('debug mode tells what is passed over: disabled, prevented, no helper @both', async ({
  page,
  shop,
  context,
  wire,
  expectStored,
}) => {
  const codes: string[] = []
  context.on('console', (message) => {
    const code = /^track: .+ was not sent \((.+)\)/.exec(message.text())?.[1]
    if (code) codes.push(code)
  })
  const body = `<a id="off" aria-disabled="true" data-track="initiateCheckout">Pay</a>
    <form data-track="search" onsubmit="return false"><input name="q" value="mug"><button>Go</button></form>
    <b data-track="constructor">Hm</b>`
  shop.page('/a', { body })
  await page.goto(`${shop.url}/a?track_debug=1`)
  await expect.poll(() => wire.others.map(({ path }) => path)).toContain('/t/i.js')
  await expect
    .poll(async () => {
      await page.click('#off', { force: true })
      return codes
    })
    .toEqual(['disabled'])
  await page.click('form button')
  await page.click('b')
  await expect.poll(() => codes).toEqual(['disabled', 'prevented', 'helper'])
  await search(page, 'end')
  await expectStored(['end'])
})

const LINE = 'data-track="viewProduct" data-track-product-id'
/** Asked for, of what the script loads by itself. */
const pathsOf = (wire: { others: readonly { readonly path: string }[] }) =>
  wire.others.map(({ path }) => path).filter((path) => path.endsWith('.js'))

test('what reports elements by their presence is loaded once, by a page that has one @both', async ({
  page,
  shop,
  wire,
  customer,
  expectStored,
}) => {
  await page.goto(shop.page('/plain', { body: '<b data-track="viewProduct">x</b>' }))
  await search(page, 'plain')
  await expectStored(['plain'])
  expect(pathsOf(wire)).toEqual([])

  const { trackingKey } = customer.another()
  const head = `${shop.tag()}${shop.tag()}${shop.tag('', trackingKey)}`
  await page.goto(shop.page('/a', { head, body: `<i ${LINE}="1" data-track-on="load"></i>` }))
  await expectStored(['plain', { event: 'view_product', payload: { product_id: '1' } }])
  await page.evaluate((line) => {
    document.body.insertAdjacentHTML('beforeend', `<i ${line}="2" data-track-on="load"></i>`)
  }, LINE)
  await expectStored(['plain', ...[1, 2].map((id) => ({ payload: { product_id: `${id}` } }))])
  expect(pathsOf(wire)).toEqual(['/t/p.js'])
})

test('a policy of nonces allows it with the script @both', async ({ page, shop, expectStored }) => {
  await page.goto(
    shop.page('/a', {
      head: shop.tag('nonce="x"'),
      body: `<i ${LINE}="1" data-track-on="load"></i>`,
      headers: {
        'content-security-policy': "script-src 'nonce-x'; require-trusted-types-for 'script'",
      },
    }),
  )
  await expectStored([{ event: 'view_product', payload: { product_id: '1' } }])
})

test('where it does not come, everything else goes on @both', async ({
  page,
  shop,
  context,
  expectStored,
}) => {
  const asked: string[] = []
  await context.route('**/t/p.js', (route) => {
    asked.push(route.request().url())
    return route.abort()
  })
  const body = `<i ${LINE}="1" data-track-on="load"></i><b ${LINE}="2">x</b>`
  await page.goto(shop.page('/a', { body }))
  await expect.poll(() => asked.length).toBeGreaterThan(0)
  await page.click('b')
  await expectStored([{ event: 'view_product', payload: { product_id: '2' } }])
})

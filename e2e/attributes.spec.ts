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

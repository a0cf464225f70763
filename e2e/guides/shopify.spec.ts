import { Liquid } from 'liquidjs'
import { search } from '../fixtures.ts'
import type { Shop } from '../shopServer.ts'
import { END, follow, line, readGuide, test, viewOf, viewProduct } from './guide.ts'

const block = readGuide('shopify')
const liquid = new Liquid()

/*
 * Pages of a theme, rendered by Liquid: the layout's head, the forms that Shopify's `form` tag makes, and a theme's
 * script that adds to the cart by a request.
 */

const ID = 8012345678901
const [BLUE, RED] = [44012345678901, 44012345678902]
const product = {
  id: ID,
  variants: [
    { id: BLUE, sku: 'MUG-"BLUE"' },
    { id: RED, sku: '' },
  ],
}

const PAGES = {
  '/': {
    values: { request: { page_type: 'index' } },
    body: `<form method="post" action="/contact#contact_form" id="contact_form">
      <input type="hidden" name="form_type" value="customer"><input type="hidden" name="utf8" value="✓">
      <input type="email" name="contact[email]"> <button>Subscribe</button></form>`,
  },
  '/products/mug': {
    values: { request: { page_type: 'product' }, product },
    body: `<product-form><form method="post" action="/cart/add" id="product-form" enctype="multipart/form-data" novalidate="novalidate" data-type="add-to-cart-form">
        <input type="hidden" name="form_type" value="product"><input type="hidden" name="utf8" value="✓">
        <input type="hidden" name="id" value="${BLUE}" class="product-variant-id">
        <button type="submit" name="add">Add to cart</button>
        <input type="hidden" name="product-id" value="${ID}"><input type="hidden" name="section-id" value="main">
      </form></product-form>
      <label>red <input type="radio"></label>
      <input type="number" name="quantity" form="product-form" value="1">
      <script>
        const form = document.querySelector('#product-form')
        document.querySelector('[type=radio]').addEventListener('change', () => { form.elements.id.value = ${RED} })
        form.addEventListener('submit', (event) => event.preventDefault())
      </script>`,
  },
  '/search': {
    values: { request: { page_type: 'search' }, search: { performed: true, terms: 'mug & "tea"' } },
    body: '<p>Results</p>',
  },
  '/cart': {
    values: { request: { page_type: 'cart' } },
    body: `<form action="/cart" method="post" id="cart"><table>REMOVE</table>
      <button type="submit" name="update">Update</button></form>`,
  },
} as const

const item = {
  product_id: ID,
  variant_id: RED,
  sku: '',
  quantity: 2,
  url_to_remove: '/cart/change?id=44012345678902:1&quantity=0',
}

function open(shop: Shop): void {
  const theme = block('theme', shop)
  for (const [path, { values, body }] of Object.entries(PAGES))
    shop.page(path, {
      head: liquid.parseAndRenderSync(theme, values),
      body: body.replace('REMOVE', liquid.parseAndRenderSync(block('remove'), { item })),
    })
  for (const path of ['/contact', '/cart/change']) shop.page(path, { head: '' })
}

test('a theme: from the home page to the checkout', async ({ page, shop, arrive }) => {
  open(shop)
  await page.goto(`${shop.url}/`)
  await arrive(viewOf(shop, '/'), { event: 'view_homepage' })
  await page.fill('[type=email]', 'ann@example.com')
  await follow(page, 'text=Subscribe', '/contact')
  await page.goto(`${shop.url}/search?q=mug`)
  await arrive(
    { event: 'set_email', payload: { email_address: 'ann@example.com' } },
    viewOf(shop, '/search?q=mug'),
    { event: 'search', payload: { search_term: 'mug & "tea"' } },
  )
  await page.goto(`${shop.url}/products/mug`)
  await arrive(viewOf(shop, '/products/mug'), viewProduct(ID))
  await page.fill('[name=quantity]', '2')
  await page.click('text=Add to cart')
  await arrive(line('add_to_cart', ID, 2, `${BLUE}`, 'MUG-"BLUE"'))
  await page.click('text=red')
  await page.click('text=Add to cart')
  await arrive(line('add_to_cart', ID, 2, `${RED}`))
  await page.goto(`${shop.url}/cart`)
  await arrive(viewOf(shop, '/cart'))
  await page.click('text=Update')
  await page.waitForLoadState()
  await arrive(viewOf(shop, '/cart'))
  await follow(page, 'text=Remove', '/cart/change?id=44012345678902:1&quantity=0')
  await page.goto(shop.page('/end', { head: shop.tag('data-page-views="off"') }))
  await search(page, 'end')
  await arrive(line('remove_from_cart', ID, 2, `${RED}`), END)
})

import { createRequire } from 'node:module'
import type { Page } from '@playwright/test'
import { search } from '../fixtures.ts'
import type { Shop } from '../shopServer.ts'
import { END, line, readGuide, test, viewOf, viewProduct } from './guide.ts'

const block = readGuide('prestashop')

// This package has no types.
const Smarty: new (text: string, options: object) => { fetch(values: object): string } =
  createRequire(import.meta.url)('jsmart')

/*
 * Pages of PrestaShop with the classic theme: Smarty renders the head, which escapes what it prints, and core.js emits
 * `updateCart` when the server has changed the cart.
 */

const PAGES = {
  '/': { page_name: 'index', body: '<p>Home</p>', values: {} },
  '/mug': {
    page_name: 'product',
    values: { product: { id: 42, id_product_attribute: 7 } },
    body: `<form action="/cart" method="post"><input type="hidden" name="id_product" value="42">
      <input type="text" name="qty" id="quantity_wanted" value="1" min="1">
      <button class="btn btn-primary add-to-cart" data-button-action="add-to-cart" type="submit">Add to cart</button></form>`,
  },
  '/search': {
    page_name: 'search',
    values: { search_string: 'mug "blue" & <tea>' },
    body: '<p>Results</p>',
  },
  '/cart': {
    page_name: 'cart',
    values: {},
    body: `<a class="remove-from-cart" rel="nofollow" href="/cart?delete=1" data-link-action="delete-from-cart"
      data-id-product="42" data-id-product-attribute="7" data-id-customization="0">delete</a>`,
  },
  '/order': { page_name: 'checkout', values: {}, body: '<p>Checkout</p>' },
} as const

const CART = {
  products: [
    { id_product: 41, id_product_attribute: 0, reference: 'TEA', cart_quantity: 1 },
    { id_product: '42', id_product_attribute: '7', reference: 'MUG-BLUE', cart_quantity: 3 },
  ],
}

/** The scripts at the end of the body. `answer` is what the server says. */
const CORE = `<script>
  const listeners = []
  prestashop.on = (name, listener) => listeners.push([name, listener])
  prestashop.emit = (name, event) => { for (const [of, listener] of listeners) if (of === name) listener(event) }
  prestashop.on('updateCart', ({ reason }) => { prestashop.cart = reason.cart })
  answer = { id_product: 42, id_product_attribute: 7, cart: ${JSON.stringify(CART)} }
  document.addEventListener('click', (event) => {
    if (event.target.matches('[data-button-action="add-to-cart"]')) {
      event.preventDefault()
      const { id_product, id_product_attribute, cart } = answer
      setTimeout(() => prestashop.emit('updateCart', {
        reason: { idProduct: id_product, idProductAttribute: id_product_attribute, linkAction: 'add-to-cart', cart },
        resp: answer,
      }), 50)
    }
    if (event.target.matches('[data-link-action="delete-from-cart"]')) {
      event.preventDefault()
      setTimeout(() => prestashop.emit('updateCart', { reason: event.target.dataset, resp: { success: true } }), 50)
    }
  })
</script>`

function open(shop: Shop): void {
  const head = new Smarty(block('head', shop), { escapeHtml: true })
  for (const [path, { page_name, values, body }] of Object.entries(PAGES))
    shop.page(path, {
      head: `<script>var prestashop = ${JSON.stringify({ cart: CART })}</script>${head.fetch({ page: { page_name }, ...values })}`,
      body: body + CORE,
    })
}

const answer = (page: Page, change: object) =>
  page.evaluate(`Object.assign(answer, ${JSON.stringify(change)})`)

test('PrestaShop: from the home page to the checkout', async ({ page, shop, arrive }) => {
  open(shop)
  await page.goto(`${shop.url}/`)
  await arrive(viewOf(shop, '/'), { event: 'view_homepage' })
  await page.goto(`${shop.url}/search?s=mug`)
  await arrive(viewOf(shop, '/search?s=mug'), {
    event: 'search',
    payload: { search_term: 'mug "blue" & <tea>' },
  })
  await page.goto(`${shop.url}/mug`)
  await arrive(viewOf(shop, '/mug'), viewProduct(42))

  await page.fill('#quantity_wanted', '2')
  await page.click('text=Add to cart')
  await arrive(line('add_to_cart', 42, 2, '7', 'MUG-BLUE'))
  // A product without combinations. And one that the server refuses.
  await answer(page, { id_product: 41, id_product_attribute: 0 })
  await page.click('text=Add to cart')
  await arrive(line('add_to_cart', 41, 2, '41', 'TEA'))
  await answer(page, { hasError: true })
  await page.click('text=Add to cart')
  await page.goto(`${shop.url}/cart`)
  await arrive(viewOf(shop, '/cart'))
  await page.click('text=delete')
  await arrive(line('remove_from_cart', 42, 3, '7', 'MUG-BLUE'))
  await page.goto(`${shop.url}/order`)
  await arrive(viewOf(shop, '/order'), { event: 'initiate_checkout' })
  await search(page, 'end')
  await arrive(END)
})

test('a module of the shop pushes the same: one event', async ({ page, shop, arrive }) => {
  open(shop)
  await page.goto(`${shop.url}/mug`)
  await page.evaluate(`prestashop.on('updateCart', () => dataLayer.push({
    product_id: '42', qty: '1', variation: { id: '7', sku: 'MUG-BLUE' }, event: '__sm__add_to_cart' }))`)
  await page.click('text=Add to cart')
  await arrive(viewOf(shop, '/mug'), viewProduct(42), line('add_to_cart', 42, 1, '7', 'MUG-BLUE'))
  await search(page, 'end')
  await arrive(END)
})

test('the newsletter, whose form a script sends', async ({ page, shop, arrive }) => {
  const send = `<script>document.querySelector('form').addEventListener('submit', (event) => event.preventDefault())</script>`
  const body = block('newsletter') + send
  await page.goto(shop.page('/', { head: shop.tag('data-page-views="off"'), body }))
  await page.fill('[name=email]', 'ann@example.com')
  await page.click('text=Subscribe')
  await arrive({ event: 'set_email', payload: { email_address: 'ann@example.com' } })
})

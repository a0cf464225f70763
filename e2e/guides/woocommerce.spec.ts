import type { Page } from '@playwright/test'
import { search } from '../fixtures.ts'
import type { Shop } from '../shopServer.ts'
import { END, expect, follow, line, readGuide, test, viewOf, viewProduct } from './guide.ts'

const block = readGuide('woocommerce')

/*
 * Pages of WooCommerce with its classic templates: the classes of the body, the forms and links that they render, and
 * what WooCommerce's scripts do with them.
 */

const VARIATIONS = [
  { variation_id: 57, sku: 'MUG-BLUE', attributes: { attribute_color: 'blue' } },
  { variation_id: 58, sku: '', attributes: { attribute_color: 'red' } },
]
const quoted = (value: object) => JSON.stringify(value).replaceAll('"', '&quot;')

const PAGES = {
  '/': {
    classes: 'home page-template-default woocommerce-page',
    body: `<form role="search" method="get" action="/results"><input type="search" name="s">
      <input type="hidden" name="post_type" value="product"></form>
      <a href="/?add-to-cart=41" data-quantity="1" class="button add_to_cart_button ajax_add_to_cart"
        data-product_id="41" data-product_sku="TEA">Add to cart</a>
      <a href="/product/mug" data-quantity="1" class="button product_type_variable add_to_cart_button"
        data-product_id="42" data-product_sku="MUG">Select options</a>
      <script>document.querySelector('.ajax_add_to_cart').addEventListener('click', (event) => event.preventDefault())</script>`,
  },
  '/results': {
    classes: 'search search-results woocommerce woocommerce-page',
    body: '<p>2 results</p>',
  },
  '/product/tea': {
    classes: 'product-template-default single single-product postid-41 woocommerce',
    body: `<form class="cart" action="/product/tea" method="post" enctype="multipart/form-data">
        <input type="number" class="input-text qty text" name="quantity" value="1" min="1">
        <button type="submit" name="add-to-cart" value="41" class="single_add_to_cart_button button">Add to cart</button>
      </form><div class="product_meta"><span class="sku_wrapper">SKU: <span class="sku"> TEA </span></span></div>`,
  },
  '/product/mug': {
    classes: 'product-template-default single single-product postid-42 woocommerce',
    body: `<form class="variations_form cart" action="/product/mug" method="post" enctype="multipart/form-data"
        data-product_id="42" data-product_variations="${quoted(VARIATIONS)}">
        <select name="attribute_color"><option value="">Choose</option><option>blue</option><option>red</option></select>
        <input type="number" class="input-text qty text" name="quantity" value="1" min="1">
        <button type="submit" class="single_add_to_cart_button button">Add to cart</button>
        <input type="hidden" name="add-to-cart" value="42"><input type="hidden" name="product_id" value="42">
        <input type="hidden" name="variation_id" class="variation_id" value="0">
      </form><div class="product_meta">SKU: <span class="sku">N/A</span></div>
      <script>
        const form = document.querySelector('.variations_form')
        form.attribute_color.addEventListener('change', ({ target: { value } }) => {
          const found = JSON.parse(form.dataset.product_variations)
            .find(({ attributes }) => attributes.attribute_color === value)
          form.variation_id.value = found ? found.variation_id : 0
        })
      </script>`,
  },
  '/cart': {
    classes: 'page woocommerce-cart woocommerce-page',
    body: `<form class="woocommerce-cart-form" action="/cart" method="post"><table><tr class="woocommerce-cart-form__cart-item cart_item">
      <td class="product-remove"><a role="button" href="/cart?remove_item=1" class="remove" data-product_id="42" data-product_sku="MUG-BLUE">&times;</a></td>
      <td class="product-quantity"><input type="number" class="input-text qty text" name="cart[1][qty]" value="3"></td>
      </tr></table><button name="update_cart">Update cart</button></form>
      <a href="/checkout" class="checkout-button">Proceed to checkout</a>`,
  },
  '/checkout': {
    classes: 'page woocommerce-checkout woocommerce-page',
    body: `<form name="checkout" method="post" class="checkout woocommerce-checkout" action="/checkout">
      <input name="billing_first_name" value="Ann"><input name="billing_last_name" value="Lee">
      <input name="billing_phone" value="+353 1 234"><input type="email" name="billing_email" value="ann@example.com">
      <button id="place_order">Place order</button></form>
      <script>document.querySelector('form').addEventListener('submit', (event) => {
        event.preventDefault()
        location.assign('/checkout/order-received')
      })</script>`,
  },
  '/checkout/order-received': {
    classes: 'page woocommerce-checkout woocommerce-page woocommerce-order-received',
    body: '<p>Thank you</p>',
  },
} as const

function open(shop: Shop, head: string, change = (html: string) => html): void {
  for (const [path, { classes, body }] of Object.entries(PAGES))
    shop.page(path, {
      head: change(head),
      // The body's classes: there is no body element in a page's parts.
      body: `<script>document.body.className = ${JSON.stringify(classes)}</script>${body}`,
    })
}

async function addMug(page: Page, color: string): Promise<void> {
  await page.selectOption('select', color)
  await page.fill('.qty', '3')
  await page.click('text=Add to cart')
}

test('WooCommerce: from the home page to an order', async ({ page, shop, arrive }) => {
  open(shop, block('tag', shop))
  await page.goto(`${shop.url}/`)
  await arrive({ event: 'view_homepage' }, viewOf(shop, '/'))
  await page.click('.ajax_add_to_cart')
  await arrive(line('add_to_cart', 41, 1, '41', 'TEA'))
  await page.fill('[name=s]', 'mug')
  await page.press('[name=s]', 'Enter')
  await page.waitForURL('**/results?s=mug&post_type=product')
  await arrive(
    { event: 'search', payload: { search_term: 'mug' } },
    viewOf(shop, '/results?s=mug&post_type=product'),
  )

  await page.goto(`${shop.url}/product/tea`)
  await arrive(viewProduct(41), viewOf(shop, '/product/tea'))
  await page.fill('.qty', '2')
  await page.click('text=Add to cart')
  await arrive(
    line('add_to_cart', 41, 2, '41', 'TEA'),
    viewProduct(41),
    viewOf(shop, '/product/tea'),
  )

  await page.goto(`${shop.url}/product/mug`)
  await arrive(viewProduct(42), viewOf(shop, '/product/mug'))
  await addMug(page, 'blue')
  await arrive(
    line('add_to_cart', 42, 3, '57', 'MUG-BLUE'),
    viewProduct(42),
    viewOf(shop, '/product/mug'),
  )
  await addMug(page, 'red')
  // This variation has no SKU.
  await arrive(line('add_to_cart', 42, 3, '58'), viewProduct(42), viewOf(shop, '/product/mug'))

  await page.goto(`${shop.url}/cart`)
  await arrive(viewOf(shop, '/cart'))
  await page.click('.remove')
  await arrive(
    line('remove_from_cart', 42, 3, '42', 'MUG-BLUE'),
    viewOf(shop, '/cart?remove_item=1'),
  )
  await follow(page, 'text=Proceed', '/checkout')
  await arrive({ event: 'initiate_checkout' }, viewOf(shop, '/checkout'))
  await follow(page, 'text=Place order', '/checkout/order-received')
  await search(page, 'end')
  await arrive(
    {
      event: 'set_email',
      payload: {
        email_address: 'ann@example.com',
        firstname: 'Ann',
        lastname: 'Lee',
        phone: '+353 1 234',
      },
    },
    viewOf(shop, '/checkout/order-received'),
    END,
  )
})

/** An optimizer that delays scripts until the visitor moves, and then runs them in order. */
const EXEMPT = /nowprocket|data-no-optimize|data-cfasync/
const delayed = (html: string) =>
  html.replaceAll(/<script([^>]*)>/g, (tag, attributes: string) =>
    EXEMPT.test(attributes)
      ? tag
      : `<script type="text/delayed"${attributes.replace(' src=', ' data-src=')}>`,
  )
const OPTIMIZER = `<script>
  addEventListener('mousedown', async () => {
    for (const kept of document.querySelectorAll('[type="text/delayed"]')) {
      const script = document.createElement('script')
      if (kept.dataset.src) script.src = kept.dataset.src
      else script.text = kept.text
      const loaded = kept.dataset.src && new Promise((done) => { script.onload = done })
      kept.replaceWith(script)
      await loaded
    }
    document.dispatchEvent(new Event('DOMContentLoaded'))
  }, { once: true })
</script>`

test('an optimizer delays other scripts, not the block', async ({ page, shop, arrive }) => {
  open(shop, block('tag', shop), (head) => OPTIMIZER + delayed(head))
  await page.goto(`${shop.url}/product/tea`)
  await arrive(viewProduct(41), viewOf(shop, '/product/tea'))
})

test('without the attributes nobody who only reads is seen', async ({
  page,
  shop,
  wire,
  arrive,
}) => {
  const plain = block('tag', shop).replaceAll(/ (data-cfasync|data-no-\w+)="\w+"| nowprocket/g, '')
  open(shop, plain, (head) => OPTIMIZER + delayed(head))
  await page.goto(`${shop.url}/product/tea`)
  expect(await page.evaluate('typeof track')).toBe('undefined')
  expect(wire.others).toEqual([])
  await page.mouse.click(5, 5)
  await arrive(viewProduct(41), viewOf(shop, '/product/tea'))
})

test('a wishlist button has attributes', async ({ page, shop, arrive }) => {
  await page.goto(
    shop.page('/', { head: shop.tag('data-page-views="off"'), body: block('wishlist') }),
  )
  await page.click('button')
  await arrive(line('add_to_wishlist', 42, 1, '57', 'MUG-BLUE'))
})

import { STUB } from '../../src/tracker/snippet.ts'
import { search } from '../fixtures.ts'
import type { Shop } from '../shopServer.ts'
import { END, expect, follow, line, readGuide, test, viewOf, viewProduct } from './guide.ts'

const block = readGuide('magento')

/*
 * Pages of Magento with the Luma theme: the classes of the body, the forms and links that its templates render. Its
 * scripts send the forms of products and handle links with data-post.
 */

const post = (data: object) =>
  JSON.stringify({ action: '/wishlist/index/add', data }).replaceAll('"', '&quot;')

const PAGES = {
  '/': {
    classes: 'cms-home cms-index-index page-layout-1column',
    body: `<form class="form minisearch" id="search_mini_form" action="/catalogsearch/result/" method="get">
        <input id="search" type="text" name="q"></form>
      <li class="item product product-item">
        <form data-role="tocart-form" data-product-sku="TEA" action="/checkout/cart/add" method="post">
          <input type="hidden" name="product" value="41"><input type="hidden" name="uenc" value="aHR0">
          <button type="submit" title="Add to Cart" class="action tocart primary"><span>Add to Cart</span></button>
        </form>
        <a href="#" data-post="${post({ product: 41, uenc: 'aHR0' })}" class="action towishlist" data-action="add-to-wishlist"><span>Wish List</span></a>
      </li>
      <form class="form subscribe" novalidate action="/newsletter/subscriber/new/" method="post" id="newsletter-validate-detail">
        <input name="email" type="email" id="newsletter"> <button class="action subscribe primary">Subscribe</button></form>`,
  },
  '/catalogsearch/result/': {
    classes: 'catalogsearch-result-index page-layout-2columns-left',
    body: '<p>Results</p>',
  },
  '/mug.html': {
    classes: 'catalog-product-view product-mug page-product-configurable',
    body: `<form data-product-sku="MUG" action="/checkout/cart/add/product/42/" method="post" id="product_addtocart_form">
        <input type="hidden" name="product" value="42"><input type="hidden" name="selected_configurable_option" value="">
        <button type="button" class="swatch-option">blue</button>
        <input type="number" name="qty" id="qty" value="1" class="input-text qty">
        <button type="submit" class="action primary tocart" id="product-addtocart-button">Add to Cart</button>
      </form>
      <script>document.querySelector('.swatch-option').addEventListener('click', () => {
        document.querySelector('[name=selected_configurable_option]').value = '57'
      })</script>`,
  },
  '/checkout/cart/': {
    classes: 'checkout-cart-index page-layout-1column',
    body: `<table>LINE</table>
      <button type="button" data-role="proceed-to-checkout" title="Proceed to Checkout" class="action primary checkout"><span>Proceed to Checkout</span></button>
      <script>document.querySelector('.checkout').addEventListener('click', () => location.assign('/checkout/'))</script>`,
  },
} as const

/** Magento's scripts: products are added by a request, and a link with data-post is sent as a form. */
const LUMA = `<script>
  for (const form of document.querySelectorAll('[data-product-sku]'))
    form.addEventListener('submit', (event) => event.preventDefault())
  for (const link of document.querySelectorAll('[data-post]'))
    link.addEventListener('click', (event) => event.preventDefault())
</script>`

function open(shop: Shop, head: string, change = (page: { head: string; body: string }) => page) {
  for (const [path, { classes, body }] of Object.entries(PAGES)) {
    const set = `<script>document.body.className = ${JSON.stringify(classes)}</script>`
    const full = set + body.replace('LINE', block('line')) + LUMA
    shop.page(path, change({ head, body: full }))
  }
}

/** The policy that Magento sends for the values of the file. */
function policyOf(xml: string): string {
  const policies = [...xml.matchAll(/<policy id="([\w-]+)">(.*?)<\/policy>/gs)]
  return policies
    .map(([, name, values = '']) => {
      const hosts = [...values.matchAll(/type="host">([^<]+)</g)].map(([, host]) => host)
      return `${name} 'self' ${hosts.join(' ')}`
    })
    .join('; ')
}

test('Magento: from the home page to the checkout', async ({ page, shop, arrive }) => {
  open(shop, block('head', shop))
  // The checkout forbids inline scripts.
  const headers = { 'content-security-policy': policyOf(block('csp', shop)) }
  shop.page('/checkout/', { head: shop.tag('async'), headers })
  shop.page('/thanks', { head: '' })

  await page.goto(`${shop.url}/`)
  await arrive({ event: 'view_homepage' }, viewOf(shop, '/'))
  await page.click('text=Add to Cart')
  await page.click('text=Wish List')
  await page.fill('#newsletter', 'ann@example.com')
  await follow(page, 'text=Subscribe', '/thanks')
  await arrive(line('add_to_cart', 41, 1, '41', 'TEA'), line('add_to_wishlist', 41), {
    event: 'set_email',
    payload: { email_address: 'ann@example.com' },
  })
  await page.goto(`${shop.url}/catalogsearch/result/?q=mug`)
  await arrive(
    { event: 'search', payload: { search_term: 'mug' } },
    viewOf(shop, '/catalogsearch/result/?q=mug'),
  )
  await page.goto(`${shop.url}/mug.html`)
  await arrive(viewProduct(42), viewOf(shop, '/mug.html'))
  await page.click('text=blue')
  await page.fill('#qty', '2')
  await page.click('text=Add to Cart')
  await arrive(line('add_to_cart', 42, 2, '57', 'MUG'))
  await page.goto(`${shop.url}/checkout/cart/`)
  await arrive(viewOf(shop, '/checkout/cart/'))
  await page.click('text=Remove item')
  await follow(page, 'text=Proceed', '/checkout/')
  await arrive(
    line('remove_from_cart', 42, 2, '42', 'MUG-BLUE'),
    { event: 'initiate_checkout' },
    viewOf(shop, '/checkout/'),
  )
})

test('Magento moves the block to the end of the page', async ({ page, shop, arrive }) => {
  open(shop, block('head', shop), ({ head, body }) => ({ head: '', body: body + head }))
  await page.goto(`${shop.url}/mug.html`)
  await arrive(viewProduct(42), viewOf(shop, '/mug.html'))
  await page.click('text=Add to Cart')
  await search(page, 'end')
  await arrive(line('add_to_cart', 42, 1, '42', 'MUG'), END)
})

test('the checkout’s policy forbids the inline block, and the tag runs', async ({
  page,
  shop,
  watch,
  arrive,
}) => {
  const headers = { 'content-security-policy': policyOf(block('csp', shop)) }
  await page.goto(shop.page('/checkout/', { head: block('head', shop), headers }))
  await arrive(viewOf(shop, '/checkout/'))
  const lines = watch.faults.splice(0)
  // The stub and the block.
  expect(lines).toHaveLength(2)
  for (const text of lines) expect(text).toContain('Content Security Policy')
  expect(block('head')).toContain(STUB)
})

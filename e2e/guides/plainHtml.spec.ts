import { search } from '../fixtures.ts'
import { END, follow, line, readGuide, test, viewOf, viewProduct } from './guide.ts'

const block = readGuide('plain-html')

test('plain HTML: the tag, the attributes and a call of the page', async ({
  page,
  shop,
  arrive,
}) => {
  const head = block('tag', shop)
  const controls = block('controls')
  shop.page('/p/12', { head, body: block('product') + controls })
  shop.page('/cart', { head, body: block('line') })
  for (const path of ['/thanks', '/search', '/checkout']) shop.page(path, { head, body: controls })
  await page.goto(shop.page('/', { head, body: block('home') + controls }))
  // The file for `load` elements reports the home page after the page view.
  await arrive(viewOf(shop, '/'), { event: 'view_homepage' })

  await page.goto(`${shop.url}/p/12`)
  await arrive(viewOf(shop, '/p/12'), viewProduct(12))
  await page.click('text=Remember')
  await page.fill('[name=quantity]', '3')
  await follow(page, 'text=Add to cart', '/cart')
  await follow(page, 'text=Remove', '/thanks')
  await page.fill('[name=q]', 'mug')
  await page.press('[name=q]', 'Enter')
  await page.waitForURL('**/search?q=mug')
  await page.fill('[name=email]', 'ann@example.com')
  await follow(page, 'text=Subscribe', '/thanks')
  await follow(page, 'text=Checkout', '/checkout')
  await page.goto(shop.page('/quiz', { head: block('own') + head }))
  await search(page, 'end')

  await arrive(
    line('add_to_wishlist', 12, 1, '12-1', 'MUG-BLUE'),
    line('add_to_cart', 12, 3, '12-1', 'MUG-BLUE'),
    viewOf(shop, '/cart'),
    line('remove_from_cart', 12, 2, '12-1', 'MUG-BLUE'),
    viewOf(shop, '/thanks'),
    { event: 'search', payload: { search_term: 'mug' } },
    viewOf(shop, '/search?q=mug'),
    { event: 'set_email', payload: { email_address: 'ann@example.com' } },
    viewOf(shop, '/thanks'),
    { event: 'initiate_checkout' },
    viewOf(shop, '/checkout'),
    { event: 'quiz_done', payload: { email: 'ann@example.com' } },
    viewOf(shop, '/quiz'),
    END,
  )
})

test('a form that a script sends: prevented, or by form.submit()', async ({
  page,
  shop,
  arrive,
}) => {
  const send = `<script>for (const form of document.querySelectorAll('form'))
    form.addEventListener('submit', (event) => event.preventDefault())</script>`
  const product = block('product')
  const counted = product.replace('data-track="addToCart"', '$& data-track-prevented="count"')
  const head = shop.tag('data-page-views="off"')
  for (const body of [product, counted]) {
    await page.goto(shop.page('/p/12', { head, body: body + send }))
    await page.click('text=Add to cart')
  }
  await search(page, 'end')
  await arrive(
    viewProduct(12),
    viewProduct(12),
    line('add_to_cart', 12, 1, '12-1', 'MUG-BLUE'),
    END,
  )
})

import { STUB } from '../../src/tracker/snippet.ts'
import { search } from '../fixtures.ts'
import { END, expect, line, readGuide, settingsOf, test, viewOf, viewProduct } from './guide.ts'

const block = readGuide('another-tracker')

test('beside another script: its plugin’s pushes and its cookie', async ({
  page,
  shop,
  arrive,
}) => {
  const did = '11111111-2222-4333-8444-555555555555'
  const head = `<script>
      document.cookie = '__sm__c=' + JSON.stringify({ did: '${did}', k: 'ABCDEFGH' })
      dataLayer = [{ event: '__sm__view_product', product_id: 12 }]
    </script>${block('tag', shop)}`
  await page.goto(shop.page('/p/12', { head }))
  await arrive({ ...viewOf(shop, '/p/12'), did }, { ...viewProduct(12), did })
})

test('pushes for Google Analytics, and the id of another cookie', async ({
  page,
  shop,
  customer,
  arriveAt,
}) => {
  const config = { ...settingsOf(block('ga4')), ...settingsOf(block('adopt')) }
  const own = customer.another(config)
  const did = 'a0e6f1d2-visitor'
  const head = `<script>
      document.cookie = 'ajs_anonymous_id=${did}'
      window.dataLayer = []; function gtag() { dataLayer.push(arguments) }
      gtag('event', 'add_to_cart', { items: [{ item_id: '12', quantity: 2 }] })
    </script>${shop.tag('', own.trackingKey)}`
  await page.goto(shop.page('/p/12', { head }))
  await arriveAt(own)({ ...line('add_to_cart', 12, 2), did })
})

test('calls of another tracker are passed on, and reach it too', async ({ page, shop, arrive }) => {
  const analytics = `<script>
    calls = []
    analytics = { track(...call) { calls.push(call.length); return this === analytics } }
  </script>`
  const head = `${analytics}<script>${STUB}</script>${block('calls')}
    ${shop.tag('async data-page-views="off"')}`
  await page.goto(shop.page('/', { head }))
  const answers = await page.evaluate(`[
    analytics.track('Product Viewed', { product_id: '12', sku: 'MUG', price: 7 }),
    analytics.track('Products Searched', { query: 'mug' }),
    analytics.track('Product Added', { product_id: '12', variant: '12-1', sku: 'MUG-BLUE', quantity: 2 }),
    analytics.track('Product Removed', { product_id: 12 }),
    analytics.track('Product Added to Wishlist', { product_id: 12, sku: 'MUG' }),
    analytics.track('Checkout Started', {}),
    analytics.track('Order Completed', { order_id: 7 }),
    analytics.track('Page Viewed')
  ]`)
  expect(answers).toEqual(Array(8).fill(true))
  expect(await page.evaluate('calls')).toEqual([2, 2, 2, 2, 2, 2, 2, 1])
  await search(page, 'end')
  await arrive(
    viewProduct(12),
    { event: 'search', payload: { search_term: 'mug' } },
    line('add_to_cart', 12, 2, '12-1', 'MUG-BLUE'),
    line('remove_from_cart', 12),
    line('add_to_wishlist', 12, 1, '12', 'MUG'),
    { event: 'initiate_checkout' },
    END,
  )
})

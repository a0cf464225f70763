import type { Page } from '@playwright/test'
import { search } from '../fixtures.ts'
import type { Shop } from '../shopServer.ts'
import { bundle } from './bundle.ts'
import { END, expect, line, readGuide, test, viewOf, viewProduct } from './guide.ts'

const block = readGuide('react')

const MODULES = {
  './product.tsx': block('product'),
  './handler.tsx': block('handler'),
  './effect.tsx': block('effect'),
}

/** A shop with the guide's components: a list, two products, and a checkout whose effects are counted. */
const SHOP = `
  import { useEffect } from 'react'
  import { createBrowserRouter, Link, Outlet, RouterProvider, useParams } from 'react-router'
  import { Product } from './product.tsx'
  import { Remember } from './handler.tsx'
  import { useCheckout } from './effect.tsx'

  window.added = []
  window.effects = 0
  const Frame = () => <>
    <nav>{['/', '/p/12', '/p/15', '/checkout'].map((to) => <Link key={to} to={to}>{to}</Link>)}</nav>
    <Outlet />
  </>
  const Page = () => {
    const id = Number(useParams().id)
    const product = { id, variation: { id: id + '-1', sku: 'SKU-' + id } }
    return <><Product product={product} addToCart={(quantity) => added.push(quantity)} /><Remember product={product} /></>
  }
  const Checkout = () => {
    useCheckout('order-1')
    useEffect(() => { effects++ }, [])
    return <h1>Checkout</h1>
  }
  const routes = [{ path: '/', element: <Frame />, children: [
    { path: 'p/:id', element: <Page /> }, { path: 'checkout', element: <Checkout /> },
  ] }]
  const router = createBrowserRouter(routes)
  export const App = () => <RouterProvider router={router} />`

const MAIN = `
  import { StrictMode } from 'react'
  import { createRoot } from 'react-dom/client'
  import { App } from './shop.tsx'
  createRoot(document.querySelector('#app')).render(<StrictMode><App /></StrictMode>)`

async function go(page: Page, shop: Shop, to: string): Promise<void> {
  await page.getByRole('link', { name: to, exact: true }).click()
  await page.waitForURL(shop.url + to)
}

for (const mode of ['production', 'development'] as const)
  test(`React in StrictMode, the ${mode} build: everything once`, async ({
    page,
    shop,
    arrive,
  }) => {
    const code = await bundle({ ...MODULES, './shop.tsx': SHOP, './main.tsx': MAIN }, mode)
    const app = shop.file('/app.js', 'text/javascript', code)
    const body = `<div id="app"></div><script src="${app}"></script>`
    await page.goto(shop.page('/', { head: block('tag', shop), body }))
    await arrive(viewOf(shop, '/'))
    await go(page, shop, '/p/12')
    await arrive(viewOf(shop, '/p/12'), viewProduct(12))
    // The same component with another product; and the first one again.
    await go(page, shop, '/p/15')
    await arrive(viewOf(shop, '/p/15'), viewProduct(15))
    await go(page, shop, '/p/12')
    await arrive(viewOf(shop, '/p/12'), viewProduct(12))
    await page.fill('[name=quantity]', '3')
    await page.click('text=Add to cart')
    await page.click('text=Remember')
    await arrive(
      line('add_to_cart', 12, 3, '12-1', 'SKU-12'),
      line('add_to_wishlist', 12, 1, '12-1', 'SKU-12'),
    )
    expect(await page.evaluate('added')).toEqual([3])
    await go(page, shop, '/checkout')
    await arrive(viewOf(shop, '/checkout'), { event: 'initiate_checkout' })
    expect(await page.evaluate('effects')).toBe(mode === 'development' ? 2 : 1)
    await search(page, 'end')
    await arrive(END)
  })

test('the tracker in the app’s own bundle, in StrictMode: everything once, and no global', async ({
  page,
  shop,
  customer,
  arrive,
}) => {
  const track = block('tracker', shop).replace('YOURKEY', customer.trackingKey)
  const own = (name: string) => `import { track } from './track.ts'\n${block(name)}`
  const files = {
    './track.ts': track,
    './product.tsx': block('product'),
    './handler.tsx': own('handler'),
    './effect.tsx': own('effect'),
    './shop.tsx': SHOP,
    './main.tsx': `import './track.ts'\n${MAIN}`,
  }
  const app = shop.file('/app.js', 'text/javascript', await bundle(files, 'development'))
  const headers = {
    'content-security-policy': `script-src ${shop.url} ${new URL(shop.script()).origin}/t/p.js`,
  }
  const body = `<div id="app"></div><script src="${app}"></script>`
  await page.goto(shop.page('/', { head: '', body, headers }))
  await arrive(viewOf(shop, '/'))
  await go(page, shop, '/p/12')
  await arrive(viewOf(shop, '/p/12'), viewProduct(12))
  await page.click('text=Add to cart')
  await page.click('text=Remember')
  await go(page, shop, '/checkout')
  await arrive(
    line('add_to_cart', 12, 1, '12-1', 'SKU-12'),
    line('add_to_wishlist', 12, 1, '12-1', 'SKU-12'),
    viewOf(shop, '/checkout'),
    { event: 'initiate_checkout' },
  )
  expect(await page.evaluate('[effects, typeof track]')).toEqual([2, 'undefined'])
})

test('an effect that remembers nothing reports twice in development, before the script has loaded', async ({
  page,
  shop,
  arrive,
}) => {
  const plain = block('effect').replace(/ +if \(reported.*\n/, '')
  expect(plain).not.toBe(block('effect'))
  const files = { ...MODULES, './shop.tsx': SHOP, './main.tsx': MAIN }
  const apps = { plain: { ...files, './effect.tsx': plain }, remembers: files }
  const [stub = ''] = block('tag').split('\n')
  const once = { event: 'initiate_checkout' }
  for (const [name, app] of Object.entries(apps))
    for (const isEarly of [false, true]) {
      const src = shop.file('/app.js', 'text/javascript', await bundle(app, 'development'))
      const tag = shop.tag('data-page-views="off"')
      const head = isEarly ? stub : tag
      const body = `<div id="app"></div><script src="${src}"></script>`
      await page.goto(shop.page('/checkout', { head, body }))
      await expect.poll(() => page.evaluate('effects')).toBe(2)
      if (isEarly)
        await page.evaluate(`document.head.append(document.createRange()
        .createContextualFragment('${tag.replace('</', '<\\/')}'))`)
      await arrive(once, ...(isEarly && name === 'plain' ? [once] : []))
      await search(page, 'end')
      await arrive(END)
    }
})

/** What a framework does with a layout: HTML on the server, and hydration of the whole document in the page. */
const LAYOUT = `
  import { StrictMode } from 'react'
  import RootLayout from './layout.tsx'
  export const Document = ({ src }) => <StrictMode><RootLayout>
    <main data-track="viewProduct" data-track-on="load" data-track-product-id="12">Mug</main>
    <script src={src} defer />
  </RootLayout></StrictMode>`
const SERVER = `
  import { renderToString } from 'react-dom/server.browser'
  import { Document } from './document.tsx'
  window.rendered = renderToString(<Document src="/app.js" />)`
const HYDRATE = `
  import { hydrateRoot } from 'react-dom/client'
  import { Document } from './document.tsx'
  hydrateRoot(document, <Document src="/app.js" />)
  track.search({ search_term: 'hydrated' })`

for (const mode of ['production', 'development'] as const)
  test(`a layout that the server renders and React hydrates, the ${mode} build`, async ({
    page,
    shop,
    arrive,
  }) => {
    const files = { './layout.tsx': block('layout', shop), './document.tsx': LAYOUT }
    shop.file('/app.js', 'text/javascript', await bundle({ ...files, './main.tsx': HYDRATE }, mode))
    // React's server build runs in any page; its HTML is then served.
    const server = await bundle({ ...files, './main.tsx': SERVER }, mode)
    await page.goto(shop.page('/server', { head: '' }))
    await page.evaluate(server)
    const html: string = await page.evaluate('rendered')
    shop.file('/p/12', 'text/html', `<!doctype html>${html}`)
    await page.goto(`${shop.url}/p/12`)
    await arrive(viewOf(shop, '/p/12'), viewProduct(12), {
      event: 'search',
      payload: { search_term: 'hydrated' },
    })
    expect(await page.locator('script[async]').count()).toBe(1)
    await search(page, 'end')
    await arrive(END)
  })

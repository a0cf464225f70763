import type { Page } from '@playwright/test'
import { search } from '../fixtures.ts'
import type { Shop } from '../shopServer.ts'
import { bundle } from './bundle.ts'
import { END, expect, line, readGuide, test, viewOf, viewProduct } from './guide.ts'

const block = readGuide('vue')

/** A shop with the guide's components: a list and two products, which Vue keeps alive. */
const SHOP = `
  import { h, KeepAlive } from 'vue'
  import { createMemoryHistory, createRouter, createWebHashHistory, createWebHistory, RouterLink, RouterView, useRoute } from 'vue-router'
  import Product from './product.vue'
  import Remember from './handler.vue'
  const Page = { setup() {
    const route = useRoute()
    return () => {
      const id = Number(route.params.id)
      const product = { id, variation: { id: id + '-1', sku: 'SKU-' + id } }
      return id ? [h(Product, { product, onAdd: (quantity) => added.push(quantity) }), h(Remember, { product })] : []
    }
  } }
  export const App = { render: () => [
    h('nav', ['/', '/p/12', '/p/15'].map((to) => h(RouterLink, { to }, () => to))),
    h(RouterView, null, { default: ({ Component, route }) => [h(KeepAlive, () => Component && h(Component, { key: route.path }))] }),
  ] }
  const histories = { path: createWebHistory, hash: createWebHashHistory, memory: createMemoryHistory }
  export const makeRouter = (kind) => createRouter({ history: histories[kind](), routes: [
    { path: '/', component: { render: () => h('h1', 'Home') } }, { path: '/p/:id', component: Page },
  ] })`

const main = (kind: string, create = 'createApp') => `
  import { ${create} } from 'vue'
  import { App, makeRouter } from './shop.tsx'
  window.added = []
  const router = makeRouter('${kind}')
  router.isReady().then(() => ${create}(App).use(router).mount('#app'))
  router.push(location.${kind === 'hash' ? 'hash.slice(1) || "/"' : 'pathname'})`

const SERVER = `
  import { createSSRApp } from 'vue'
  import { renderToString } from 'vue/server-renderer'
  import { App, makeRouter } from './shop.tsx'
  window.added = []
  const router = makeRouter('memory')
  router.push('/p/12').then(() => renderToString(createSSRApp(App).use(router))).then((html) => { window.rendered = html })`

const FILES = {
  './product.vue': block('product'),
  './handler.vue': block('handler'),
  './shop.tsx': SHOP,
}

const go = (page: Page, to: string) => page.getByRole('link', { name: to, exact: true }).click()

async function serve(shop: Shop, path: string, head: string, entry: string, html = '') {
  const code = await bundle({ ...FILES, './main.tsx': entry })
  const app = shop.file('/app.js', 'text/javascript', code)
  return shop.page(path, {
    head,
    body: `<div id="app">${html}</div><script src="${app}"></script>`,
  })
}

test('Vue: pages of the router, attributes and a handler', async ({ page, shop, arrive }) => {
  await page.goto(await serve(shop, '/', block('tag', shop), main('path')))
  await arrive(viewOf(shop, '/'))
  await go(page, '/p/12')
  await arrive(viewOf(shop, '/p/12'), viewProduct(12))
  await go(page, '/p/15')
  await arrive(viewOf(shop, '/p/15'), viewProduct(15))
  // Kept alive: shown again, not made anew.
  await go(page, '/p/12')
  await arrive(viewOf(shop, '/p/12'), viewProduct(12))
  await page.fill('[name=quantity]', '3')
  await page.click('text=Add to cart')
  await page.click('text=Remember')
  await search(page, 'end')
  await arrive(
    line('add_to_cart', 12, 3, '12-1', 'SKU-12'),
    line('add_to_wishlist', 12, 1, '12-1', 'SKU-12'),
    END,
  )
  expect(await page.evaluate('added')).toEqual([3])
})

test('the tracker in the app’s own bundle', async ({ page, shop, customer, arrive }) => {
  const files = {
    ...FILES,
    './track.ts': block('tracker', shop).replace('YOURKEY', customer.trackingKey),
    './handler.vue': block('handler')
      .replace('<script setup lang="ts">', "$&\nimport { track } from './track.ts'")
      .replace('window.track', 'track'),
    './main.tsx': `import './track.ts'\n${main('path')}`,
  }
  const app = shop.file('/app.js', 'text/javascript', await bundle(files))
  const body = `<div id="app"></div><script src="${app}"></script>`
  await page.goto(shop.page('/', { head: '', body }))
  await arrive(viewOf(shop, '/'))
  await go(page, '/p/12')
  await arrive(viewOf(shop, '/p/12'), viewProduct(12))
  await page.click('text=Remember')
  await page.click('text=Add to cart')
  await arrive(
    line('add_to_wishlist', 12, 1, '12-1', 'SKU-12'),
    line('add_to_cart', 12, 1, '12-1', 'SKU-12'),
  )
  expect(await page.evaluate('typeof track')).toBe('undefined')
})

test('a router with paths in the fragment', async ({ page, shop, customer, arriveAt }) => {
  const own = customer.another({ pageViews: 'all', pageViewHash: true })
  const arrive = arriveAt(own)
  await page.goto(await serve(shop, '/shop', shop.tag('', own.trackingKey), main('hash')))
  await arrive(viewOf(shop, '/shop'))
  await go(page, '/p/12')
  await arrive(viewOf(shop, '/shop#/p/12'), viewProduct(12))
})

test('Nuxt: the head of its configuration, and an app that Vue hydrates', async ({
  page,
  shop,
  arrive,
}) => {
  type Entry = { readonly innerHTML?: string; readonly src?: string; readonly async?: boolean }
  type Config = { readonly app: { readonly head: { readonly script: readonly Entry[] } } }
  const code = block('nuxt', shop).replace('export default', 'return')
  const config: Config = new Function('defineNuxtConfig', code)((given: Config) => given)
  // A head manager writes each entry as an element.
  const head = config.app.head.script
    .map(({ innerHTML = '', src, async }) =>
      src
        ? `<script src="${src}"${async ? ' async' : ''}></script>`
        : `<script>${innerHTML}</script>`,
    )
    .join('')

  await page.goto(shop.page('/server', { head: '' }))
  await page.evaluate(await bundle({ ...FILES, './main.tsx': SERVER }))
  const html = await page.waitForFunction('window.rendered')
  const hydrate = main('path', 'createSSRApp')
  await page.goto(await serve(shop, '/p/12', head, hydrate, `${await html.jsonValue()}`))
  await arrive(viewOf(shop, '/p/12'), viewProduct(12))
  await page.click('text=Remember')
  await go(page, '/p/15')
  await arrive(
    line('add_to_wishlist', 12, 1, '12-1', 'SKU-12'),
    viewOf(shop, '/p/15'),
    viewProduct(15),
  )
  await search(page, 'end')
  await arrive(END)
})

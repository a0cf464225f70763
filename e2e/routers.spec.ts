import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'
import { build } from 'esbuild'
import { expect, search, stopClock, test } from './fixtures.ts'
import type { Shop } from './shopServer.ts'

/*
 * Page views with the routers that shops use, in their published form: Turbo, React Router and Vue Router, on small
 * pages.
 */

test.use({ config: { pageViews: 'all' } })

const folder = fileURLToPath(new URL('.', import.meta.url))

const bundles = new Map<string, Promise<string>>()
/** Bundles a page's script with the packages it imports, once per worker. */
function bundle(contents: string): Promise<string> {
  const made = bundles.get(contents) ?? make(contents)
  bundles.set(contents, made)
  return made
}

async function make(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: folder },
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    logLevel: 'error',
    define: {
      'process.env.NODE_ENV': '"production"',
      __VUE_OPTIONS_API__: 'true',
      __VUE_PROD_DEVTOOLS__: 'false',
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
    },
  })
  return outputFiles[0]?.text ?? ''
}

const REACT = `
  import { createElement as h } from 'react'
  import { createRoot } from 'react-dom/client'
  import { createBrowserRouter, Link, Navigate, Outlet, redirect, RouterProvider } from 'react-router'
  const link = (to) => h(Link, { to, key: to }, to)
  const Shop = () => h('main', {}, ['/', '/p/1', '/p/1?color=red', '/old', '/moved'].map(link), h(Outlet))
  const page = (path) => ({ path, element: h('h1', {}, path) })
  const router = createBrowserRouter([
    { path: '/', element: h(Shop), children: [
      page('p/:id'), page('new'),
      { path: 'old', element: h(Navigate, { to: '/new', replace: true }) },
      { path: 'moved', loader: () => redirect('/new') },
    ] },
  ])
  createRoot(document.querySelector('#app')).render(h(RouterProvider, { router }))`

const vue = (history: string) => `
  import { createApp, h } from 'vue'
  import { createRouter, ${history}, RouterLink, RouterView } from 'vue-router'
  const page = (path) => ({ path, component: { render: () => h('h1', path) } })
  const router = createRouter({ history: ${history}(), routes: [
    page('/'), page('/p/:id'), page('/new'),
    { path: '/old', component: {}, beforeEnter: () => ({ path: '/new', replace: true }) },
    { path: '/moved', redirect: '/new' },
  ] })
  createApp({ render: () => [
    ...['/', '/p/1', '/p/1?color=red', '/old', '/moved'].map((to) => h(RouterLink, { to }, () => to)),
    h(RouterView),
  ] }).use(router).mount('#app')`

/** Longer than the script waits for a redirect, ms. */
const SETTLE_MS = 300
const settle = (page: Page) =>
  page.evaluate((ms) => new Promise((done) => setTimeout(done, ms)), SETTLE_MS)

const viewOf = (shop: Shop) => (path: string) => ({
  operation: 'viewHomepage',
  event: 'view_page',
  payload: { url: shop.url + path },
})

/**
 * A visitor follows links and goes back, then leaves the pages of the router.
 *
 * @param pass Lets SETTLE_MS pass on the page.
 */
async function walk(
  page: Page,
  shop: Shop,
  pass: () => Promise<unknown>,
  prefix = '',
): Promise<void> {
  const go = async (link: string, to = link) => {
    await page.getByRole('link', { name: link, exact: true }).click()
    await page.waitForURL(shop.url + prefix + to)
    await pass()
  }
  await pass()
  await go('/p/1')
  await go('/p/1?color=red')
  await go('/old', '/new')
  await go('/')
  await go('/moved', '/new')
  await page.evaluate('history.back()')
  await page.waitForURL(`${shop.url}${prefix}/`)
  await pass()
  await page.goto(shop.page('/end', { head: shop.tag('data-page-views="off"') }))
  await search(page, 'end')
}
const WALKED = ['/', '/p/1', '/new', '/', '/new', '/']

/** With the Navigation API, and without it, so that the script wraps history. */
const WAYS: { readonly [way: string]: string } = {
  'by the Navigation API': '',
  'by wrapping history': '<script>delete window.navigation</script>',
}

for (const [name, program] of [
  ['React Router', REACT],
  ['Vue Router', vue('createWebHistory')],
] as const)
  for (const [way, before] of Object.entries(WAYS))
    test(`${name}: each page is counted once, a redirect with its last address, ${way}`, async ({
      page,
      shop,
      expectStored,
    }) => {
      // A redirect of the router takes no time, however busy the machine is.
      const clock = await stopClock(page)
      const app = shop.file('/app.js', 'text/javascript', await bundle(program))
      const body = `<div id="app"></div><script src="${app}"></script>`
      await page.goto(shop.page('/', { head: before + shop.tag('async'), body }))
      await walk(page, shop, () => clock.pass(SETTLE_MS))
      await expectStored([...WALKED.map(viewOf(shop)), 'end'])
    })

test('Vue Router with paths in the fragment: counted if the key’s settings say so', async ({
  page,
  customer,
  shop,
  expectStored,
}) => {
  const hash = customer.another({ pageViews: 'all', pageViewHash: true })
  const app = shop.file('/app.js', 'text/javascript', await bundle(vue('createWebHashHistory')))
  const tags = shop.tag() + shop.tag('', hash.trackingKey)
  const body = `<div id="app"></div><script src="${app}"></script>`
  await page.goto(shop.page('/shop', { head: tags, body }))
  await walk(page, shop, () => settle(page), '/shop#')
  await expectStored([viewOf(shop)('/shop'), 'end'])
  const view = viewOf(shop)
  await page.goto(shop.page('/end', { head: shop.tag('data-page-views="off"', hash.trackingKey) }))
  // Not further pages: the home path that the router writes after the load, and a query in the fragment.
  await expectStored(
    ['', '#/p/1', '#/new', '#/', '#/new', '#/'].map((at) => view(`/shop${at}`)),
    { customer: hash },
  )
})

for (const [way, before] of Object.entries(WAYS))
  test(`Turbo: bodies are swapped and their scripts run again, ${way}`, async ({
    page,
    shop,
    expectStored,
  }) => {
    const view = viewOf(shop)
    const app = shop.file('/turbo.js', 'text/javascript', await bundle("import '@hotwired/turbo'"))
    const head = `${before}<script src="${app}"></script>`
    // The script's tag is in the body, where Turbo runs it on each visit, previews included.
    const body = `<a href="/a">a</a><a href="/b">b</a><a href="#part">part</a>
      <button data-track="addToCart" data-track-product-id="7">Add</button>${shop.tag()}`
    shop.page('/b', { head, body })
    await page.goto(shop.page('/a', { head, body }))
    const go = async (link: string, to: string) => {
      await page.click(`text="${link}"`)
      await page.waitForURL(to)
      await page.waitForFunction('!document.documentElement.hasAttribute("data-turbo-preview")')
      await settle(page)
    }
    await settle(page)
    await go('b', '**/b')
    await go('a', '**/a')
    await go('b', '**/b')
    await go('part', '**/b#part')
    await page.click('button')
    await page.evaluate('history.go(-2)')
    await page.waitForURL('**/a')
    await settle(page)
    expect(await page.evaluate("performance.getEntriesByType('navigation').length")).toBe(1)
    await page.goto(shop.page('/end', { head: shop.tag('data-page-views="off"') }))
    await search(page, 'end')
    await expectStored([
      ...['/a', '/b', '/a', '/b'].map(view),
      { operation: 'addToCart', payload: { product_id: 7 } },
      view('/a'),
      'end',
    ])
  })

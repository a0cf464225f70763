import type { Page } from '@playwright/test'
import { expect, search, test } from './fixtures.ts'
import type { Shop } from './shopServer.ts'

test.use({ config: { pageViews: 'all' } })

/** Longer than the script waits for a redirect of a router, ms. */
const SETTLE_MS = 300

/**
 * The two ways in which the script detects a new address. Deleting `window.navigation` makes a browser without the
 * Navigation API.
 */
const WAYS: { readonly [way: string]: string } = {
  'by the Navigation API': '',
  'by wrapping history': '<script>delete window.navigation</script>',
}

/** The stored page view of a path of the shop. */
const viewOf = (shop: Shop) => (path: string) => ({
  operation: 'viewHomepage',
  event: 'view_page',
  payload: { url: shop.url + path },
})

/** Opens a page without page views and reports a search, so that the test knows that all earlier events have arrived. */
async function end(page: Page, shop: Shop, key?: string): Promise<void> {
  await page.goto(shop.page('/end', { head: shop.tag('data-page-views="off"', key) }))
  await search(page, 'end')
}

/** Changes the address, and waits until the script has settled on the page. */
const change = (page: Page, act: string, ms = SETTLE_MS) =>
  page.evaluate(`(()=>{${act}})();new Promise(done=>setTimeout(done,${ms}))`)

for (const [way, before] of Object.entries(WAYS)) {
  test(`loads, pushes, replaces, back: each page once, ${way} @both`, async ({
    page,
    shop,
    expectStored,
  }) => {
    const view = viewOf(shop)
    const head = before + shop.tag()
    await page.goto(shop.page('/a', { head }))
    await change(page, "history.pushState({},'','/b')")
    await change(page, "history.replaceState({},'','/c?x=1')")
    // Not a new page: changes of query, fragment and state.
    await change(
      page,
      "history.pushState({},'','/c?x=2');location.hash='#top';history.replaceState({n:1},'')",
    )
    await page.evaluate('history.go(-2)')
    await page.waitForURL('**/c?x=1')
    await change(page, '')
    // Back to the loaded entry, in the same document.
    await page.evaluate('history.back()')
    await page.waitForURL('**/a')
    await change(page, '')
    // A page that is left before the script has settled on it.
    await change(page, "history.pushState({},'','/late')", 0)
    await end(page, shop)
    await expectStored([...['/a', '/b', '/c?x=1', '/a', '/late'].map(view), 'end'])
  })

  test(`a redirect counts once, with the final address, ${way}`, async ({
    page,
    shop,
    expectStored,
  }) => {
    const view = viewOf(shop)
    await page.goto(shop.page('/a', { head: before + shop.tag() }))
    await change(page, "history.pushState({},'','/b');history.replaceState({},'','/c')")
    await change(
      page,
      `history.pushState({},'','/d')
       setTimeout(()=>history.replaceState({},'','/e'),20)
       setTimeout(()=>history.replaceState({},'','/f'),60)`,
    )
    // To another page and back at once: still the same page.
    await change(page, "history.pushState({},'','/x');history.replaceState({},'','/f')")
    // A redirect that pushes leaves two pages in the history.
    await change(page, "history.pushState({},'','/g');history.pushState({},'','/h')")
    await end(page, shop)
    await expectStored([...['/a', '/c', '/f', '/g', '/h'].map(view), 'end'])
  })

  test(`the loaded page corrects its own address: one view, ${way}`, async ({
    page,
    shop,
    expectStored,
  }) => {
    const view = viewOf(shop)
    const head = before + shop.tag()
    const body = `<script>
      track.search({ search_term: 'call' })
      history.replaceState({}, '', '/en' + location.search)
      setTimeout(() => history.replaceState({}, '', '/en/' + location.search), 30)
      </script>`
    await page.goto(shop.page('/', { head, body }))
    await change(page, '')
    // A redirect that pushes leaves two pages in the history.
    await page.goto(
      shop.page('/a', { head, body: "<script>history.pushState({},'','/b')</script>" }),
    )
    await change(page, '')
    await end(page, shop)
    await expectStored([view('/en/'), 'call', ...['/a', '/b'].map(view), 'end'])
  })

  test(`query and fragment count if the key's settings say so, ${way}`, async ({
    page,
    customer,
    shop,
    expectStored,
  }) => {
    const view = viewOf(shop)
    const hash = customer.another({ pageViews: 'all', pageViewHash: true })
    const query = customer.another({ pageViews: 'all', pageViewQuery: true })
    const load = customer.another({ pageViews: 'load' })
    const all = [customer, hash, query, load]
    const tags = (attributes: string) =>
      all.map(({ trackingKey }) => shop.tag(attributes, trackingKey)).join('')
    const body = '<a href="#/cart">Cart</a>'
    await page.goto(shop.page('/a', { head: before + tags(''), body }))
    await change(page, "location.hash='#/product/5'")
    await page.click('a')
    await change(page, '')
    await change(page, "history.pushState({},'','/a?page=2')")
    await change(page, "history.pushState({},'','/b?page=2')")
    await page.goto(shop.page('/end', { head: tags('data-page-views="off"') }))
    await search(page, 'end')
    const expected = (...paths: string[]) => [...paths.map(view), 'end']
    await expectStored(expected('/a', '/b?page=2'))
    await expectStored(expected('/a', '/a#/product/5', '/a#/cart', '/a?page=2', '/b?page=2'), {
      customer: hash,
    })
    await expectStored(expected('/a', '/a?page=2', '/b?page=2'), { customer: query })
    await expectStored(expected('/a'), { customer: load })
  })
}

/** Removes utm values before the script has loaded, like a consent tool. */
const CLEAN = "<script>history.replaceState({},'',location.pathname)</script>"

test('utm values are removed before the script has loaded: the first view still has them', async ({
  page,
  shop,
  expectStored,
}) => {
  const view = viewOf(shop)
  const campaign = '?utm_source=mail&utm_campaign=may#top'
  shop.page('/p', { head: CLEAN + shop.tag() })
  await page.goto(`${shop.url}/p${campaign}`)
  await search(page, 'call')
  await change(page, "history.pushState({},'','/q')")
  await change(page, "history.pushState({},'','/p')")
  // The loaded page replaces its path by that of another page.
  shop.page('/r', {
    head: `<script>history.replaceState({},'','/s')</script>${shop.tag('async')}`,
  })
  await page.goto(`${shop.url}/r${campaign}`)
  await end(page, shop)
  await expectStored([view(`/p${campaign}`), 'call', ...['/q', '/p', '/s'].map(view), 'end'])
})

test('a page that is left at once counts, with its last address', async ({
  page,
  shop,
  expectStored,
}) => {
  const end = shop.page('/end', { head: shop.tag('data-page-views="off"') })
  const body = `<script>history.replaceState({},'','/b');location.href='${end}'</script>`
  await page.goto(shop.page('/a', { body }))
  await page.waitForURL('**/end')
  await search(page, 'end')
  await expectStored([viewOf(shop)('/b'), 'end'])
})

test('other code wraps history before and after the script, which is loaded many times', async ({
  page,
  shop,
  expectStored,
}) => {
  const wrap = (name: string) => `
    const of${name} = history.pushState
    history.pushState = function (...all) {
      seen.push(['${name}', this === history, all.length])
      return of${name}.apply(this, all)
    }`
  const head = `${WAYS['by wrapping history']}<script>var seen=[];{${wrap('Before')}}</script>${shop.tag()}
    <script>{${wrap('After')}}</script>${shop.tag().repeat(20)}`
  await page.goto(shop.page('/a', { head }))
  await change(page, "history.pushState({}, '', '/b')")
  // A failing pushState of a router throws to the router, and is not a page view.
  await change(page, "try{history.pushState({},'','https://elsewhere.example/')}catch{}")
  expect(await page.evaluate('seen.slice(0,2)')).toEqual([
    ['After', true, 3],
    ['Before', true, 3],
  ])
  await end(page, shop)
  await expectStored([...['/a', '/b'].map(viewOf(shop)), 'end'])
})

test('page views off, page views under another name, and an element named navigation', async ({
  page,
  customer,
  shop,
  expectStored,
}) => {
  const named = customer.another({
    pageViews: 'all',
    pageViewEvent: 'seen',
    eventPrefix: 'shop_',
  })
  const off = customer.another()
  const keys = [named, off].map(({ trackingKey }) => trackingKey)
  const head = `<nav id="navigation"></nav>${WAYS['by wrapping history']}${shop.tag('', keys[0])}${shop.tag('', keys[1])}`
  await page.goto(shop.page('/a', { head: '', body: head }))
  await change(page, "history.pushState({},'','/b')")
  // The shop's own view_homepage is another event.
  await page.evaluate(() => track.viewHomepage())
  await expectStored(
    [{ event: 'shop_seen' }, { event: 'shop_seen' }, { event: 'shop_view_homepage' }],
    {
      customer: named,
    },
  )
  await expectStored([{ event: 'view_homepage' }], { customer: off })
})

test('a key that joins later counts its page once', async ({
  page,
  customer,
  shop,
  expectStored,
}) => {
  const view = viewOf(shop)
  const joining = customer.another({ pageViews: 'all' })
  await page.goto(shop.page('/a'))
  await change(page, "history.pushState({},'','/b')")
  await page.addScriptTag({ url: shop.script(joining.trackingKey) })
  await page.addScriptTag({ url: shop.script(joining.trackingKey) })
  await change(page, "history.pushState({},'','/c')")
  await expectStored(['/a', '/b', '/c'].map(view))
  await expectStored(['/b', '/c'].map(view), { customer: joining })
})

test('a prerendered page is counted when it is shown, with its address at that time', async ({
  page,
  shop,
  expectStored,
}) => {
  const head = `<script>Object.defineProperty(document,'prerendering',{configurable:true,value:true})</script>${shop.tag()}`
  await page.goto(shop.page('/never', { head }))
  await change(page, "history.pushState({},'','/never/2')")
  await page.goto(shop.page('/shown', { head }))
  await page.evaluate(() => {
    Object.defineProperty(document, 'prerendering', { value: false })
    document.dispatchEvent(new Event('prerenderingchange'))
  })
  await end(page, shop)
  await expectStored([viewOf(shop)('/shown'), 'end'])
})

test('a tab opened in the background is counted once, when it is loaded', async ({
  page,
  shop,
  expectStored,
}) => {
  const hidden =
    "Object.defineProperty(document,'visibilityState',{configurable:true,value:'hidden'})"
  await page.goto(shop.page('/a', { head: `<script>${hidden}</script>${shop.tag()}` }))
  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'visible' })
    document.dispatchEvent(new Event('visibilitychange'))
  })
  await end(page, shop)
  await expectStored([viewOf(shop)('/a'), 'end'])
})

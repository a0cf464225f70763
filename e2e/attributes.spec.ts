import { expect, type Row, search, stopClock, test } from './fixtures.ts'

test('attributes on elements around a slot, in an open shadow root @both', async ({
  page,
  shop,
  expectStored,
}) => {
  const card = `<p data-track-product-id="7"><button data-track="viewProduct"><slot></slot></button></p>`
  const body = `<x-card><i>Look</i></x-card>
    <script>document.querySelector('x-card').attachShadow({mode:'open'}).innerHTML='${card}'</script>`
  await page.goto(shop.page('/a', { body }))
  await page.click('i')
  await expectStored([{ event: 'view_product', payload: { product_id: '7' } }])
})

test('debug mode reports elements that report nothing: disabled, prevented, no helper', async ({
  page,
  shop,
  context,
  wire,
  expectStored,
}) => {
  const codes: string[] = []
  context.on('console', (message) => {
    const code = /^track: .+ was not sent \((.+)\)/.exec(message.text())?.[1]
    if (code) codes.push(code)
  })
  const body = `<a id="off" aria-disabled="true" data-track="initiateCheckout">Pay</a>
    <form data-track="search" onsubmit="return false"><input name="q" value="mug"><button>Go</button></form>
    <b data-track="constructor">Hm</b>`
  shop.page('/a', { body })
  await page.goto(`${shop.url}/a?track_debug=1`)
  await expect.poll(() => wire.others.map(({ path }) => path)).toContain('/t/i.js')
  await expect
    .poll(async () => {
      await page.click('#off', { force: true })
      return codes
    })
    .toEqual(['disabled'])
  await page.click('form button')
  await page.click('b')
  await expect.poll(() => codes).toEqual(['disabled', 'prevented', 'helper'])
  await search(page, 'end')
  await expectStored(['end'])
})

const LINE = 'data-track="viewProduct" data-track-product-id'
/** Requests for the files that the script loads by itself. */
const pathsOf = (wire: { others: readonly { readonly path: string }[] }) =>
  wire.others.map(({ path }) => path).filter((path) => path.endsWith('.js'))

test('the reader of load and visible is loaded once, only by a page with such an element', async ({
  page,
  shop,
  wire,
  customer,
  expectStored,
}) => {
  await page.goto(shop.page('/plain', { body: '<b data-track="viewProduct">x</b>' }))
  await search(page, 'plain')
  await expectStored(['plain'])
  expect(pathsOf(wire)).toEqual([])

  const { trackingKey } = customer.another()
  const ahead = `<link rel="modulepreload" href="${wire.url}/t/p.js">`
  const head = `${ahead}${shop.tag()}${shop.tag()}${shop.tag('', trackingKey)}`
  await page.goto(shop.page('/a', { head, body: `<i ${LINE}="1" data-track-on="load"></i>` }))
  await expectStored(['plain', { event: 'view_product', payload: { product_id: '1' } }])
  await page.evaluate((line) => {
    document.body.insertAdjacentHTML('beforeend', `<i ${line}="2" data-track-on="load"></i>`)
  }, LINE)
  await expectStored(['plain', ...[1, 2].map((id) => ({ payload: { product_id: `${id}` } }))])
  expect(pathsOf(wire)).toEqual(['/t/p.js'])
})

test('a nonce that allows the script allows the reader of load and visible', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(
    shop.page('/a', {
      head: shop.tag('nonce="x"'),
      body: `<i ${LINE}="1" data-track-on="load"></i>`,
      headers: {
        'content-security-policy': "script-src 'nonce-x'; require-trusted-types-for 'script'",
      },
    }),
  )
  await expectStored([{ event: 'view_product', payload: { product_id: '1' } }])
})

test('a page that is left before the reader has loaded reports the load elements', async ({
  page,
  shop,
  context,
  expectStored,
}) => {
  const asked: string[] = []
  await context.route('**/t/p.js', (route) => void asked.push(route.request().url()))
  shop.page('/b')
  await page.goto(
    shop.page('/a', { body: `<i ${LINE}="1" data-track-on="load"></i><a href="/b">b</a>` }),
  )
  await expect.poll(() => asked.length).toBe(1)
  await page.click('a')
  await page.waitForURL('**/b')
  await expectStored([{ event: 'view_product', payload: { product_id: '1' } }])
})

test('if the reader can not be loaded, everything else works, and debug mode reports it', async ({
  page,
  shop,
  context,
  expectStored,
}) => {
  const codes: string[] = []
  context.on('console', (message) => {
    const code = /^track: viewProduct was not sent \((.+)\)/.exec(message.text())?.[1]
    if (code) codes.push(code)
  })
  await context.route('**/t/p.js', (route) => route.abort())
  shop.page('/a', { body: `<i ${LINE}="1" data-track-on="load"></i><b ${LINE}="2">x</b>` })
  await page.goto(`${shop.url}/a?track_debug=1`)
  await expect.poll(() => codes).toEqual(['presence'])
  await page.click('b')
  await expectStored([{ event: 'view_product', payload: { product_id: '2' } }])
})

const views = (...ids: readonly number[]) =>
  ids.map((id) => ({ event: 'view_product', payload: { product_id: `${id}` } }))
/** The products of all events, sorted: two that become visible together may arrive in any order. */
const viewed = async (stored: () => Promise<Row[]>) =>
  (await stored()).map(({ payload }) => payload.product_id).sort()
const seen = (id: number, style: string, inside = '') =>
  `<div ${LINE}="${id}" data-track-on="visible" style="${style}">${inside}</div>`

test('an element counts as visible once half of it, or half of the part that fits, was on screen for a second', async ({
  page,
  shop,
  expectStored,
  stored,
}) => {
  await page.setViewportSize({ width: 1000, height: 700 })
  // On screen at first: 10 px of the first, all of the second, 300 px of those that are taller.
  const body = `<style>body{margin:0} #row{display:flex}</style>
    ${seen(1, 'height:100px;margin-top:-90px')}${seen(2, 'height:390px')}
    <div id="row">${seen(3, 'height:3000px;flex:1')}${seen(4, 'height:9000px;width:200px')}</div>`
  await page.goto(shop.page('/a', { body }))
  await expectStored(views(2))
  await page.evaluate(() => scrollBy(0, 60))
  await expect.poll(() => viewed(stored)).toEqual(['2', '3', '4'])
  await page.evaluate(() => scrollTo(0, 0))
  await search(page, 'end')
  await expect.poll(() => viewed(stored)).toEqual(['2', '3', '4', undefined])
})

test('an element that leaves the screen within a second does not count as visible', async ({
  page,
  shop,
  expectStored,
}) => {
  const clock = await stopClock(page)
  const away = '<div style="height:3000px"></div>'
  const body = `<i ${LINE}="1" data-track-on="load"></i>${[2, 3].map((id) => `${away}<p id="p${id}">${seen(id, 'height:100px')}</p>`).join('')}`
  await page.goto(shop.page('/a', { body }))
  await expectStored(views(1))
  await page.evaluate(async () => {
    const show = (id: string) =>
      new Promise<void>((done) => {
        const element = document.getElementById(id) as HTMLElement
        const screen = new IntersectionObserver(([sight]) => {
          if (!sight?.isIntersecting) return
          screen.disconnect()
          // The script's observer was called before: it is older.
          done()
        })
        screen.observe(element)
        element.scrollIntoView()
      })
    await show('p2')
    await show('p3')
  })
  await clock.pass(1000)
  await expectStored(views(1, 3))
})

test('an element with display: contents counts as visible by its children', async ({
  page,
  shop,
  stored,
}) => {
  const none = 'display:contents'
  const child = '<p style="height:100px">Mug</p>'
  const body = `${seen(1, none, child)}
    ${seen(2, none, `<style></style><div style="${none}">${child}</div>`)}
    <x-card ${LINE}="3" data-track-on="visible" style="${none}">${child}</x-card>
    ${seen(4, none, '<p hidden>Mug</p>')}
    <script>document.querySelector('x-card').attachShadow({mode:'open'}).innerHTML='<slot></slot>'</script>`
  await page.goto(shop.page('/a', { body }))
  await expect.poll(() => viewed(stored)).toEqual(['1', '2', '3'])
  await page.evaluate(() => document.querySelector('[hidden]')?.removeAttribute('hidden'))
  await expect.poll(() => viewed(stored)).toEqual(['1', '2', '3', '4'])
})

test('elements in open shadow roots count, also in custom elements defined late', async ({
  page,
  shop,
  expectStored,
}) => {
  const body = `<x-card></x-card><script>
    function define(name, inside) {
      customElements.define(name, class extends HTMLElement {
        connectedCallback() { this.attachShadow({mode:'open'}).innerHTML = inside }
      })
    }
    define('x-card', \`<i ${LINE}="1" data-track-on="load"></i><x-late></x-late>\`)
  </script>`
  await page.goto(shop.page('/a', { body }))
  await expectStored(views(1))
  await page.evaluate(
    (inside) =>
      (window as unknown as { define: (...of: string[]) => void }).define('x-late', inside),
    seen(2, 'height:9px'),
  )
  await expectStored(views(1, 2))
})

test('a visible element counts again after its attributes change, and on each page of a router', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/a', { body: seen(1, 'height:100px') }))
  await expectStored(views(1))
  await page.evaluate(() =>
    document.querySelector('div')?.setAttribute('data-track-product-id', '2'),
  )
  await expectStored(views(1, 2))
  await page.evaluate(() => {
    history.pushState({}, '', '/b')
    document.body.append('new')
  })
  await expectStored(views(1, 2, 2))
})

test('a form that the page submits by script counts by the control that was clicked', async ({
  page,
  shop,
  expectStored,
}) => {
  const body = `<form action="/b" data-track="search"><input name="q" value="mug">
    <a href="#" data-track="search" data-track-search-term-from="[name=q]"
      onclick="this.closest('form').submit(); return false">Go</a></form>`
  shop.page('/b')
  await page.goto(shop.page('/a', { body }))
  await page.click('a')
  await page.waitForURL('**/b?q=mug')
  await expectStored(['mug'])
})

test('of several matching fields, a visible one is read first, then a filled one', async ({
  page,
  shop,
  expectStored,
}) => {
  const hidden = [
    'display:none',
    'visibility:hidden',
    'opacity:0',
    'position:absolute;left:-9999px',
  ]
  const form = (id: number, fields: string) =>
    `<form action="#" data-track="search">${fields}<button id="b${id}">Go</button></form>`
  const decoys = (value: string) =>
    hidden.map((style) => `<p style="${style}"><input name="q" value="${value}"></p>`)
  const empty = decoys('').join('')
  const filled = decoys('spam').slice(0, 3).join('')
  const body = [
    form(1, `<input name="q" type="hidden">${empty}<input name="q" value="one">`),
    form(2, `${filled}<input name="s" value="two">${empty}`),
    form(3, `${decoys('')[0]}<p style="display:none"><input name="q" value="three"></p>`),
  ].join('')
  await page.goto(shop.page('/a', { body }))
  for (const id of [1, 2, 3]) await page.click(`#b${id}`)
  await expectStored(['one', 'two', 'three'])
})

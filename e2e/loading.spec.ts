import { rmSync } from 'node:fs'
import type { Page } from '@playwright/test'
import { STUB } from '../src/tracker/snippet.ts'
import { expect, expectNothingKept, search, stopClock, test } from './fixtures.ts'
import { addCustomer, loadGateway, makeFolder } from './gateway.ts'
import { type PageParts, type Shop, startShop } from './shopServer.ts'

/** Waits until `track` is the script's, not the stub or an element of the page. */
const expectTrack = (page: Page) =>
  page.waitForFunction(() => typeof (window.track as { version?: unknown })?.version === 'string')

/** Ways to put the script's tag into a page. */
const WAYS: Record<string, (shop: Shop) => PageParts> = {
  'at once in the head': (shop) => ({ head: shop.tag() }),
  async: (shop) => ({ head: shop.tag('async') }),
  deferred: (shop) => ({ head: shop.tag('defer') }),
  'at the end of the body': (shop) => ({ head: '', body: `<p>Shop</p>${shop.tag()}` }),
  'as a module, which has no document.currentScript': (shop) => ({
    head: shop.tag('type="module"'),
  }),
  'inserted by another script': (shop) => inline(`document.head.append(${element(shop)})`),
  'inserted and removed at once': (shop) =>
    inline(`let s=${element(shop)};document.head.append(s);s.remove()`),
  'written into the page': (shop) => inline(`document.write('${scriptTag(shop)}')`),
  'moved by an optimizer, which makes the tag again after the page has loaded': (shop) => ({
    head: shop.tag('type="text/lazy"'),
    body: `<script>addEventListener('load',()=>{for(const lazy of document.querySelectorAll('[type="text/lazy"]')){const s=document.createElement('script');s.src=lazy.src;lazy.replaceWith(s)}})</script>`,
  }),
  'through a file of a tag manager': (shop) => ({
    head: `<script async src="${shop.file('/manager.js', 'text/javascript', `document.body.append(${element(shop)})`)}"></script>`,
    body: '<p>Shop</p>',
  }),
}

test('the script works in each way to put its tag into a page', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const terms: string[] = []
  for (const [name, parts] of Object.entries(WAYS))
    await test.step(name, async () => {
      await page.goto(shop.page('/a', parts(shop)))
      await expectTrack(page)
      terms.push(name)
      await search(page, name)
      await expectStored(terms)
      await expectNothingKept(page)
    })
  expect(wire.events.map(({ path }) => path)).toEqual(terms.map(() => '/t/r'))
})

/** Expressions that load the script without a tag that it could find. */
const WAYS_WITHOUT_TAG: Record<string, (address: string) => string> = {
  'fetched and evaluated': (address) =>
    `fetch('${address}').then(r=>r.text()).then(t=>{(0,eval)(t)})`,
  'fetched and made a function': (address) =>
    `fetch('${address}').then(r=>r.text()).then(t=>new Function(t)())`,
  imported: (address) => `import('${address}').then(()=>{})`,
  'in a shadow root': (address) =>
    `new Promise(onload=>document.body.appendChild(document.createElement('div')).attachShadow({mode:'open'}).append(Object.assign(document.createElement('script'),{src:'${address}',onload:()=>onload()})))`,
}

test('without a tag but with a PUBLIC_URL, it works as with a tag', async ({ page, wire }) => {
  const folder = makeFolder('published')
  const { startGateway } = await loadGateway()
  const gateway = await startGateway({ dataDir: folder, publicUrl: wire.url })
  wire.target = gateway.url
  const shop = await startShop(wire.url, addCustomer(gateway).trackingKey)
  try {
    for (const [name, load] of Object.entries(WAYS_WITHOUT_TAG))
      await test.step(name, async () => {
        const before = wire.events.length
        await page.goto(shop.page('/a', { head: '' }))
        await page.evaluate(load(shop.script()))
        await search(page, 'mug')
        await expect
          .poll(() => wire.events.slice(before).map(({ path, outcome }) => [path, outcome]))
          .toEqual([['/t/r', 200]])
        await expectNothingKept(page)
      })
  } finally {
    await page.close()
    await shop.close()
    await gateway.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('without a tag and without a PUBLIC_URL, it does not start and sends nothing', async ({
  page,
  shop,
}) => {
  const sent: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(request.url())
  })
  for (const [name, load] of Object.entries(WAYS_WITHOUT_TAG))
    await test.step(name, async () => {
      await page.goto(shop.page('/a', { head: `<script>${STUB}</script>` }))
      const loaded = page.waitForResponse(shop.script())
      await page.evaluate(load(shop.script()))
      expect((await loaded).ok()).toBe(true)
      await page.evaluate(() => void track.search({ search_term: 'mug' }))
      await page.evaluate(() => dispatchEvent(new Event('online')))
      expect(await page.evaluate(() => typeof track.version)).toBe('function')
      expect(sent).toEqual([])
    })
})

test('the script from the JSON answer knows its gateway without a tag', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/a', { head: '' }))
  await page.evaluate(
    `fetch('${shop.script()}',{headers:{accept:'application/json'}}).then(r=>r.json()).then(({script})=>{(0,eval)(script)})`,
  )
  await search(page, 'mug')
  await expectStored(['mug'])
})

test('the script runs before the page has a body', async ({ page, shop, expectStored }) => {
  const head = `${shop.tag()}<script>track.search({search_term:'early'})</script>`
  await page.goto(shop.page('/a', { head, body: '<p>Shop</p>' }))
  await search(page, 'late')
  await expectStored(['early', 'late'])
})

test('the script adds no global except track', async ({ page, shop }) => {
  const names = () => page.evaluate(() => Object.getOwnPropertyNames(window))
  await page.goto(shop.page('/a', { head: '' }))
  const before = new Set(await names())
  await page.goto(shop.page('/b'))
  const added = (await names()).filter(
    (name) => !before.has(name) && !/^(dataLayer$|__pw)/.test(name),
  )
  expect(added).toEqual(['track'])
})

test('twice on a page: one tracker', async ({ page, shop, wire, expectStored }) => {
  const head = shop.tag() + shop.tag() + shop.tag('async')
  await page.goto(shop.page('/a', { head }))
  await search(page, 'once')
  await expectStored(['once'])
  expect(wire.events).toHaveLength(1)
})

test('twice on a page, both async, and once more evaluated: one tracker', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a', { head: shop.tag('async') + shop.tag('async') }))
  await expectTrack(page)
  await page.evaluate(`fetch('${shop.script()}').then(r=>r.text()).then(t=>{(0,eval)(t)})`)
  await search(page, 'once')
  await expectStored(['once'])
  expect(wire.events).toHaveLength(1)
})

test('two keys on a page: one event id, each key with its own settings', async ({
  page,
  shop,
  customer,
  expectStored,
}) => {
  const second = customer.another({ eventPrefix: 'b_', source: 'second' })
  await page.goto(shop.page('/a', { head: shop.tag() + shop.tag('', second.trackingKey) }))
  const outcome = await page.evaluate(() => track.search({ search_term: 'both' }))
  const id = outcome.ok ? outcome.id : ''
  expect(id).not.toBe('')
  await expectStored([{ id, event: 'search', payload: { search_term: 'both', source: undefined } }])
  await expectStored(
    [{ id, event: 'b_search', payload: { search_term: 'both', source: 'second' } }],
    {
      customer: second,
    },
  )
})

/** A product view by attributes, and a push of the same for GA4. */
const product = (id: number) =>
  `<button data-track="viewProduct" data-track-product-id="${id}">attribute</button>
  <a onclick="dataLayer.push({event:'view_item',ecommerce:{items:[{item_id:'${id}'}]}})">push</a>`
const view = (id: number) => ({ event: 'view_product', payload: { product_id: `${id}` } })

test.describe('two keys with different parts on a page', () => {
  test.use({ config: { attributes: false, dataLayer: false } })

  test('parts of the second key work with the state of the first', async ({
    page,
    shop,
    customer,
    expectStored,
  }) => {
    const second = customer.another({ pageViews: 'all', ga4: true })
    const head = shop.tag() + shop.tag('', second.trackingKey)
    await page.goto(shop.page('/a', { head, body: product(12) }))
    await page.click('button')
    // The same product in another way is the same action.
    await page.click('a')
    await search(page, 'end')
    await expectStored([{ event: 'view_page' }, view(12), 'end'], { customer: second })
    await expectStored(['end'])
  })

  test('the second key does not remove or restart parts of the first', async ({
    page,
    shop,
    customer,
    expectStored,
  }) => {
    const first = customer.another({ pageViews: 'all', ga4: true })
    const head = shop.tag('', first.trackingKey) + shop.tag()
    await page.goto(shop.page('/a', { head, body: product(12) }))
    await page.click('button')
    await page.click('a')
    await search(page, 'end')
    await expectStored([{ event: 'view_page' }, view(12), 'end'], { customer: first })
    await expectStored(['end'])
  })
})

test('attributes of the tag override the settings', async ({ page, shop, expectStored }) => {
  const attributes = 'data-event-prefix="x_" data-source="tag" data-remote-addr="198.51.100.9"'
  await page.goto(shop.page('/a', { head: shop.tag(attributes) }))
  await search(page, 'mug')
  // The gateway replaces the page's remote_addr by the connection's.
  await expectStored([
    { event: 'x_search', payload: { source: 'tag', remote_addr: '203.0.113.7' } },
  ])
})

test('elements of the page with the names of our globals @both', async ({
  page,
  shop,
  customer,
  expectStored,
}) => {
  const second = customer.another()
  const body = `<div id="track"></div><form name="dataLayer"></form>
    <form name="shoptrail"></form><img name="track">
    ${shop.tag()}${shop.tag('', second.trackingKey)}`
  await page.goto(shop.page('/a', { head: '', body }))
  await search(page, 'mug')
  const [mug] = await expectStored(['mug'])
  const [same] = await expectStored(['mug'], { customer: second })
  expect(same?.id).toBe(mug?.id)
})

test.describe('a page with a track of its own', () => {
  test.use({ config: { pageViews: 'all', attributes: true } })

  const OWN = '<script>function track(){return "own"}</script>'
  const callOwn = (page: Page) => page.evaluate('track()')
  const BUTTON = '<button data-track="addToCart" data-track-product-id="7">Add</button>'
  const SEEN = [{ event: 'view_page' }, { event: 'add_to_cart' }]
  const snippet = `<script>${STUB.replace('"track"', '"shoptrail"')}</script>`

  /** The helpers' name, attributes of the tag, and the page's own `track`: a function by default. */
  const TAKEN = [
    ['shoptrail', ''],
    // Another tool's queue of commands.
    ['shoptrail', '', '<script>function track(){return "own"}track.q=[]</script>'],
    // A read-only property, and a getter.
    ['shoptrail', '', "<script>Object.defineProperty(window,'track',{value:()=>'own'})</script>"],
    ['shoptrail', '', "<script>Object.defineProperty(window,'track',{get:()=>()=>'own'})</script>"],
    // A declared constant is not a property of the window.
    ['shoptrail', '', '<script>const track=()=>"own"</script>'],
    ['events', 'data-global="events"'],
    ['events', 'data-global="events"', '<script>const track=()=>"own"</script>'],
    // No property of the page is overwritten, even if the tag names it.
    ['shoptrail', 'data-global="fetch"'],
  ] as const

  test('keeps it, and the helpers are at another name', async ({
    page,
    shop,
    customer,
    expectStored,
  }) => {
    for (const [name, attributes, own = OWN] of TAKEN)
      await test.step(`${name} ${attributes} ${own}`, async () => {
        const first = customer.another({ pageViews: 'all', attributes: true })
        const second = customer.another()
        const tag = shop.tag(attributes, first.trackingKey)
        const head = `${own}${tag}${shop.tag('async', second.trackingKey)}`
        await page.goto(shop.page('/a', { head, body: BUTTON }))
        await page.waitForLoadState()
        await page.click('button')
        await page.evaluate(`${name}.search({ search_term: 'mug' })`)
        expect(await callOwn(page)).toBe('own')
        const [, , third] = await expectStored([...SEEN, 'mug'], { customer: first })
        const rows = await expectStored([{ event: 'add_to_cart' }, 'mug'], { customer: second })
        expect(rows[1]?.id).toBe(third?.id)
        await expectNothingKept(page)
      })
  })

  test('can use a stub with another name before the script has loaded', async ({
    page,
    shop,
    expectStored,
  }) => {
    const early = "<script>shoptrail.search({ search_term: 'early' })</script>"
    await page.goto(shop.page('/a', { head: OWN + snippet + early + shop.tag('async') }))
    await expectStored(['early', { event: 'view_page' }])
    expect(await callOwn(page)).toBe('own')
  })

  test('may define it later: tracking continues, and two keys find each other', async ({
    page,
    shop,
    customer,
    expectStored,
  }) => {
    const second = customer.another()
    const head = shop.tag() + OWN
    await page.goto(shop.page('/a', { head, body: BUTTON }))
    await page.addScriptTag({ url: shop.script(second.trackingKey) })
    await page.click('button')
    expect(await callOwn(page)).toBe('own')
    expect(await page.evaluate('typeof shoptrail')).toBe('undefined')
    const [, added] = await expectStored(SEEN)
    const [same] = await expectStored([{ event: 'add_to_cart' }], { customer: second })
    expect(same?.id).toBe(added?.id)
  })

  test('is reported in debug mode', async ({ page, shop }) => {
    shop.page('/a', { head: OWN + shop.tag() })
    const line = page.waitForEvent('console', (message) => message.type() === 'warning')
    await page.goto(`${shop.url}/a?track_debug=1`)
    expect((await line).text()).toContain('the helpers are at `shoptrail`')
  })
})

test('a strict content security policy with Trusted Types @both', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const policy = `default-src 'none'; img-src data:; script-src 'nonce-x'; connect-src ${wire.url}; require-trusted-types-for 'script'; trusted-types 'none'`
  const nonce = 'nonce="x"'
  const head = `<script ${nonce}>violations=[];addEventListener('securitypolicyviolation',e=>violations.push(e.violatedDirective))</script>${shop.tag(nonce)}<script ${nonce}>track.search({search_term:'mug'})</script>`
  await page.goto(shop.page('/a', { head, headers: { 'content-security-policy': policy } }))
  await expectStored(['mug'])
  expect(
    await page.evaluate(() => (window as unknown as { violations: string[] }).violations),
  ).toEqual([])
})

test('a policy that blocks the gateway: the page works, and requests back off', async ({
  page,
  shop,
  wire,
  watch,
}) => {
  const policy = "connect-src 'self'"
  // Otherwise the page tries again while this test ends.
  const clock = await stopClock(page)
  await page.goto(shop.page('/a', { headers: { 'content-security-policy': policy } }))
  await search(page, ...'abcdefghij')
  await clock.pass(1000)
  // The browser's own lines about the policy: one request, not one per call.
  const lines = watch.faults.splice(0)
  expect(lines.length).toBeGreaterThan(0)
  for (const line of lines) expect(line).toContain('Content Security Policy')
  expect(lines.length).toBeLessThanOrEqual(2)
  expect(wire.events).toEqual([])
})

test('the script is blocked: the shop works', async ({ page, shop, wire }) => {
  await page.route('**/t/j/*', (route) => route.abort('blockedbyclient'))
  const head = `<script>${STUB}</script>${shop.tag('async')}`
  const body = `<form id="order" action="/order" method="post"><button>Pay</button></form>
    <script>order.addEventListener('submit',()=>{track.initiateCheckout();track.setEmail({email_address:'a@example.com'})})</script>`
  await page.goto(shop.page('/a', { head, body }))
  shop.page('/thanks', { head: '' })
  await page.click('button')
  await page.waitForURL('**/thanks')
  expect(wire.events).toEqual([])
})

const inline = (code: string): PageParts => ({ head: `<script>${code}</script>` })
/** An expression that makes the script's element. */
const element = (shop: Shop) =>
  `Object.assign(document.createElement('script'),{src:'${shop.script()}'})`
const scriptTag = (shop: Shop) => shop.tag().replace('</', '<\\/')

import type { Page } from '@playwright/test'
import { expect, search, stopClock, test } from './fixtures.ts'

/** The reasons of dropped events. */
const HEAD = "<script>var why=[];track.on('dropped',({reason})=>why.push(reason))</script>"
const why = (page: Page) => page.evaluate('why')

const LINE = `{product_id:7,quantity:1,variation:{id:'7-1',sku:'A7'}}`
const PUSH = `dataLayer.push({event:'__sm__add_to_cart',product_id:'7',quantity:1,variation:{id:'7-1',sku:'A7'}})`
const CALL = `track.addToCart(${LINE})`
/** A button with attributes; `onclick` is the code of the theme. */
const button = (onclick: string) =>
  `<button data-track="addToCart" data-track-product-id="7" data-track-variation-id="7-1"
    data-track-variation-sku="A7" onclick="${onclick}">Add</button>`
const plain = (onclick: string) => `<button onclick="${onclick}">Add</button>`

const add = { operation: 'addToCart', payload: { product_id: 7, quantity: 1 } }

/** Pages on which the button is clicked once, then again. Each click must be one event. */
const ONE: { readonly [name: string]: string } = {
  'an attribute and a push': button(PUSH),
  'an attribute and a later push': button(`setTimeout(()=>{${PUSH}},40)`),
  'an attribute and a call': button(CALL),
  'a push and a call': plain(`${PUSH};${CALL}`),
  'an attribute, a push and a call': button(`${PUSH};fetch('/cart').then(()=>{${CALL}})`),
  'a theme that runs its code twice': plain(`${CALL};${CALL}`),
  'a theme that pushes twice': plain(`${PUSH};${PUSH}`),
}

/** These depend on `window.event` and on the order of listeners, which may differ between engines. */
const ENGINES = /^an attribute and a (push|call)$|runs its code twice/
const GROUPS = {
  'one click, one event; two clicks are two': (name: string) => !ENGINES.test(name),
  'one click, one event, by the order of listeners @both': (name: string) => ENGINES.test(name),
}

for (const [title, isOfGroup] of Object.entries(GROUPS))
  test(title, async ({ page, shop, customer, expectStored }) => {
    for (const [name, body] of Object.entries(ONE).filter(([name]) => isOfGroup(name)))
      await test.step(name, async () => {
        const own = customer.another()
        const head = shop.tag('', own.trackingKey) + HEAD
        await page.goto(shop.page('/a', { head, body }))
        const doubles = name.startsWith('an attribute, a push and') ? 2 : 1
        for (const clicks of [1, 2]) {
          await page.click('button')
          await page.waitForFunction(`why.length>=${clicks * doubles}`)
        }
        expect(new Set((await why(page)) as string[])).toEqual(new Set(['duplicate']))
        await search(page, 'end')
        await expectStored([add, add, 'end'], { customer: own })
      })
  })

test('a listener that a theme adds again after each update of a part: one event per click', async ({
  page,
  shop,
  expectStored,
}) => {
  const body = `<div id="part"></div><script>
    function load() {
      part.innerHTML = '<button>Add</button>'
      document.addEventListener('click', () => { ${CALL} })
    }
    load(); load(); load()</script>`
  await page.goto(shop.page('/a', { head: shop.tag() + HEAD, body }))
  await page.click('button')
  await page.click('button')
  await search(page, 'end')
  await expectStored([add, add, 'end'])
  expect(await why(page)).toHaveLength(4)
})

test('two clicks before their two pushes: still two events', async ({
  page,
  shop,
  expectStored,
}) => {
  const clock = await stopClock(page)
  const body = button(`setTimeout(()=>{${PUSH}},1500)`)
  await page.goto(shop.page('/a', { head: shop.tag() + HEAD, body }))
  await page.click('button')
  await page.click('button')
  await clock.pass(1600)
  expect(await why(page)).toEqual(['duplicate', 'duplicate'])
  // A third push has no click.
  await page.evaluate(PUSH)
  await search(page, 'end')
  await expectStored([add, add, add, 'end'])
})

test('not duplicates: another quantity or variation, and two reports of the same kind', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/a', { head: shop.tag() + HEAD, body: button('') }))
  await page.click('button')
  await page.evaluate(`
    dataLayer.push({event:'__sm__add_to_cart',product_id:7,quantity:2,variation:{id:'7-1',sku:'A7'}})
    dataLayer.push({event:'__sm__add_to_cart',product_id:7,quantity:1,variation:{id:'7-2',sku:'B7'}})
    dataLayer.push({event:'__sm__remove_from_cart',product_id:7,quantity:1,variation:{id:'7-1',sku:'A7'}})
    track.search({search_term:'mug'});track.search({search_term:'mug'})`)
  await expectStored([
    add,
    { payload: { quantity: 2 } },
    { payload: { variation: { id: '7-2' } } },
    { operation: 'removeFromCart' },
    'mug',
    'mug',
  ])
  expect(await why(page)).toEqual([])
})

test('the duplicate window is 5 seconds, or the setting of the key; 0 switches it off', async ({
  page,
  customer,
  shop,
  expectStored,
}) => {
  const short = customer.another({ duplicateWindowMs: 1000 })
  const never = customer.another({ duplicateWindowMs: 0 })
  const tags = [customer, short, never].map(({ trackingKey }) => shop.tag('', trackingKey)).join('')
  const clock = await stopClock(page)
  await page.goto(shop.page('/a', { head: tags, body: button('') }))
  for (const wait of [500, 4000, 5500]) {
    await page.click('button')
    await clock.pass(wait)
    await page.evaluate(PUSH)
    await clock.pass(20_000)
  }
  await search(page, 'end')
  await expectStored([add, add, add, add, 'end'])
  await expectStored([add, add, add, add, add, 'end'], { customer: short })
  await expectStored([add, add, add, add, add, add, 'end'], { customer: never })
})

test('reported by stub and push before the script loads, at different times: one event', async ({
  page,
  shop,
  expectStored,
}) => {
  const head = `<script>window.dataLayer=[];${PUSH}
    window.track=new Proxy({q:[]},{get:(t,n)=>t[n]})
    track.q.push(['addToCart',[${LINE}],location.href,Date.now()-60000,'00000000-0000-7000-8000-000000000001'])
    </script>${shop.tag()}`
  await page.goto(shop.page('/a', { head }))
  await search(page, 'end')
  await expectStored([add, 'end'])
})

test('nested elements, and a form with its button: one action, one event', async ({
  page,
  shop,
  expectStored,
}) => {
  const marked = (id: number) =>
    `data-track="addToCart" data-track-product-id="${id}" data-track-variation-id="v" data-track-variation-sku="s"`
  const body = `
    <div ${marked(1)}><a id="inner" ${marked(2)} href="#x"><i>Add</i></a></div>
    <form id="f" ${marked(3)} action="/b"><label id="l" ${marked(4)}>Gift <input id="c" type="checkbox" data-track-on="click" ${marked(4)}></label>
      <button ${marked(3)}>Buy</button></form>`
  shop.page('/b')
  await page.goto(shop.page('/a', { head: shop.tag() + HEAD, body }))
  await page.click('i')
  await page.click('#l')
  await page.click('#f button')
  await page.waitForURL('**/b?')
  await search(page, 'end')
  await expectStored([
    { payload: { product_id: 2 } },
    { payload: { product_id: 4 } },
    { payload: { product_id: 3 } },
    'end',
  ])
})

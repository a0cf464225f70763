import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import { STUB } from '../src/tracker/snippet.ts'
import { expect, search, stopClock, test } from './fixtures.ts'

/** One push of a storefront page, at `t` ms after the start of the script. */
type Push = {
  readonly t: number
  /** An object, or a key of `objects`: the same object again. */
  readonly push: object | string
  readonly undefined_fields?: readonly string[]
}
type Storefront = {
  readonly id: string
  readonly page: string
  readonly spa?: boolean
  readonly dataLayer_before_tracker: string
  readonly objects?: { readonly [letter: string]: object }
  readonly pushes: readonly Push[]
  readonly expect: readonly {
    readonly event?: string
    readonly dropped?: string
    readonly note?: string
  }[]
}

const { fixtures }: { fixtures: Storefront[] } = JSON.parse(
  readFileSync(new URL('../src/tracker/fixtures/storefront-pushes.json', import.meta.url), 'utf8'),
)

/** From this time on a push belongs to the next page. */
const NEXT_PAGE_MS = 60_000
/** Words in addresses of requests that start code of some shops. */
const WATCHED = /cart|cos|wishlist|subscription/i

/** The page before the script: its globals, and a fetch wrapped by a shop's plugin. */
const GLOBALS = `
  var mktr = { pending: [1], retry: 2, debug: function () {} }, mktr_data = { page: '1' }, fetched = [], dropped = []
  document.cookie = '__sm__uid=5f0c1d2e3a4b5'
  document.cookie = 'mktr=ana@example.com'
  const own = fetch
  window.fetch = function (address) { fetched.push(String(address)); return own.apply(this, arguments) }
  ${STUB}
  track.on('dropped', ({ operation, code, reason }) =>
    dropped.push([operation.replace(/[A-Z]/g, '_$&').toLowerCase(), code ?? reason]))`

/** A tag manager: it wraps push, returns its own value, and cuts the array. */
const tagManager = (most = 300) => `
  window.dataLayer = window.dataLayer || []
  const handled = [], before = dataLayer.push
  dataLayer.push = function () {
    before.apply(dataLayer, arguments)
    handled.push(...arguments)
    while (dataLayer.length > ${most}) dataLayer.shift()
    return 'tag manager'
  }`

/** The number of pushes before the script is added. */
const ARRIVALS: { readonly [name: string]: (pushes: readonly Push[]) => number } = {
  before: () => 0,
  between: (pushes) =>
    pushes.filter(({ t }) => t < 0).length || Math.ceil(pushes.filter(isOfFirstPage).length / 2),
  after: (pushes) => pushes.filter(isOfFirstPage).length,
}
const isOfFirstPage = ({ t }: Push) => t < NEXT_PAGE_MS

const addScript = (page: Page, src: string) => page.addScriptTag({ url: src }).then(() => {})

/** Makes a push of the fixture; a key of `objects` is the same object each time. */
const push = (page: Page, { push: pushed, undefined_fields = [] }: Push, objects: object = {}) =>
  page.evaluate(
    ([one, all, missing]) => {
      const state = window as unknown as {
        objects?: Record<string, object>
        dataLayer: unknown[]
      }
      state.objects ??= all as Record<string, object>
      const object: object | undefined = typeof one === 'string' ? state.objects[one] : one
      state.dataLayer.push(
        Object.assign(object ?? {}, Object.fromEntries(missing.map((name) => [name, undefined]))),
      )
    },
    [pushed, objects, undefined_fields] as const,
  )

/**
 * One storefront with page loads, whose plugin makes no array, and one with a router and a tag manager.
 * src/tracker/parts/dataLayer.test.ts runs all of them.
 */
const CHOSEN = ['woocommerce-2026-async-file', 'vtex-spa']

for (const storefront of fixtures.filter(({ id }) => CHOSEN.includes(id)))
  test(`${storefront.id}: the script before, between and after its pushes`, async ({
    page,
    customer,
    shop,
    wire,
    expectStored,
  }) => {
    wire.delayMs = 0
    const clock = await stopClock(page)
    const { pathname, search: query } = new URL(storefront.page)
    const pushes = [...storefront.pushes].sort((a, b) => a.t - b.t)
    const hasTagManager = storefront.dataLayer_before_tracker.startsWith('array')
    const head = `<script>{${GLOBALS}}</script>${hasTagManager ? `<script>{${tagManager()}}</script>` : ''}`
    shop.page(pathname, { head })

    for (const [name, countBefore] of Object.entries(ARRIVALS))
      await test.step(name, async () => {
        const own = customer.another()
        const script = shop.script(own.trackingKey)
        const inFront = countBefore(pushes)
        const addresses: string[] = []
        await page.goto(shop.url + pathname + query)
        let now = pushes[0]?.t ?? 0
        for (const [index, one] of pushes.entries()) {
          if (index === inFront) await addScript(page, script)
          // If the plugin does not make the array, the script does.
          else if (index < inFront && !hasTagManager) await page.evaluate('window.dataLayer ??= []')
          if (isOfFirstPage(one)) await clock.pass(one.t - now)
          else {
            // The two pages' events sort by time.
            await clock.pass(NEXT_PAGE_MS)
            await page.goto(`${shop.url}${pathname}?next`)
            await addScript(page, script)
          }
          now = one.t
          if (storefront.spa) await page.evaluate(`history.pushState({}, '', '?at=${index}')`)
          addresses.push(page.url())
          await push(page, one, storefront.objects)
        }
        if (inFront === pushes.length) await addScript(page, script)

        const expected = storefront.expect.filter(({ event }) => event)
        const rows = await expectStored(
          expected.map(({ event, note: _, ...fields }) => ({
            event: event ?? '',
            ...(Object.keys(fields).length && { payload: fields }),
          })),
          { customer: own },
        )
        // If the address changes without a load, the event has the address at its push.
        if (storefront.spa && inFront === 0)
          expect(rows.map(({ payload }) => payload.url)).toEqual(
            addresses.filter((_, index) => [0, 1, 2, 5].includes(index)),
          )
        const drops = storefront.expect.flatMap(({ dropped }) => dropped ?? [])
        expect((await read(page, 'dropped')).map(([operation]) => operation)).toEqual(drops)
        // The page's globals are unchanged, and no request starts code of a shop.
        expect(await page.evaluate('[Object.keys(mktr), mktr.pending, mktr_data]')).toEqual([
          ['pending', 'retry', 'debug'],
          [1],
          { page: '1' },
        ])
        expect((await read(page, 'fetched')).filter((address) => WATCHED.test(address))).toEqual([])
        await page.goto(shop.page('/empty', { head: '' }))
      })

    for (const { path, query: asked } of wire.events) expect(path + asked).not.toMatch(WATCHED)
    const cookies = Object.fromEntries(
      (await page.context().cookies()).map(({ name, value }) => [name, value]),
    )
    expect(cookies).toMatchObject({ __sm__uid: '5f0c1d2e3a4b5', mktr: 'ana@example.com' })
  })

/** A list that the page keeps under a global name. */
const read = (page: Page, name: 'dropped' | 'fetched' | 'handled'): Promise<string[]> =>
  page.evaluate((of) => (window as unknown as Record<string, string[]>)[of] ?? [], name)

const view = (product_id: number) => `{event:'__sm__view_product',product_id:${product_id}}`
const seen = (product_id: number) => ({
  operation: 'viewProduct',
  payload: { product_id: `${product_id}` },
})

test('an array that replaces the dataLayer is read at once @both', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  await page.evaluate(`
    dataLayer.push(${view(1)})
    const old = dataLayer
    dataLayer = [${view(2)}]
    dataLayer.push(${view(3)})
    window.dataLayer = [...dataLayer, ${view(4)}]
    dataLayer.push(${view(5)})
    old.push(${view(6)})
    dataLayer.push(dataLayer[0])`)
  // Pushes to the old array still count. Objects that were carried over or pushed again are known.
  await expectStored([1, 2, 3, 4, 5, 6].map(seen))
})

test('an array declared with var and replaced is found at load, at a click, and when the page is left', async ({
  page,
  shop,
  expectStored,
}) => {
  const head = `<script>var dataLayer = [${view(1)}]</script>${shop.tag()}`
  const body = `<button>b</button><script>dataLayer.push(${view(2)}); dataLayer = [${view(3)}]</script>`
  await page.goto(shop.page('/a', { head, body }))
  await expectStored([1, 2, 3].map(seen))
  await page.evaluate(`dataLayer = []; dataLayer.push(${view(4)})`)
  await page.click('button')
  await expectStored([1, 2, 3, 4].map(seen))
  await page.evaluate(`dataLayer.push(${view(5)}); dataLayer = []; dataLayer.push(${view(6)})`)
  await page.goto(shop.page('/b'))
  await expectStored([1, 2, 3, 4, 5, 6].map(seen))
})

for (const order of ['before', 'after'] as const)
  test(`a tag manager that wraps push ${order} the script, and cuts the array`, async ({
    page,
    shop,
    expectStored,
  }) => {
    const manager = `<script>{${tagManager(3)};window.handled=handled}</script>`
    const head = order === 'before' ? manager + shop.tag() : shop.tag() + manager
    await page.goto(shop.page('/a', { head }))
    const answers = await page.evaluate(`
      const answers = [dataLayer.push(${view(1)}, ${view(2)})]
      for (let n = 3; n < 20; n++) answers.push(dataLayer.push({event:'__sm__view_product',product_id:n}))
      answers.push(dataLayer.push(null), dataLayer.push(), dataLayer.push({}), dataLayer.push(() => {}))
      answers`)
    expect(new Set(answers as string[])).toEqual(new Set(['tag manager']))
    const ids = Array.from({ length: 19 }, (_, index) => index + 1)
    // Two objects in one push: their order is that of the arguments.
    await expectStored(ids.map(seen))
    const handled = (await read(page, 'handled')) as unknown as ({ product_id?: number } | null)[]
    expect(handled.map((one) => one?.product_id).filter(Boolean)).toEqual(ids)
    expect(handled).toHaveLength(22)
    expect(await page.evaluate('dataLayer.length')).toBe(3)
    // The reader reads the whole array again when it is replaced; nothing is reported twice.
    await page.evaluate('dataLayer = [...dataLayer]')
    await search(page, 'end')
    await expectStored([...ids.map(seen), 'end'])
  })

test('an array without a tag manager: push returns the length, and other code may freeze or break it', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  const answers = await page.evaluate(`
    const mine = []
    mine.push(dataLayer.push(${view(1)}), dataLayer.push({}, {}))
    const broken = { get event() { throw new Error('the page\\'s own') } }
    mine.push(dataLayer.push(broken), dataLayer.push(new Proxy({}, { get() { throw 0 }, ownKeys() { throw 0 } })))
    dataLayer = Object.freeze([${view(2)}])
    dataLayer = 'text'
    dataLayer = { push() { return 'mine' } }
    mine.push(dataLayer.push(${view(3)}))
    dataLayer = []
    mine.push(dataLayer.push(${view(4)}))
    mine`)
  expect(answers).toEqual([1, 3, 4, 5, 'mine', 1])
  await expectStored([1, 2, 4].map(seen))
})

test('the page throws from its own push: the shop gets its error, the event is not lost', async ({
  page,
  shop,
  expectStored,
}) => {
  const head = `<script>dataLayer=[];dataLayer.push=()=>{throw new Error('full')}</script>${shop.tag()}`
  await page.goto(shop.page('/a', { head }))
  const error = await page.evaluate(
    `let thrown; try { dataLayer.push(${view(1)}) } catch (e) { thrown = e.message }; thrown`,
  )
  expect(error).toBe('full')
  await expectStored([seen(1)])
})

test('an object that is changed and pushed again is a new event; a change after its push is ignored', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  await page.evaluate(`
    const line = ${view(1)}
    dataLayer.push(line)
    line.product_id = 2
    dataLayer.push(line)
    dataLayer.push(line)
    line.product_id = 3
    dispatchEvent(new Event('load'))`)
  await expectStored([1, 2].map(seen))
})

test('HTML entities are decoded once; properties of prototypes are not fields', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(
    shop.page('/a', {
      head: `<script>Object.prototype.quantity='9';Object.prototype.variation={id:'x',sku:'x'};Object.prototype.product_id=5</script>${shop.tag()}`,
    }),
  )
  await page.evaluate(`
    dataLayer.push({ event: '__sm__search', search_term: 'a &#38; &#34;b&#34; &amp;lt;' })
    dataLayer.push({ event: '__sm__add_to_cart', quantity: 1, variation: { id: 1, sku: 1 } })
    dataLayer.push({ event: '__sm__add_to_wishlist', product_id: '7', variation: { id: 7, sku: 7 } })
    dataLayer.push({ event: '__sm__view_product' })
    delete Object.prototype.quantity; delete Object.prototype.variation; delete Object.prototype.product_id`)
  await expectStored([
    { event: 'search', payload: { search_term: 'a & "b" &lt;' } },
    {
      event: 'add_to_wishlist',
      payload: { product_id: 7, quantity: 1, variation: { id: '7', sku: '7' } },
    },
  ])
})

test('settings: another name and prefix, or the reader off, for each key', async ({
  page,
  customer,
  shop,
  expectStored,
}) => {
  const first = customer.another({ dataLayerName: 'shopEvents', dataLayerPrefix: 'shop.' })
  const without = customer.another({ dataLayer: false })
  const prefixed = customer.another({ eventPrefix: 'old_' })
  const head = [first, without, prefixed].map((of) => shop.tag('', of.trackingKey)).join('')
  await page.goto(shop.page('/a', { head }))
  await page.evaluate(`
    shopEvents.push({ event: 'shop.search', search_term: 'mug' }, { event: '__sm__search', search_term: 'no' })
    shopEvents.push({ event: 'shop.view_brand', name: 'Salt' })`)
  await search(page, 'end')
  await expectStored([{ event: 'search' }, { event: 'view_brand' }, 'end'], { customer: first })
  await expectStored(
    [{ event: 'old_search' }, { operation: 'viewHomepage' }, { event: 'old_search' }],
    {
      customer: prefixed,
    },
  )
  await expectStored(['end'], { customer: without })
})

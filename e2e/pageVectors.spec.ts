import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import type { KeySettings } from '../src/gateway/index.ts'
import type { Seen as Request } from './faultProxy.ts'
import { expect, keptIn, type Row, search, test } from './fixtures.ts'
import { startShop } from './shopServer.ts'

/*
 * The cases of src/tracker/fixtures/tracker.json about attributes, page views and the dataLayer. vectors.spec.ts runs
 * those about delivery.
 */

/** One case: `setup` runs before the script, `act` when the script is ready. */
type Vector = {
  readonly id: string
  readonly kind: string
  readonly input: {
    readonly setup?: string
    readonly html?: string
    readonly act?: string
    readonly option?: string
    readonly script?: string
    readonly driver?: string
  }
  readonly expected: {
    readonly events: readonly { readonly op: string; readonly fields?: object }[]
  }
}

const vectors: Vector[] = JSON.parse(
  readFileSync(new URL('../src/tracker/fixtures/tracker.json', import.meta.url), 'utf8'),
)

const OPTIONS: { readonly [option: string]: KeySettings } = {
  'ga4 on': { ga4: true },
  'automatic page events on': { pageViews: 'all' },
}

const isOfPages = ({ input: { html = '', option = '', setup = '', act = '' } }: Vector) =>
  option in OPTIONS || /data-track|dataLayer/.test(html + setup + act)

/** Acts that need a driver: real keys, and clicks that the browser trusts. */
const DRIVEN: { readonly [id: string]: (page: Page) => Promise<unknown> } = {
  'H-T-004': async (page) => {
    await page.focus('#b')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Space')
  },
  'H-T-006': (page) => Promise.all([page.waitForEvent('popup'), page.click('#a')]),
}

/** The code that the statements of an act need in the page. */
const SETUPS: { readonly [id: string]: string } = {
  'H-T-006': 'addEventListener("click",e=>setTimeout(()=>result=e.defaultPrevented))',
}
const LEAVES: { readonly [id: string]: string } = {
  'H-T-009': 'window.result=ran',
  'H-T-017': 'window.result=ran',
}

type Seen = {
  readonly page: Page
  readonly rows: readonly Row[]
  readonly sent: readonly Request[]
}
const result = (page: Page) => page.evaluate('result')

/** What a case expects of the page besides events. */
const STATEMENTS: { readonly [id: string]: (seen: Seen) => unknown } = {
  'H-T-006': async ({ page }) => {
    expect(await result(page)).toBe(false)
    expect(new URL(page.url()).pathname).toBe('/a')
  },
  'H-T-009': async ({ page }) => expect(await result(page)).toBe(1),
  'H-T-010': ({ page }) => expect(new URL(page.url()).href).toMatch(/\/a$/),
  'H-T-017': async ({ page }) => {
    expect(await result(page)).toBe(1)
    expect(await keptIn(page)).toBe(1)
  },
  'H-T-019': ({ sent }) => {
    expect(JSON.parse(sent[0]?.body ?? '')).toMatchObject({
      product_id: 7,
      variation: { id: '7-1', sku: 'A7' },
    })
  },
  'H-T-025': async ({ page }) => {
    expect(await page.evaluate('r')).toBe(42)
    expect(await page.evaluate('got')).toEqual([
      { event: 'view_item', ecommerce: { items: [{ item_id: '7' }] } },
      { event: 'x' },
    ])
  },
  'H-T-031': async ({ page }) =>
    expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([]),
}

/** Cases whose events only the next page can deliver. */
const LATE = new Set(['H-T-017'])

const ofPages = vectors.filter(isOfPages)

/** Cases per test: few enough to spread the tests over the workers. */
const CASES = 7
/** Cases that differ between engines: real keys. */
const isOfEngine = ({ kind }: Vector) => kind === 'keyboard'

const common = ofPages.filter((vector) => !isOfEngine(vector))
const groups = [ofPages.filter(isOfEngine)]
for (let from = 0; from < common.length; from += CASES)
  groups.push(common.slice(from, from + CASES))

for (const [index, cases] of groups.entries())
  test(`${cases.map(({ id }) => id).join(', ')}${index ? '' : ' @both'}`, async ({
    context,
    page,
    customer,
    wire,
    expectStored,
  }) => {
    wire.delayMs = 0
    for (const { id, kind, input, expected } of cases)
      await test.step(`${id} ${kind}`, async () => {
        const { setup = '', html = '', act = '', option = '', script = '' } = input
        const own = customer.another(OPTIONS[option])
        const keys = [own, ...(script.startsWith('two tags') ? [customer.another()] : [])]
        // Each case has its own shop and visitor.
        const shop = await startShop(wire.url, own.trackingKey)
        shop.page('/p/2')
        await context.clearCookies()
        const requests = wire.events.length
        const tags = (attributes: string) =>
          keys.map((of) => shop.tag(attributes, of.trackingKey)).join('')
        const twice = script.startsWith('the same tag') ? tags('') : ''
        const before = `<script>${SETUPS[id] ?? ''};${setup}</script>${html}${tags('')}${twice}`
        const after = DRIVEN[id] ? '' : `<script>{${act};${LEAVES[id] ?? ''}}</script>`
        await page.goto(shop.page('/a', { head: '', body: before + after }))
        await DRIVEN[id]?.(page)

        // The events of a case with page views begin with the view of its page.
        const isCounted = option.startsWith('automatic') && !setup.includes('prerendering')
        const each = expected.events.slice(0, expected.events.length / keys.length)
        const events = [
          ...(isCounted ? [{ operation: 'viewHomepage', event: 'view_page' }] : []),
          ...each.map(({ op, fields }) => ({ operation: op, ...(fields && { payload: fields }) })),
        ]
        let rows: Row[] = []
        for (const of of keys) rows = await expectStored(events, { customer: of })
        await STATEMENTS[id]?.({ page, rows, sent: wire.events.slice(requests) })

        // Unexpected events of the page would arrive before the event of the next page.
        await page.goto(shop.page('/next', { head: tags('data-page-views="off"') }))
        await search(page, 'end')
        const late = LATE.has(id) ? [{ operation: 'addToCart' }] : []
        for (const of of keys) await expectStored([...events, ...late, 'end'], { customer: of })
        await shop.close()
      })
  })

test('every case is run here, in vectors.spec.ts, or in consent.spec.ts', () => {
  const inVectors = ({ input: { html = '', option, setup = '', act = '' } }: Vector) =>
    !option && !/data-track|CONSENT|dataLayer/.test(html + setup + act)
  const left = vectors.filter((vector) => !isOfPages(vector) && !inVectors(vector))
  expect(left.map(({ id }) => id)).toEqual(['H-T-034', 'H-T-035'])
})

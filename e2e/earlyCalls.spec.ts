import type { Page } from '@playwright/test'
import { KEEPING_STUB, KEEPING_STUB_ES5, STUB, STUB_ES5 } from '../src/tracker/snippet.ts'
import { expect, expectNothingKept, keptIn, type Row, search, test } from './fixtures.ts'

/** Holds the script back until it is released. */
async function holdScript(page: Page): Promise<() => void> {
  let letThrough = () => {}
  const held = new Promise<void>((resolve) => {
    letThrough = resolve
  })
  await page.route('**/t/j/*', async (route) => {
    await held
    await route.continue()
  })
  return letThrough
}

const HOUR_MS = 3_600_000
const hoursBetween = (earlier: Row | undefined, later: Row | undefined) =>
  Math.round(((later?.at ?? 0) - (earlier?.at ?? 0)) / HOUR_MS)

const outcomes = (page: Page) =>
  page.evaluate(() => (window as unknown as { outcomes: boolean[] }).outcomes)

const STUBS = { modern: STUB, ES5: STUB_ES5 }
const KEEPING_STUBS = { modern: KEEPING_STUB, ES5: KEEPING_STUB_ES5 }

const snippet = (stub: string) => `<script>${stub}</script>`

for (const [form, stub] of Object.entries(STUBS))
  test(`calls to the stub are replayed in order, with the address and the time of the call, ${form}`, async ({
    page,
    shop,
    expectStored,
  }) => {
    await page.clock.install()
    const arrive = await holdScript(page)
    await page.goto(shop.page('/early', { head: snippet(stub) + shop.tag('async') }), {
      waitUntil: 'commit',
    })
    await page.evaluate(() => {
      const outcomes: unknown[] = []
      Object.assign(window, { outcomes })
      const note = (outcome: { ok: boolean }) => outcomes.push(outcome.ok)
      track.viewProduct({ product_id: 7 }).then(note)
      track.search({ search_term: 'early' }).then(note)
      track.search({ search_term: '' }).then(note)
      history.pushState({}, '', '/moved')
    })
    await page.clock.fastForward(HOUR_MS)
    expect(await outcomes(page)).toEqual([])
    arrive()
    await page.waitForFunction(() => typeof track.version === 'string')
    await search(page, 'late')
    const [view, , late] = await expectStored([
      { operation: 'viewProduct', payload: { product_id: '7', url: `${shop.url}/early` } },
      { operation: 'search', payload: { search_term: 'early', url: `${shop.url}/early` } },
      { operation: 'search', payload: { search_term: 'late', url: `${shop.url}/moved` } },
    ])
    expect(hoursBetween(view, late)).toBe(1)
    expect(await outcomes(page)).toEqual([true, true, false])
  })

test('if the page removes utm values before the first call, its events keep the landing address', async ({
  page,
  shop,
  expectStored,
}) => {
  const arrive = await holdScript(page)
  shop.page('/p', { head: snippet(STUB) + shop.tag('async') })
  const landing = `${shop.url}/p?utm_source=mail&utm_campaign=may`
  await page.goto(landing, { waitUntil: 'commit' })
  await page.evaluate(() => {
    history.replaceState({}, '', '/p')
    track.viewProduct({ product_id: 7 })
    track.viewProduct({ product_id: 8, url: `${location.origin}/own` })
    history.pushState({}, '', '/q')
    track.viewProduct({ product_id: 9 })
  })
  arrive()
  await expectStored(
    [landing, `${shop.url}/own`, `${shop.url}/q`].map((url) => ({ payload: { url } })),
  )
})

test('the short stub stores nothing: calls that were never replayed are lost', async ({
  page,
  shop,
}) => {
  await holdScript(page)
  await page.goto(shop.page('/a', { head: snippet(STUB) + shop.tag('async') }), {
    waitUntil: 'commit',
  })
  await search(page, 'lost')
  await page.goto(shop.page('/b', { head: '' }))
  expect(await page.evaluate(() => localStorage.length)).toBe(0)
})

for (const [form, stub] of Object.entries(KEEPING_STUBS))
  test(`the long stub keeps the calls of a visitor who leaves before the script has loaded, ${form}${form === 'modern' ? ' @both' : ''}`, async ({
    page,
    shop,
    expectStored,
  }) => {
    const head = snippet(stub) + shop.tag('async')
    await page.clock.install()
    const arrive = await holdScript(page)
    await page.goto(shop.page('/first', { head }), { waitUntil: 'commit' })
    await page.evaluate(() => {
      track.search({ search_term: 'one' })
      track.viewProduct({ product_id: 7 })
    })
    await page.goto(shop.page('/second', { head: '' }))
    expect(await keptIn(page)).toBe(2)
    arrive()
    await page.clock.fastForward(HOUR_MS)
    await page.goto(shop.page('/third', { head }))
    await search(page, 'late')
    const [one, , late] = await expectStored([
      { operation: 'search', payload: { search_term: 'one', url: `${shop.url}/first` } },
      { operation: 'viewProduct', payload: { product_id: '7', url: `${shop.url}/first` } },
      { operation: 'search', payload: { search_term: 'late', url: `${shop.url}/third` } },
    ])
    expect(hoursBetween(one, late)).toBe(1)
    await expectNothingKept(page)
  })

test('two tabs that replay the same stored call make one event', async ({
  context,
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/first', { head: snippet(KEEPING_STUB) }))
  await search(page, 'one', 'two', 'three')
  const blank = shop.page('/second', { head: '' })
  await page.goto(blank)
  expect(await keptIn(page)).toBe(3)
  const other = await context.newPage()
  await other.goto(blank)
  const third = shop.page('/third', { head: snippet(KEEPING_STUB) + shop.tag('async') })
  await Promise.all([page.goto(third), other.goto(third)])
  await expectStored(['one', 'two', 'three'])
  await expectNothingKept(page)
})

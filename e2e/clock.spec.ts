import type { Page } from '@playwright/test'
import {
  awayUntilLater,
  expect,
  expectNothingKept,
  keptIn,
  type Row,
  search,
  shiftClock,
  stopClock,
  test,
} from './fixtures.ts'

// The visitor's clock, and the order of events.

const YEAR_MS = 365.25 * 86_400_000
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** The order of a device's events: by corrected time, then by id. */
const inOrder = (rows: readonly Row[]) =>
  [...rows]
    .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
    .map(({ payload }) => payload.search_term)

/** Searches one after another, each in its own task some ms later. */
const searchSlowly = (page: Page, terms: readonly string[]) =>
  page.evaluate(async (all) => {
    for (const search_term of all) {
      track.search({ search_term })
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }, terms)

const terms = Array.from({ length: 30 }, (_, n) => `${n}`.padStart(2, '0'))

for (const [name, byMs] of [
  ['right', 0],
  ['70 years ahead', 70 * YEAR_MS],
  ['25 years behind', -25 * YEAR_MS],
  ['an hour ahead', 60 * MINUTE_MS],
] as const)
  test(`a clock that is ${name}: times and order are right, with and without retries`, async ({
    page,
    shop,
    wire,
    stored,
  }) => {
    if (byMs) await shiftClock(page, byMs)
    await page.goto(shop.page('/a'))
    // Requests take different times, some fail, and one loses its answer.
    let n = 0
    wire.always(() => {
      n++
      wire.delayMs = (n * 67) % 200
      return n === 2 ? { status: 503 } : n === 4 ? 'loseAnswer' : undefined
    })
    await searchSlowly(page, terms.slice(0, 20))
    await page.goto(shop.page('/b'))
    await searchSlowly(page, terms.slice(20))
    await expect.poll(async () => (await stored()).length, { timeout: 30_000 }).toBe(terms.length)
    const rows = await stored()
    for (const { at, receivedAt } of rows) expect(Math.abs(receivedAt - at)).toBeLessThan(MINUTE_MS)
    expect(inOrder(rows)).toEqual(terms)
  })

test.describe('an event that is too old', () => {
  test.use({ config: { maxAgeDays: 2 } })
  test('is dropped and reported, and does not block later events', async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    const clock = await stopClock(page)
    const listen = `<script>dropped=[];track.on('dropped',({reason,id})=>dropped.push([reason,id.length]))</script>`
    await page.goto(shop.page('/a', { body: listen }))
    wire.always({ status: 503 })
    await search(page, 'old')
    await expect.poll(() => wire.events.map(({ outcome }) => outcome)).toEqual([503])
    await clock.jump(3 * DAY_MS)
    wire.heal()
    await search(page, 'new')
    await expectStored(['new'])
    await expectNothingKept(page)
    expect(await page.evaluate('dropped')).toEqual([['too_old', 36]])
  })

  test('is dropped by the page that finds it days later', async ({
    context,
    page,
    shop,
    wire,
    expectStored,
  }) => {
    const tab = await context.newPage()
    await tab.goto(shop.page('/a'))
    awayUntilLater(wire)
    await search(tab, 'old')
    await expect.poll(() => keptIn(tab)).toBe(1)
    await tab.close()
    await shiftClock(page, 3 * DAY_MS)
    await page.goto(shop.page('/b'))
    await search(page, 'new')
    await expectStored(['new'])
    await expectNothingKept(page)
  })
})

test('a clock that is set back by a day between two pages: every event is delivered', async ({
  context,
  page,
  shop,
  wire,
  expectStored,
}) => {
  const tab = await context.newPage()
  await shiftClock(tab, DAY_MS)
  await tab.goto(shop.page('/a'))
  await wire.down()
  await search(tab, 'from tomorrow')
  await expect.poll(() => keptIn(tab)).toBe(1)
  await tab.close()
  await wire.up()
  await page.goto(shop.page('/b'))
  await search(page, 'now')
  await expect.poll(() => keptIn(page)).toBe(0)
  await expectStored([
    { payload: { search_term: 'now' } },
    { payload: { search_term: 'from tomorrow' } },
  ])
})

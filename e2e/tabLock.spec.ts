import type { Page } from '@playwright/test'
import { expect, expectNothingKept, search, stopClock, test } from './fixtures.ts'

// Several tabs of one shop.

const terms = (tab: number, count: number) =>
  Array.from({ length: count }, (_, n) => `${tab}-${String(n).padStart(3, '0')}`)

/** The search terms of one tab's rows, in the order of its calls. */
const ofTab = (rows: readonly { payload: { readonly [name: string]: unknown } }[], tab: number) =>
  rows.map(({ payload }) => `${payload.search_term}`).filter((term) => term.startsWith(`${tab}-`))

for (const locks of ['with Web Locks', 'without Web Locks'])
  test(`three tabs at once, 100 events each, the gateway failing for a while, ${locks}${locks.startsWith('with ') ? ' @both' : ''}`, async ({
    context,
    shop,
    wire,
    stored,
  }) => {
    if (locks === 'without Web Locks')
      await context.addInitScript(() =>
        Object.defineProperty(navigator, 'locks', { value: undefined }),
      )
    const address = shop.page('/a')
    const tabs = await Promise.all([0, 1, 2].map(() => context.newPage()))
    for (const tab of tabs) await tab.goto(address)
    wire.always({ status: 503 })
    await Promise.all(tabs.map((tab, n) => search(tab, ...terms(n, 50))))
    await expect.poll(() => wire.events.length).toBeGreaterThan(2)
    wire.heal()
    await Promise.all(tabs.map((tab, n) => search(tab, ...terms(n + 3, 50))))
    await expect.poll(async () => (await stored()).length, { timeout: 40_000 }).toBe(300)
    const rows = (await stored()).sort((a, b) => (a.id < b.id ? -1 : 1))
    for (let n = 0; n < 6; n++) expect(ofTab(rows, n)).toEqual(terms(n, 50))
    for (const tab of tabs) await expectNothingKept(tab)
    // Failed events are sent again in batches, by one tab at a time.
    expect(wire.events.length).toBeLessThan(60)
  })

test('a tab is closed while it holds the lock: another tab sends its event', async ({
  context,
  page,
  shop,
  wire,
  expectStored,
}) => {
  const address = shop.page('/a')
  const holder = await context.newPage()
  await holder.goto(address)
  wire.next({ status: 503 })
  wire.always('hang')
  await search(holder, 'one')
  await expect.poll(() => wire.events.length).toBe(2)
  expect(await heldLocks(holder)).toEqual(['track.turn'])
  await page.goto(address)
  wire.heal()
  await holder.close()
  await expectStored(['one'])
  await expectNothingKept(page)
})

test('a tab waits at most 15 s for a lock that another tab never releases', async ({
  context,
  page,
  shop,
  wire,
  expectStored,
}) => {
  wire.delayMs = 0
  const clock = await stopClock(page)
  const address = shop.page('/a')
  const broken = await context.newPage()
  await broken.goto(address)
  await broken.evaluate(
    () => void navigator.locks.request('track.turn', () => new Promise(() => {})),
  )
  await expect.poll(() => heldLocks(broken)).toEqual(['track.turn'])
  await page.goto(address)
  wire.next('lose')
  await search(page, 'one')
  await expect.poll(() => wire.events.map(({ outcome }) => outcome)).toEqual(['lost'])
  // Time for the backoff and the wait for the lock.
  await clock.pass(21_000)
  await expectStored(['one'])
  await expectNothingKept(page)
})

test('a lock manager that never answers: flush settles, and the event arrives', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.addInitScript(() => {
    navigator.locks.request = () => new Promise(() => {})
  })
  wire.delayMs = 0
  const clock = await stopClock(page)
  await page.goto(shop.page('/a'))
  wire.next('lose')
  await search(page, 'one')
  await expect.poll(() => wire.events.map(({ outcome }) => outcome)).toEqual(['lost'])
  // Until the page knows that its request has failed.
  await clock.pass(1)
  const settled = page.evaluate(() => track.flush())
  // Time for the wait for the lock.
  await clock.pass(16_000)
  expect(await settled).toEqual({ delivered: 1, dropped: 0, kept: 0 })
  await expectStored(['one'])
})

test('without Web Locks: a lease of a crashed tab does not block other tabs for ever', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.addInitScript(() => {
    Object.defineProperty(navigator, 'locks', { value: undefined })
    if (!sessionStorage.getItem('seeded'))
      localStorage.setItem('track.turn', `${Date.now() + 9 * 3_600_000}`)
    sessionStorage.setItem('seeded', 'yes')
  })
  await page.goto(shop.page('/a', { head: '' }))
  await page.evaluate((key) => {
    const id = '01900000-0000-7000-8000-000000000001'
    const payload = { did: id, event: 'search', search_term: 'left', url: location.href }
    const body = JSON.stringify({ ...payload, http_user_agent: 'x' })
    localStorage.setItem(`track.e.${id}`, `${Date.now() - 60_000} ${key} ${body}`)
  }, shop.script().split('/').at(-1) ?? '')
  await page.goto(shop.page('/b'))
  await expectStored(['left'])
})

test('a lock manager that rejects: the event is sent without the lock', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.addInitScript(() => {
    navigator.locks.request = () => Promise.reject(new DOMException('no', 'SecurityError'))
  })
  await page.goto(shop.page('/a'))
  wire.next({ status: 503 })
  await search(page, 'one')
  await expectStored(['one'])
  await expectNothingKept(page)
})

const heldLocks = (page: Page) =>
  page.evaluate(async () => (await navigator.locks.query()).held?.map(({ name }) => name))

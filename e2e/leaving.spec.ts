import type { Page } from '@playwright/test'
import { expect, expectNothingKept, search, stopClock, test } from './fixtures.ts'

// A page that is left. Requests take 150 ms to arrive.

/** Clears storage: a page that is left reads no answer, so the next page would ask about the kept events. */
const forget = (page: Page) => page.evaluate(() => localStorage.clear())

const LEAVE: Record<string, string> = {
  'a link': 'document.querySelector("a").click()',
  'a form that posts': 'document.querySelector("form").submit()',
  'location=': 'location.href="/next"',
  'location.replace': 'location.replace("/next")',
  'history.back': 'history.back()',
  'meta refresh':
    'document.head.insertAdjacentHTML("beforeend",`<meta http-equiv="refresh" content="0;url=/next">`)',
  'another site':
    'location.href=location.href.replace("localhost","127.0.0.1").replace("/a","/next")',
}

test('track, then leave in the same task, in each way to leave a page @both', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  shop.page('/next', { head: '' })
  shop.page('/thanks', { head: '' })
  const body = '<a href="/next">Next</a><form method="post" action="/order"></form>'
  const terms: string[] = []
  for (const [name, act] of Object.entries(LEAVE))
    await test.step(name, async () => {
      await page.goto(shop.page('/before', { head: '' }))
      await forget(page)
      await page.goto(shop.page('/a', { body }))
      const before = wire.events.length
      const both = [`${name}, one`, `${name}, two`]
      // In a separate task, since the navigation would take away the answer that evaluate waits for.
      await page.evaluate(
        ([leave, all]) =>
          void setTimeout(() => {
            for (const search_term of all) track.search({ search_term })
            new Function(leave)()
          }),
        [act, both] as const,
      )
      await page.waitForURL(/next|thanks|before/)
      terms.push(...both)
      await expectStored(terms)
      // In one request, sent by the page itself: the next page has no script.
      await expect
        .poll(() => wire.events.slice(before).map(({ outcome }) => outcome))
        .toEqual([200])
    })
})

/** Code that runs statements in a certain kind of task, after a click on a button. */
const CALLERS: Record<string, (statements: string) => string> = {
  'a click handler': (statements) => `button.onclick=()=>{${statements}}`,
  'a click handler, after awaits': (statements) =>
    `button.onclick=async()=>{for(let n=0;n<20;n++)await n;${statements}}`,
  'a promise callback': (statements) =>
    `button.onclick=()=>{fetch('/thanks').then((answer)=>answer.text()).then(()=>{${statements}})}`,
  'a timer': (statements) => `button.onclick=()=>{setTimeout(()=>{${statements}},50)}`,
}
/** Closing is the last, since all use one tab. */
const LAST_STATEMENTS: Record<string, string> = {
  'location.href=…': 'location.href="/next"',
  'form.submit()': 'document.forms[0].submit()',
  'window.close()': 'close()',
}

for (const [caller, inTask] of Object.entries(CALLERS))
  test(`ten calls in ${caller}, then the page is left: one request, nothing is lost @both`, async ({
    context,
    page,
    shop,
    wire,
    browserName,
    expectStored,
  }) => {
    shop.page('/next', { head: '' })
    shop.page('/thanks', { head: '' })
    await page.goto(shop.page('/blank', { head: '' }))
    /** A tab that may close itself: opened by a script, or any tab if Firefox's preference allows it. */
    const openTab = async () => {
      if (browserName === 'firefox') return context.newPage()
      const opened = page.waitForEvent('popup')
      await page.evaluate(() => void open('/blank'))
      return opened
    }
    const tab = await openTab()
    const terms: string[] = []
    for (const [last, act] of Object.entries(LAST_STATEMENTS))
      await test.step(last, async () => {
        await forget(page)
        const calls = `for(let n=0;n<10;n++)track.search({search_term:${JSON.stringify(last)}+n});${act}`
        const before = wire.events.length
        await tab.goto(
          shop.page('/a', {
            body: `<form method="post" action="/order"></form><button id="button">Go</button><script>${inTask(calls)}</script>`,
          }),
        )
        const left =
          last === 'window.close()' ? tab.waitForEvent('close') : tab.waitForURL(/next|thanks/)
        await Promise.all([left, tab.click('button').catch(() => {})])
        terms.push(...Array.from({ length: 10 }, (_, n) => `${last}${n}`))
        await expectStored(terms)
        await expect
          .poll(() => wire.events.slice(before).map(({ ids, outcome }) => [ids.length, outcome]))
          .toEqual([[10, 200]])
      })
  })

test('ten calls in a frame that is removed in the same task, or in its last listeners: nothing is lost @both', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const terms: string[] = []
  for (const type of ['', 'pagehide', 'visibilitychange', 'unload'])
    await test.step(type || 'at once', async () => {
      await page.goto(shop.page('/blank', { head: '' }))
      await forget(page)
      const calls = `for(let n=0;n<10;n++)track.search({search_term:'${type || 'call'} '+n})`
      const target = type === 'visibilitychange' ? 'document' : 'window'
      shop.page('/frame', {
        body: `<script>${type ? `${target}.addEventListener('${type}',()=>{${calls}},{once:true})` : ''}</script>`,
      })
      await page.goto(shop.page('/a', { head: '', body: '<iframe src="/frame"></iframe>' }))
      await page.evaluate(
        (statements) => {
          const inner = (frames[0] as Window & typeof globalThis).window as unknown as {
            eval(text: string): void
          }
          inner.eval(statements)
          document.querySelector('iframe')?.remove()
        },
        type ? '' : calls,
      )
      terms.push(...Array.from({ length: 10 }, (_, n) => `${type || 'call'} ${n}`))
      await expectStored(terms)
      await expect.poll(() => wire.events.every(({ outcome }) => outcome === 200)).toBe(true)
    })
})

test('a chain of pages, each left at once: every event is stored once @both', async ({
  page,
  shop,
  expectStored,
}) => {
  const LAST = 12
  for (let n = 0; n <= LAST; n++)
    shop.page(`/${n}`, {
      body: `<script>track.search({search_term:'page ${n}'});${n < LAST ? `location.href='/${n + 1}'` : ''}</script>`,
    })
  await page.goto(`${shop.url}/0`).catch(() => {})
  await page.waitForURL(`**/${LAST}`)
  await expectStored(Array.from({ length: LAST + 1 }, (_, n) => `page ${n}`))
  await expectNothingKept(page)
})

test('a chain of pages while a third of the requests fail', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const LAST = 9
  for (let n = 0; n <= LAST; n++)
    shop.page(`/${n}`, {
      body: `<script>track.search({search_term:'page ${n}'});${n < LAST ? `setTimeout(()=>{location.href='/${n + 1}'},100)` : ''}</script>`,
    })
  const faults = [{ status: 503 }, 'lose', 'loseAnswer'] as const
  let count = 0
  wire.always(() => (count++ % 3 === 0 ? faults[((count / 3) % 3) | 0] : undefined))
  await page.goto(`${shop.url}/0`).catch(() => {})
  await page.waitForURL(`**/${LAST}`)
  await expectStored(
    Array.from({ length: LAST + 1 }, (_, n) => `page ${n}`),
    { timeout: 40_000 },
  )
  await expectNothingKept(page)
})

test('track, then close the tab @both', async ({ context, page, shop, expectStored }) => {
  const tab = await context.newPage()
  await tab.goto(shop.page('/a'))
  await page.goto(shop.page('/other', { head: '' }))
  await search(tab, 'one', 'two', 'three')
  await tab.close()
  await page.goto(shop.page('/next'))
  await expectStored(['one', 'two', 'three'])
})

test('track in pagehide itself, and in visibilitychange @both', async ({
  page,
  shop,
  expectStored,
}) => {
  const body = `<script>
    addEventListener('pagehide', () => track.search({ search_term: 'pagehide' }))
    document.addEventListener('visibilitychange', () => track.search({ search_term: 'visibilitychange' }))</script>`
  await page.goto(shop.page('/a', { body }))
  await page.goto(shop.page('/next', { head: '' }))
  await expectStored(['pagehide', 'visibilitychange'])
})

test('a hidden tab with a failed event is discarded: the event is not lost', async ({
  context,
  page,
  shop,
  wire,
  expectStored,
}) => {
  const tab = await context.newPage()
  const clock = await stopClock(tab)
  await tab.goto(shop.page('/a'))
  wire.always({ status: 503 })
  await search(tab, 'one')
  await expect.poll(() => wire.events.map(({ outcome }) => outcome)).toEqual([503])
  while (wire.events.length < 2) await clock.pass(100)
  // Longer than an event that has just failed waits, and shorter than the second backoff.
  await clock.pass(1_100)
  expect(wire.events).toHaveLength(2)
  await setVisibility(tab, 'hidden')
  // It is sent again when the page is hidden, without the backoff: the page may not run again.
  await expect.poll(() => wire.events.length).toBe(3)
  await search(tab, 'two')
  await tab.close()
  wire.heal()
  // It was stopped for all tabs.
  await page.clock.resume()
  await page.goto(shop.page('/next'))
  await expectStored(['one', 'two'])
})

test('a page that is hidden and shown again reads answers and retries as usual', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  await setVisibility(page, 'hidden')
  await setVisibility(page, 'visible')
  wire.next({ status: 503 })
  await search(page, 'one')
  await expectStored(['one'])
  await expectNothingKept(page)
  await expect.poll(() => wire.events.map(({ outcome }) => outcome)).toEqual([503, 207, 200])
})

test('an open request is not sent again when the page is left', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  wire.always({ slowMs: 1500 })
  await page.goto(shop.page('/a'))
  await search(page, 'one')
  await expect.poll(() => wire.events.length).toBe(1)
  await page.evaluate(() => void dispatchEvent(new Event('pagehide')))
  await expectStored(['one'])
  await expectNothingKept(page)
  expect(wire.events).toHaveLength(1)
})

test('a prerendered page keeps and sends nothing until it is shown', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const prerendering = (on: boolean) => `<script>
    Object.defineProperty(document,'prerendering',{configurable:true,get:()=>${on}})</script>`
  const body = '<script>track.search({search_term:"early"})</script>'
  await page.goto(shop.page('/a', { head: prerendering(true) + shop.tag(), body }))
  expect(await page.evaluate(() => localStorage.length)).toBe(0)
  expect(wire.events).toEqual([])
  await page.goto(shop.page('/b', { head: prerendering(true) + shop.tag(), body }))
  expect(wire.events).toEqual([])
  await page.evaluate(() => {
    Object.defineProperty(document, 'prerendering', { get: () => false })
    document.dispatchEvent(new Event('prerenderingchange'))
  })
  await search(page, 'shown')
  await expectStored(['early', 'shown'])
  await expectNothingKept(page)
})

/** Hides the page, as a browser does when another tab is shown; headless browsers show every tab. */
function setVisibility(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  return page.evaluate((value) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => value })
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => value === 'hidden' })
    document.dispatchEvent(new Event('visibilitychange'))
  }, state)
}

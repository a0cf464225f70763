import type { Page } from '@playwright/test'
import { chromium } from '@playwright/test'
import { findBrowsers } from './browsers.mjs'
import { expect, expectNothingKept, search, test } from './fixtures.ts'

// A page that is left. The wire takes 150 ms.

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

for (const [name, act] of Object.entries(LEAVE))
  test(`track, then leave in the same task by ${name} @both`, async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    shop.page('/next', { head: '' })
    shop.page('/thanks', { head: '' })
    await page.goto(shop.page('/before', { head: '' }))
    const body = '<a href="/next">Next</a><form method="post" action="/order"></form>'
    await page.goto(shop.page('/a', { body }))
    // In a task of the page's own: evaluate would wait for an answer that the navigation takes away.
    await page.evaluate(
      (leave) =>
        void setTimeout(() => {
          for (const search_term of ['one', 'two']) track.search({ search_term })
          new Function(leave)()
        }),
      act,
    )
    await page.waitForURL(/next|thanks|before/)
    await expectStored(['one', 'two'])
    // In one request, from the page itself: the next one has no script that could have sent them.
    await expect.poll(() => wire.events.map(({ outcome }) => outcome)).toEqual([200])
  })

const TEN = Array.from({ length: 10 }, (_, n) => `call ${n}`)

/** Statements that are reached in a task of this kind, by a button that is clicked. */
const CALLERS: Record<string, (statements: string) => string> = {
  'a click handler': (statements) => `button.onclick=()=>{${statements}}`,
  'a click handler, after awaits': (statements) =>
    `button.onclick=async()=>{for(let n=0;n<20;n++)await n;${statements}}`,
  'a promise callback': (statements) =>
    `button.onclick=()=>{fetch('/thanks').then((answer)=>answer.text()).then(()=>{${statements}})}`,
  'a timer': (statements) => `button.onclick=()=>{setTimeout(()=>{${statements}},50)}`,
}
const LAST_STATEMENTS: Record<string, string> = {
  'location.href=…': 'location.href="/next"',
  'form.submit()': 'document.forms[0].submit()',
  'window.close()': 'close()',
}

for (const [caller, inTask] of Object.entries(CALLERS))
  for (const [last, act] of Object.entries(LAST_STATEMENTS))
    test(`ten calls in ${caller}, then ${last}: one request, nothing lost @both`, async ({
      page,
      shop,
      wire,
      expectStored,
    }) => {
      shop.page('/next', { head: '' })
      shop.page('/thanks', { head: '' })
      const calls = `for(let n=0;n<10;n++)track.search({search_term:'call '+n});${act}`
      shop.page('/a', {
        body: `<form method="post" action="/order"></form><button id="button">Go</button><script>${inTask(calls)}</script>`,
      })
      // A window that a script has opened may close itself.
      await page.goto(shop.page('/opener', { head: '' }))
      const opened = page.waitForEvent('popup')
      await page.evaluate(() => void open('/a'))
      const tab = await opened
      await tab.waitForFunction(() => typeof track === 'object' && document.querySelector('button'))
      await tab.click('button').catch(() => {})
      await expectStored(TEN)
      await expect
        .poll(() => wire.events.map(({ ids, outcome }) => [ids.length, outcome]))
        .toEqual([[10, 200]])
    })

for (const type of ['', 'pagehide', 'visibilitychange', 'unload'])
  test(`ten calls in a frame that is removed in the same task${type && `, in ${type}`}: nothing lost @both`, async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    const calls = "for(let n=0;n<10;n++)track.search({search_term:'call '+n})"
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
    await expectStored(TEN)
    await expect.poll(() => wire.events.every(({ outcome }) => outcome === 200)).toBe(true)
  })

test('a chain of pages, each left at once: nothing lost, nothing twice @both', async ({
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

for (const type of ['pagehide', 'visibilitychange'])
  test(`track in ${type} itself @both`, async ({ page, shop, expectStored }) => {
    const body = `<script>(${JSON.stringify(type)}==='pagehide'?window:document).addEventListener('${type}',()=>track.search({search_term:'leaving'}))</script>`
    await page.goto(shop.page('/a', { body }))
    await page.goto(shop.page('/next', { head: '' }))
    await expectStored(['leaving'])
  })

test('a hidden tab that is discarded, with a failed event in hand', async ({
  context,
  page,
  shop,
  wire,
  expectStored,
}) => {
  const tab = await context.newPage()
  await tab.goto(shop.page('/a'))
  wire.always({ status: 503 })
  await search(tab, 'one')
  await expect.poll(() => wire.events.map(({ outcome }) => outcome)).toEqual([503])
  await setVisibility(tab, 'hidden')
  // Once more when the page is hidden, whatever the backoff: it may be the last moment.
  await expect.poll(() => wire.events.length).toBe(2)
  await search(tab, 'two')
  await tab.close()
  wire.heal()
  await page.goto(shop.page('/next'))
  await expectStored(['one', 'two'])
})

test('hidden and shown again: the usual way, answers read, retries working', async ({
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

test('a request on its way is not sent again when the page is left', async ({
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

test('back/forward cache: frozen with requests in flight, restored', async ({
  shop,
  wire,
  watch,
  expectStored,
}) => {
  const browser = await chromium.launch({
    executablePath: (await findBrowsers()).chromium ?? '',
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
  })
  const context = await browser.newContext()
  watch.add(context)
  const page = await context.newPage()
  await page.goto(
    shop.page('/a', {
      body: '<script>addEventListener("pageshow",e=>{restored=e.persisted})</script>',
    }),
  )
  shop.page('/next', { head: '<script>addEventListener("click",()=>history.back())</script>' })
  wire.always({ status: 503 })
  await search(page, 'failed')
  await expect.poll(() => wire.events.length).toBe(1)
  wire.always({ slowMs: 500 })
  await page.evaluate(() => {
    track.search({ search_term: 'in flight' })
    location.href = '/next'
  })
  await page.waitForURL('**/next')
  wire.heal()
  await page.click('html')
  await page.waitForURL('**/a', { waitUntil: 'commit' })
  expect(await page.evaluate('restored')).toBe(true)
  await search(page, 'after')
  await expectStored(['failed', 'in flight', 'after'])
  await expectNothingKept(page)
  await browser.close()
})

test('prerendered and never shown: nothing stored, nothing sent; shown: as usual', async ({
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

/** As the browser does when another tab is shown; headless browsers show every tab. */
function setVisibility(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  return page.evaluate((value) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => value })
    document.dispatchEvent(new Event('visibilitychange'))
  }, state)
}

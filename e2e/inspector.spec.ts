import type { Locator, Page } from '@playwright/test'
import { expect, expectNothingKept, search, shiftClock, test } from './fixtures.ts'

/** A product page, as a shop may have it. */
const BODY = `
  <form id="find" action="/results"><input type="search" name="q"></form>
  <button id="add" data-track="addToCart" data-track-product-id="12" data-track-variation-id="1" data-track-variation-sku="s">Add to cart</button>
  <button id="bad" data-track="addToCart" data-track-product-id="12-34" data-track-variation-id="1" data-track-variation-sku="s">Add</button>
  <p style="height: 150vh">Text</p>`

/** Every policy that a shop may have against foreign styles and markup. */
const strict = (gateway: string) =>
  `default-src 'none'; img-src data:; script-src ${gateway}; connect-src ${gateway}; style-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'`

type Watched = Window & {
  readonly violations: string[]
  /** Elements of the page that moved without an action of the visitor: name, and place before and after. */
  readonly shifts: string[]
}

/** The panel's shadow root is closed. Tests open it, and record what the page's policy forbids. */
const openRoots = (page: Page) =>
  page.addInitScript(() => {
    const { attachShadow } = Element.prototype
    Element.prototype.attachShadow = function (init) {
      return attachShadow.call(this, { ...init, mode: 'open' })
    }
    const own = window as unknown as { violations: string[]; shifts: string[] }
    own.violations = []
    addEventListener('securitypolicyviolation', (event) =>
      own.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    )
    own.shifts = []
    type Shift = {
      readonly sources: readonly {
        readonly node: Node | null
        readonly previousRect: DOMRectReadOnly
        readonly currentRect: DOMRectReadOnly
      }[]
    }
    new PerformanceObserver((list) => {
      // Rows that move inside the panel have no node here.
      for (const { sources } of list.getEntries() as unknown as Shift[])
        for (const { node, previousRect, currentRect } of sources)
          if (node)
            own.shifts.push(
              `${node.nodeName} ${JSON.stringify(previousRect)} ${JSON.stringify(currentRect)}`,
            )
    }).observe({ type: 'layout-shift', buffered: true })
  })

const violations = (page: Page) => page.evaluate(() => (window as unknown as Watched).violations)
const panelOf = (page: Page): Locator => page.locator('shoptrail-inspector .frame')
const rowsOf = (page: Page): Locator => panelOf(page).locator('.row')
const tab = (page: Page, name: string): Locator => panelOf(page).getByRole('tab', { name })

test.describe('with an open root', () => {
  test.beforeEach(({ page }) => openRoots(page))

  test('@both under the strictest policy: every event with its life, and no violation', async ({
    page,
    shop,
    wire,
    browserName,
  }) => {
    // Firefox has no layout-shift entries, which it reports as a warning only.
    shop.page('/a', {
      body: BODY.replace(/ style="[^"]*"/, ''),
      headers: { 'content-security-policy': strict(wire.url) },
    })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(panelOf(page)).toBeVisible()
    await page.click('#add')
    await expect(rowsOf(page).first()).toContainText(
      /addToCart #12 × 1.*delivered · \d+ ms.*attribute <button id="add">/,
    )
    await search(page, 'mug')
    await expect(rowsOf(page).first()).toContainText(/search mug.*delivered · \d+ ms.*helper/)

    // Invalid: the path, the full rule, the value, and the fix.
    await page.click('#bad')
    await expect(rowsOf(page).first()).toContainText('invalid')
    await rowsOf(page).first().click()
    const problem = panelOf(page).locator('.problem')
    await expect(problem).toContainText(
      'product_idExpected a whole number from 1, of at most 2048 digits, received "12-34"',
    )
    await expect(problem).toContainText('fixCorrect the fields')
    await expect(panelOf(page).locator('pre')).toContainText('"product_id": "12-34"')
    for (const name of ['Not tracked', 'State', 'Events']) await tab(page, name).click()

    const box = await panelOf(page).boundingBox()
    expect(box?.width).toBeGreaterThan(400)
    expect(await violations(page), browserName).toEqual([])
  })

  test('an element is outlined while its event is hovered, and is not changed', async ({
    page,
    shop,
  }) => {
    shop.page('/a', { body: BODY })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await page.click('#add')
    const before = await page.locator('#add').evaluate((element) => element.outerHTML)
    await rowsOf(page).first().hover()
    const outline = page.locator('shoptrail-inspector .outline')
    await expect(outline).toBeVisible()
    const [frame, element] = [await outline.boundingBox(), await page.locator('#add').boundingBox()]
    expect(frame?.x).toBeCloseTo((element?.x ?? 0) - 2, 0)
    expect(frame?.y).toBeCloseTo((element?.y ?? 0) - 2, 0)
    expect(frame?.width).toBeCloseTo((element?.width ?? 0) + 4, 0)
    // It follows the element.
    await page.evaluate(() => scrollTo(0, 20))
    await expect
      .poll(async () => (await outline.boundingBox())?.y)
      .toBeCloseTo((frame?.y ?? 0) - 20, 0)
    await page.mouse.move(5, 300)
    await expect(outline).toBeHidden()
    expect(await page.locator('#add').evaluate((one) => one.outerHTML)).toBe(before)
  })

  test('a duplicate names the event that it repeats, and a push shows the pushed object', async ({
    page,
    shop,
  }) => {
    shop.page('/a', { body: BODY })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(panelOf(page)).toBeVisible()
    await page.click('#add')
    await page.evaluate(
      "dataLayer.push({event:'__sm__add_to_cart',product_id:'12',quantity:'1',variation:{id:'1',sku:'s'},mine:'x'})",
    )
    const row = rowsOf(page).first()
    await expect(row).toContainText(/addToCart #12 × 1.*duplicate.*push/)
    await row.click()
    await expect(panelOf(page).locator('pre', { hasText: '"mine": "x"' })).toBeVisible()
    const first = panelOf(page).getByRole('button', {
      name: /addToCart #12 × 1 \(attribute <button id="add">, .+ before\)/,
    })
    await first.click()
    await expect(rowsOf(page).nth(1)).toBeFocused()
    await expect(rowsOf(page).nth(1)).toHaveAttribute('aria-expanded', 'true')
  })

  test('an event whose requests fail is held, with the status and what to do, then delivered', async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    wire.always({ status: 403, body: { message: 'no' } })
    shop.page('/a')
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(panelOf(page)).toBeVisible()
    await search(page, 'mug')
    await expect(rowsOf(page).first()).toContainText('held · 403')
    await rowsOf(page).first().click()
    await expect(panelOf(page).locator('.problem')).toContainText(
      'npx shoptrail customer set ID --origin',
    )
    await tab(page, 'State').click()
    await expect(panelOf(page).getByRole('row', { name: /search/ })).toContainText(
      /\d (s|ms|min)[1-9]/,
    )
    wire.heal()
    // Again, if a retry was open that the gateway has still refused, or that was delivered meanwhile.
    await expect(async () => {
      await panelOf(page).getByRole('button', { name: 'Flush' }).click()
      await expect(panelOf(page).getByRole('status')).toHaveText(
        /^Delivered [01], kept 0, dropped 0\.$/,
        { timeout: 2000 },
      )
    }).toPass()
    await tab(page, 'Events').click()
    await expect(panelOf(page).locator('.life')).toContainText(
      /checked and kept.*being sent.*answered 403.*delivered/,
    )
    await expectStored(['mug'])
  })

  test('an event that the gateway refuses says why, and one of an earlier page is shown', async ({
    page,
    shop,
    wire,
  }) => {
    shop.page('/a')
    wire.always({ status: 503 })
    await page.goto(shop.page('/b'))
    await search(page, 'earlier')
    await expect.poll(() => wire.events.length).toBeGreaterThan(0)
    wire.heal()
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(rowsOf(page).first()).toHaveText(
      /^search earlier.*delivered.*another page[\d:.]+$/,
    )
    wire.always(({ ids }) => ({ status: 422, body: { message: 'Not this one', id: ids[0] } }))
    await search(page, 'mug')
    await expect(rowsOf(page).first()).toContainText('refused')
    await rowsOf(page).first().click()
    await expect(panelOf(page).locator('.problem')).toContainText('seen422 Not this one')
  })

  test('two keys: an event has a life for each, and the list can be limited to one', async ({
    page,
    shop,
    customer,
  }) => {
    const other = customer.another({ pageViews: 'off', eventPrefix: 'de_' })
    shop.page('/a', { head: shop.tag() + shop.tag('data-source="b"', other.trackingKey) })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(panelOf(page)).toBeVisible()
    await search(page, 'mug')
    await expect(rowsOf(page).first().locator('.state')).toHaveCount(2)
    for (const key of [customer.trackingKey, other.trackingKey])
      await expect(rowsOf(page).first()).toContainText(RegExp(`${key} delivered`))
    await rowsOf(page).first().click()
    await expect(panelOf(page).locator('pre', { hasText: '"event": "de_search"' })).toBeVisible()
    await panelOf(page).getByLabel('Tracking key').selectOption(other.trackingKey)
    await expect(rowsOf(page).first()).toContainText('mug')
    await tab(page, 'State').click()
    const settings = panelOf(page).getByRole('region', { name: `Key ${other.trackingKey}` })
    await expect(settings.getByRole('row', { name: 'source' })).toContainText('btag')
    await expect(settings.getByRole('row', { name: 'eventPrefix' })).toContainText('de_key')
  })

  test('the rules of the page do not reach into the panel, and nothing lies above it', async ({
    page,
    shop,
  }) => {
    const head = `<style>
      * { all: unset !important; display: none !important; color: red !important; font-size: 90px !important }
      :host, :root > * { visibility: hidden !important; opacity: 0 !important; transform: scale(0) !important }
      html, body, #over { display: block !important }
      #over { position: fixed !important; inset: 0 !important; z-index: 2147483647 !important; background: white !important }
      button, section, .frame, .row { width: 1px !important }
    </style>${shop.tag()}`
    shop.page('/a', { head, body: '<div id="over"></div>' })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await search(page, 'mug')
    await expect(rowsOf(page).first()).toContainText('delivered')
    const box = await panelOf(page).boundingBox()
    expect(box?.width).toBe(430)
    expect(
      await page.evaluate(([x, y]) => document.elementFromPoint(x, y)?.localName, [
        (box?.x ?? 0) + 200,
        (box?.y ?? 0) + 100,
      ] as const),
    ).toBe('shoptrail-inspector')
    expect(
      await rowsOf(page)
        .first()
        .evaluate((row) => getComputedStyle(row).fontSize),
    ).toBe('13px')
    await rowsOf(page).first().click()
    await expect(panelOf(page).locator('.life')).toBeVisible()
  })

  test('a page that extends the prototypes and has a track of its own', async ({ page, shop }) => {
    const head = `<script>
      Object.prototype.evil = 'x'; Object.prototype.each = function () { window.hit = true }; Object.prototype.title = 'evil'
      Object.prototype.toJSON = undefined; Array.prototype.each = function () {}; Array.prototype.evil = 1
      window.track = function () { return 'mine' }
    </script>${shop.tag()}`
    shop.page('/a', { head })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(panelOf(page)).toBeVisible()
    await page.evaluate("shoptrail.search({ search_term: 'mug' })")
    await expect(rowsOf(page).first()).toContainText(/search mug.*delivered/)
    await rowsOf(page).first().click()
    for (const name of ['Not tracked', 'State']) await tab(page, name).click()
    expect(
      await page.locator('shoptrail-inspector :is([evil], [title=evil], [title=""])').count(),
    ).toBe(0)
    expect(await page.evaluate('[String(track()), String(window.hit)]')).toEqual([
      'mine',
      'undefined',
    ])
  })

  test('@both it changes nothing: elements, globals, functions, focus, layout, events and listeners of the page', async ({
    page,
    shop,
    stored,
  }) => {
    const body = `${BODY}<input id="field"><script>
      window.heard = []
      for (const type of ['click', 'keydown', 'focusin', 'pointerdown', 'input']) {
        document.addEventListener(type, () => heard.push(type))
        document.body.addEventListener(type, () => heard.push('body ' + type), true)
      }
    </script>`
    // Drawn when it is parsed: otherwise a slow browser draws a button without its text first, which then moves.
    const head = `<link rel="expect" href="#field" blocking="render">${shop.tag()}`
    shop.page('/a', { head, body })
    const visit = async (query: string) => {
      await page.goto(`${shop.url}/a${query}`)
      if (query) await expect(panelOf(page)).toBeVisible()
      await page.focus('#field')
      await page.click('#add')
      await page.focus('#field')
      await page.evaluate(() => track.search({ search_term: 'mug' }))
      await expectNothingKept(page)
      await page.evaluate('heard.length = 0')
      if (query) {
        // The visitor uses the panel with the pointer only: the focus of the page moves as at any click.
        await rowsOf(page).first().hover()
        await page.mouse.move(5, 400)
      }
      return page.evaluate(() => {
        const host = document.querySelector('shoptrail-inspector')
        host?.remove()
        const { fetch, history, XMLHttpRequest, performance } = window
        return {
          html: document.documentElement.outerHTML,
          globals: Object.getOwnPropertyNames(window).sort(),
          functions: [
            fetch,
            history.pushState,
            XMLHttpRequest.prototype.send,
            EventTarget.prototype.addEventListener,
            console.warn,
            Array.prototype.push,
          ].map((one) => /\[native code\]/.test(String(one))),
          focused: document.activeElement?.id,
          scroll: [scrollX, scrollY],
          size: [document.documentElement.scrollWidth, document.documentElement.scrollHeight],
          local: Object.keys(localStorage),
          marks: performance.getEntriesByType('mark').length,
          heard: (window as unknown as { heard: string[] }).heard,
          shifts: (window as unknown as Watched).shifts,
        }
      })
    }
    const without = await visit('')
    const withPanel = await visit('?track_debug=1')
    expect(withPanel).toEqual(without)
    expect(withPanel.heard).toEqual([])
    // In the order of the calls, which ids have. Two requests may arrive in another one.
    const events = [...(await stored())]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ operation, payload }) => [operation, payload.product_id ?? payload.search_term])
    expect(events.slice(2)).toEqual(events.slice(0, 2))
    expect(events).toHaveLength(4)
  })

  test('what is done in the panel is not for the page: no click, no key, no event of the script', async ({
    page,
    shop,
    stored,
  }) => {
    const body = `<div data-track="initiateCheckout" id="all">Shop</div><script>
      window.heard = []
      for (const type of ['click', 'keydown', 'keyup', 'focusin', 'pointerdown', 'change'])
        document.addEventListener(type, () => heard.push(type))
    </script>`
    shop.page('/a', { body })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await search(page, 'mug')
    await rowsOf(page).first().click()
    await page.keyboard.press('/')
    for (const name of ['Not tracked', 'State', 'Events']) await tab(page, name).click()
    await panelOf(page).getByRole('button', { name: 'Problems' }).click()
    expect(await page.evaluate('heard')).toEqual([])
    await expectNothingKept(page)
    expect((await stored()).map(({ operation }) => operation)).toEqual(['search'])
  })

  test('moved by keys and by the pointer, remembered for the tab, and kept within the window', async ({
    page,
    shop,
    context,
  }) => {
    shop.page('/a')
    await page.goto(`${shop.url}/a?track_debug=1`)
    const panel = panelOf(page)
    await expect(panel).toBeVisible()
    expect(await page.evaluate(() => sessionStorage.getItem('track.panel'))).toBeNull()
    const start = await panel.boundingBox()
    const move = panel.getByRole('button', { name: 'Move the panel with the arrow keys' })
    await move.focus()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Shift+ArrowLeft')
    const moved = await panel.boundingBox()
    expect(moved?.x).toBeCloseTo((start?.x ?? 0) - 80, 0)
    expect(moved?.y).toBeCloseTo(start?.y ?? 0, 0)

    await page.mouse.move((moved?.x ?? 0) + 200, (moved?.y ?? 0) + 15)
    await page.mouse.down()
    await page.mouse.move(260, 60, { steps: 3 })
    await page.mouse.up()
    const dragged = await panel.boundingBox()
    expect(dragged?.x).toBeCloseTo(60, 0)
    expect(dragged?.y).toBeCloseTo(45, 0)

    await tab(page, 'State').click()
    await page.goto(`${shop.url}/a`)
    await expect(tab(page, 'State')).toHaveAttribute('aria-selected', 'true')
    expect(await panel.boundingBox()).toEqual(dragged)
    await page.setViewportSize({ width: 640, height: 400 })
    await expect.poll(async () => (await panel.boundingBox())?.x).toBeLessThan(640 - 60)

    const other = await context.newPage()
    await openRoots(other)
    await other.goto(`${shop.url}/a?track_debug=1`)
    await expect(tab(other, 'Events')).toHaveAttribute('aria-selected', 'true')
  })

  test('Escape closes it and the shortcut opens it, unless the page uses that key; the focus returns', async ({
    page,
    shop,
  }) => {
    shop.page('/a', { body: '<input id="field"><dialog id="dialog">Hello</dialog>' })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(panelOf(page)).toBeVisible()
    await page.focus('#field')
    // Outside the panel the key is the page's.
    await page.keyboard.press('Escape')
    await expect(panelOf(page)).toBeVisible()
    await page.keyboard.press('Alt+Shift+KeyT')
    await expect(page.locator('shoptrail-inspector')).toHaveCount(0)
    await page.keyboard.press('Alt+Shift+KeyT')
    await expect(tab(page, 'Events')).toBeFocused()
    await page.keyboard.press('ArrowRight')
    await expect(tab(page, 'Not tracked')).toBeFocused()
    await expect(tab(page, 'Not tracked')).toHaveAttribute('aria-selected', 'true')
    await page.keyboard.press('Escape')
    await expect(page.locator('shoptrail-inspector')).toHaveCount(0)
    await expect(page.locator('#field')).toBeFocused()
    // It stays closed on the next page of the tab, until the address or the helper asks for it again.
    await page.goto(`${shop.url}/a`)
    await search(page, 'mug')
    await expect(page.locator('shoptrail-inspector')).toHaveCount(0)
    await page.evaluate(() => track.debug(true))
    await expect(panelOf(page)).toBeVisible()
    await panelOf(page).getByRole('button', { name: 'Close' }).click()
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(panelOf(page)).toBeVisible()
    await panelOf(page).getByRole('button', { name: 'Close' }).click()
    await page.evaluate("addEventListener('keydown', (event) => event.preventDefault(), true)")
    await page.keyboard.press('Alt+Shift+KeyT')
    await expect(page.locator('shoptrail-inspector')).toHaveCount(0)
  })

  test('focus and unfolded events stay while events arrive', async ({ page, shop }) => {
    shop.page('/a')
    await page.goto(`${shop.url}/a?track_debug=1`)
    await search(page, 'first')
    await rowsOf(page).first().click()
    await page.evaluate(() => track.search({ search_term: 'second' }))
    await expect(rowsOf(page)).toHaveCount(2)
    await expect(rowsOf(page).nth(1)).toBeFocused()
    await expect(rowsOf(page).nth(1)).toHaveAttribute('aria-expanded', 'true')
    await expect(rowsOf(page).first()).toHaveAttribute('aria-expanded', 'false')
  })

  test('a page that has broken what the panel needs still has the console', async ({
    page,
    shop,
    context,
  }) => {
    const lines: string[] = []
    context.on('console', (message) => lines.push(message.text()))
    shop.page('/a', { head: `<script>window.requestAnimationFrame = null</script>${shop.tag()}` })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect.poll(() => lines[0]).toMatch(/The panel over the page could not start/)
    await page.evaluate("track.search({ search_term: '' })")
    await expect.poll(() => lines[1]).toMatch(/search was not sent \(invalid\)/)
  })

  test('a page that breaks it later gets no error, and the console says so', async ({
    page,
    shop,
    context,
  }) => {
    const lines: string[] = []
    context.on('console', (message) => lines.push(message.text()))
    shop.page('/a')
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(panelOf(page)).toBeVisible()
    await page.evaluate(() => {
      const own = window as unknown as { filter: unknown }
      own.filter = Array.prototype.filter
      Array.prototype.filter = () => {
        throw new Error('mine')
      }
      track.search({ search_term: 'mug' })
    })
    await expect
      .poll(() => lines.join())
      .toMatch(/the panel is closed, since the page has replaced/)
    await page.evaluate(() => {
      Array.prototype.filter = (
        window as unknown as { filter: typeof Array.prototype.filter }
      ).filter
      track.search({ search_term: '' })
    })
    await expect.poll(() => lines.join()).toMatch(/search was not sent \(invalid\)/)
    await expect(page.locator('shoptrail-inspector')).toHaveCount(0)
  })

  test('a page that replaces its document, also its root element, has the panel again', async ({
    page,
    shop,
    expectStored,
  }) => {
    shop.page('/a')
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(panelOf(page)).toBeVisible()
    await page.evaluate(async () => {
      const root = document.documentElement
      root.remove()
      await track.search({ search_term: 'without a root' })
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
      document.append(root)
      track.search({ search_term: 'with it' })
    })
    await expect(rowsOf(page)).toHaveCount(2)
    await page.evaluate(() => {
      document.open()
      document.write('<p>Another page</p>')
      document.close()
      track.search({ search_term: 'written' })
    })
    await expect(rowsOf(page)).toHaveCount(3)
    await expectStored(['without a root', 'with it', 'written'])
  })

  test('on a page that is written from right to left it is written from left to right', async ({
    page,
    shop,
  }) => {
    shop.page('/a')
    await page.goto(`${shop.url}/a?track_debug=1`)
    await page.evaluate("document.documentElement.dir = 'rtl'")
    await search(page, 'mug')
    expect(await panelOf(page).evaluate((frame) => getComputedStyle(frame).direction)).toBe('ltr')
    expect(await panelOf(page).getAttribute('lang')).toBe('en')
  })

  test('nothing is drawn while it is minimised, and at most once a frame while it is open', async ({
    page,
    shop,
  }) => {
    shop.page('/a')
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(panelOf(page)).toBeVisible()
    const count = (terms: number) =>
      page.evaluate(async (all) => {
        const root = document.querySelector('shoptrail-inspector')?.shadowRoot as ShadowRoot
        const frames = new Set<number>()
        let changes = 0
        let frame = 0
        let isCounting = true
        const tick = () => {
          frame++
          if (isCounting) requestAnimationFrame(tick)
        }
        requestAnimationFrame(tick)
        const observer = new MutationObserver(() => {
          changes++
          frames.add(frame)
        })
        observer.observe(root, {
          childList: true,
          subtree: true,
          characterData: true,
          attributes: true,
        })
        for (let i = 0; i < all; i++) track.search({ search_term: `${i}` })
        await track.flush()
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
        isCounting = false
        return [changes, frames.size]
      }, terms)
    const [changes = 0, frames = 0] = await count(40)
    expect(changes).toBeGreaterThan(0)
    expect(changes).toBeLessThanOrEqual(frames)
    await panelOf(page).getByRole('button', { name: 'Minimise' }).click()
    await expect(rowsOf(page)).toHaveCount(0)
    expect(await count(40)).toEqual([0, 0])
    await panelOf(page).getByRole('button', { name: 'Open the shoptrail inspector' }).click()
    await expect(rowsOf(page)).toHaveCount(80)
  })

  test('at most 300 events are listed', async ({ page, shop }) => {
    shop.page('/a')
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(panelOf(page)).toBeVisible()
    await search(page, ...Array.from({ length: 400 }, (_, i) => `term ${i}`))
    await expect(rowsOf(page)).toHaveCount(300)
    await expect(panelOf(page)).toContainText('100 older events are not listed any more.')
  })

  test('a phone gets a sheet at the bottom', async ({ page, shop }) => {
    await page.setViewportSize({ width: 390, height: 844 })
    shop.page('/a')
    await page.goto(`${shop.url}/a?track_debug=1`)
    await expect(panelOf(page)).toBeVisible()
    const box = await panelOf(page).boundingBox()
    expect(box?.x).toBe(0)
    expect(box?.width).toBe(390)
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeCloseTo(844, 0)
    expect(box?.height).toBeLessThan(520)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
  })

  test('what is not tracked is guessed, and the attributes work when they are pasted', async ({
    page,
    shop,
    expectStored,
  }) => {
    const body = `<form action="/cart/add" method="post" target="frame"><input type="hidden" name="product_id" value="12"><input name="quantity" value="2"><button id="buy">Add to cart</button></form><iframe name="frame"></iframe><form class="newsletter"><input type="email" name="email"></form><button id="add" data-track="addToCart" data-track-product-id="1">Add to cart</button>`
    shop.page('/a', { body })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await tab(page, 'Not tracked').click()
    await expect(panelOf(page)).toContainText('Guessed from the page')
    const guesses = panelOf(page).locator('.guess')
    await expect(guesses).toHaveCount(2)
    const html = await guesses.filter({ hasText: 'addToCart' }).locator('pre').textContent()
    await page.evaluate((attributes) => {
      const button = document.querySelector('#buy') as HTMLElement
      button.outerHTML = button.outerHTML.replace('<button', `<button ${attributes}`)
    }, html)
    await panelOf(page).getByRole('button', { name: 'Look again' }).click()
    await expect(guesses).toHaveCount(1)
    await page.click('#buy')
    await expectStored([{ operation: 'addToCart', payload: { product_id: 12, quantity: 2 } }])
  })

  test('a product that schema.org reports is no guess, and the panel says if attributes are off', async ({
    page,
    shop,
  }) => {
    const product =
      '<script type="application/ld+json">{"@type":"Product","productID":"12"}</script>'
    const body = `${product}<form class="newsletter"><input type="email" name="email"></form>`
    shop.page('/a', { body })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await tab(page, 'Not tracked').click()
    const guesses = panelOf(page).locator('.guess')
    await expect(guesses).toHaveCount(2)
    await expect(panelOf(page)).not.toContainText('Attributes are off')
    shop.page('/a', { body, head: shop.tag('data-schema-org="true" data-attributes="false"') })
    await page.reload()
    await expect(guesses).toHaveCount(1)
    await expect(guesses).toContainText('setEmail')
    await expect(panelOf(page)).toContainText('Attributes are off for this key')
  })

  test('the state of the page: device id, clock, versions, and a copy as JSON', async ({
    page,
    shop,
    context,
    browserName,
  }) => {
    if (browserName === 'chromium')
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await shiftClock(page, -2 * 3_600_000)
    shop.page('/a', { head: shop.tag('data-source="blog"') })
    await page.goto(`${shop.url}/a?track_debug=1&token=secret`)
    await search(page, 'mug')
    await expect(rowsOf(page).first()).toContainText('delivered')
    await tab(page, 'State').click()
    const did = await page.evaluate(() => track.did)
    const version = await page.evaluate(() => track.version)
    await expect(panelOf(page)).toContainText(did)
    await expect(panelOf(page)).toContainText(/(2 h|1 h 59 min) behind the gateway \(± \d\.\d s\)/)
    await expect(panelOf(page)).toContainText(`script ${version}, gateway ${version}`)
    await expect(panelOf(page)).toContainText('granted: this key does not ask')
    await panelOf(page).getByRole('button', { name: 'Copy as JSON' }).click()
    await expect(panelOf(page).getByRole('status')).toHaveText('The JSON is copied.')
    const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))
    expect(copied).toMatchObject({
      page: `${shop.url}/a`,
      did,
      events: [
        {
          operation: 'search',
          lives: [{ steps: [{ kind: 'accepted' }, { kind: 'sent' }, { kind: 'delivered' }] }],
        },
      ],
    })
    expect(JSON.stringify(copied)).not.toContain('secret')
  })

  test('a reset asks first', async ({ page, shop }) => {
    shop.page('/a')
    await page.goto(`${shop.url}/a?track_debug=1`)
    await tab(page, 'State').click()
    const did = () => page.evaluate(() => track.did)
    const before = await did()
    const button = (name: string) => panelOf(page).getByRole('button', { name, exact: true })
    await button('Reset…').click()
    await button('Cancel').click()
    expect(await did()).toBe(before)
    await button('Reset…').click()
    await page.keyboard.press('Escape')
    await expect(button('Reset…')).toBeVisible()
    await button('Reset…').click()
    await button('Reset').click()
    expect(await did()).not.toBe(before)
    await expect(panelOf(page)).toContainText(await did())
  })

  test('text that the browser does not copy is selected', async ({ page, shop, watch }) => {
    shop.page('/a', { headers: { 'permissions-policy': 'clipboard-write=()' } })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await tab(page, 'State').click()
    await panelOf(page).getByRole('button', { name: 'Copy as JSON' }).click()
    await expect(panelOf(page).getByRole('status')).toContainText('copy it with the keyboard')
    await expect(panelOf(page).getByRole('textbox')).toBeFocused()
    // Only the browser's own line about it appears.
    for (const fault of watch.faults.splice(0)) expect(fault).toMatch(/permissions policy/i)
  })

  test('a page whose policy forbids requests for the settings has an unknown clock', async ({
    page,
    shop,
    wire,
    watch,
  }) => {
    shop.page('/a', {
      headers: { 'content-security-policy': `connect-src ${wire.url}/t/r ${wire.url}/t/batch` },
    })
    await page.goto(`${shop.url}/a?track_debug=1`)
    await tab(page, 'State').click()
    await expect(panelOf(page)).toContainText('unknown: the gateway has not answered')
    expect(await violations(page)).toEqual([expect.stringContaining('connect-src')])
    // Only the browser's own lines about it appear.
    for (const fault of watch.faults.splice(0)) expect(fault).toMatch(/Content.Security.Policy/i)
  })

  test.describe('a key that requires consent', () => {
    test.use({ config: { consent: 'required', pageViews: 'off' } })

    test('events wait, nothing is stored, and a denial removes what the panel has stored', async ({
      page,
      shop,
    }) => {
      shop.page('/a')
      await page.goto(`${shop.url}/a?track_debug=1`)
      await search(page, 'mug')
      await expect(rowsOf(page).first()).toContainText('waits for consent')
      await tab(page, 'State').click()
      await expect(panelOf(page)).toContainText('nobody has answered the question for consent')
      await expect(panelOf(page)).toContainText('1 more wait in memory for consent.')
      expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0)
      await page.evaluate(() => track.consent('granted'))
      await expect(panelOf(page)).toContainText('the answer of this visitor on this shop')
      await tab(page, 'Events').click()
      await expect(rowsOf(page).first()).toContainText('delivered')
      expect(await page.evaluate(() => Object.keys(sessionStorage))).toContain('track.panel')
      await page.evaluate(() => track.consent('denied'))
      await expect.poll(() => page.evaluate(() => Object.keys(sessionStorage))).toEqual([])
      await tab(page, 'State').click()
      await expect(panelOf(page)).toContainText('consent is denied')
      expect(await page.evaluate(() => Object.keys(sessionStorage))).toEqual([])
    })
  })
})

test('the root is closed for the page, and the console says where the panel is', async ({
  page,
  shop,
  context,
}) => {
  const lines: string[] = []
  context.on('console', (message) => lines.push(message.text()))
  shop.page('/a')
  await page.goto(`${shop.url}/a?track_debug=1`)
  await expect(page.locator('shoptrail-inspector')).toHaveCount(1)
  expect(
    await page.evaluate(() => {
      const host = document.querySelector('shoptrail-inspector') as HTMLElement
      return [
        host.shadowRoot,
        host.attributes.length,
        host.childNodes.length,
        host.parentElement?.localName,
      ]
    }),
  ).toEqual([null, 0, 0, 'html'])
  expect(lines[0]).toMatch(/^track: debug mode\..+The panel over the page.+Alt\+Shift\+T/)
})

test('no panel without debug mode', async ({ page, shop, expectStored }) => {
  await page.goto(shop.page('/a'))
  await search(page, 'mug')
  await expectStored(['mug'])
  expect(await page.locator('shoptrail-inspector').count()).toBe(0)
})

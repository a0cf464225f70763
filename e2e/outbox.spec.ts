import type { Page } from '@playwright/test'
import { expect, expectNothingKept, keptIn, search, test } from './fixtures.ts'

// Storage that is missing, broken, full, or written by other code.

const BROKEN: Record<string, string> = {
  'throwing when it is read':
    "Object.defineProperty(window,'localStorage',{get(){throw new DOMException('denied','SecurityError')}})",
  null: "Object.defineProperty(window,'localStorage',{value:null})",
  undefined: "Object.defineProperty(window,'localStorage',{value:undefined})",
  'throwing in every call':
    "for(const name of ['getItem','setItem','removeItem','key'])Storage.prototype[name]=()=>{throw new Error('no')}",
}

test('storage is missing or throws: delivered, retried, and one device id by cookie @both', async ({
  context,
  page,
  shop,
  wire,
  customer,
  expectStored,
}) => {
  for (const [name, setup] of Object.entries(BROKEN))
    await test.step(name, async () => {
      await context.clearCookies()
      const own = customer.another()
      const head = `<script>${setup}</script>${shop.tag('', own.trackingKey)}`
      await page.goto(shop.page('/a', { head }))
      const before = wire.events.length
      wire.next({ status: 503 })
      await search(page, 'one')
      await expect.poll(() => wire.events.length).toBe(before + 1)
      await search(page, 'two')
      await expectStored(['one', 'two'], { customer: own })
      await page.goto(shop.page('/b', { head }))
      await search(page, 'three')
      const rows = await expectStored(['one', 'two', 'three'], { customer: own })
      expect(new Set(rows.map(({ did }) => did)).size).toBe(1)
    })
})

test('setItem replaced by one that does nothing: delivered and retried from memory', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const head = `<script>Storage.prototype.setItem=()=>{}</script>${shop.tag()}`
  await page.goto(shop.page('/a', { head }))
  wire.next({ status: 503 })
  await search(page, 'one', 'two')
  const rows = await expectStored(['one', 'two'])
  expect(rows[0]?.did).toBe(rows[1]?.did)
})

test('storage and cookies blocked: one device id for the life of the page', async ({
  page,
  shop,
  expectStored,
}) => {
  const setup = `${BROKEN['throwing when it is read']};Object.defineProperty(document,'cookie',{get(){throw new DOMException('no','SecurityError')},set(){throw new DOMException('no','SecurityError')}})`
  await page.goto(shop.page('/a', { head: `<script>${setup}</script>${shop.tag()}` }))
  await search(page, 'one', 'two')
  const rows = await expectStored(['one', 'two'])
  expect(new Set(rows.map(({ did }) => did)).size).toBe(1)
})

test('a sandboxed frame: no errors, and its events are not accepted', async ({
  page,
  shop,
  wire,
}) => {
  shop.page('/framed', { body: '<script>track.search({search_term:"framed"})</script>' })
  const body = '<iframe sandbox="allow-scripts" src="/framed"></iframe>'
  await page.goto(shop.page('/a', { head: '', body }))
  await expect.poll(() => wire.events[0]?.outcome).toBe(403)
  expect(wire.events[0]?.headers.origin).toBe('null')
})

/** Fills storage to the last character, like a shop that keeps its catalogue there. */
const fill = (page: Page) =>
  page.evaluate(() => {
    let size = 2 ** 20
    for (let n = 0; size >= 1; n++)
      try {
        localStorage.setItem(`catalogue${n}`, 'x'.repeat(size))
      } catch {
        size /= 2
      }
    return localStorage.length
  })

test('storage is full: sent online, kept in memory offline, and the shop’s data stays @both', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  const names = await fill(page)
  await search(page, 'online')
  await expectStored(['online'])
  await wire.down()
  await search(page, 'offline', 'too')
  expect(await keptIn(page)).toBe(0)
  await wire.up()
  await expectStored(['online', 'offline', 'too'])
  expect(await page.evaluate(() => localStorage.length)).toBe(names)
})

test('the outbox keeps at most 512 KiB in storage, and further events in memory', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  wire.always({ status: 503 })
  const terms = Array.from({ length: 300 }, (_, n) => `${n}`.padStart(4, '0') + 'x'.repeat(1000))
  await search(page, ...terms)
  const [bytes, wrote] = await page.evaluate(() => {
    let characters = 0
    for (const [name, value] of Object.entries(localStorage))
      if (name.startsWith('track.')) characters += name.length + value.length
    localStorage.setItem('cart', 'x'.repeat(200_000))
    return [characters * 2, localStorage.getItem('cart')?.length]
  })
  expect(bytes).toBeGreaterThan(400_000)
  expect(bytes).toBeLessThanOrEqual(512 * 1024)
  expect(wrote).toBe(200_000)
  wire.heal()
  await expectStored(terms, { timeout: 40_000 })
  await expectNothingKept(page)
})

test('the limit of the storage holds for several pages together', async ({ page, shop, wire }) => {
  wire.always({ status: 503 })
  for (const path of ['/a', '/b', '/c']) {
    await page.goto(shop.page(path))
    await search(page, ...Array.from({ length: 200 }, (_, n) => `${n}${'x'.repeat(1000)}`))
  }
  const bytes = await page.evaluate(() =>
    Object.entries(localStorage)
      .filter(([name]) => name.startsWith('track.'))
      .reduce((sum, [name, value]) => sum + 2 * (name.length + value.length), 0),
  )
  expect(bytes).toBeLessThanOrEqual(512 * 1024)
})

test('the shop clears storage: the page still has its events in memory', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  await wire.down()
  await search(page, 'one')
  await page.evaluate(() => localStorage.clear())
  await search(page, 'two')
  await wire.up()
  const rows = await expectStored(['one', 'two'])
  expect(rows[0]?.did).toBe(rows[1]?.did)
})

test('invalid entries and those of an older version are removed, and new events are delivered', async ({
  page,
  shop,
  customer,
  expectStored,
}) => {
  await page.goto(shop.page('/a', { head: '' }))
  await page.evaluate((key) => {
    const junk = [
      '{"a":',
      'null',
      '"text"',
      '{}',
      '[null,1,"x"]',
      '',
      '1 KEY',
      '1 KEY []',
      '[',
      '[]',
    ]
    junk.forEach((value, n) => {
      localStorage.setItem(`track.e.01900000-0000-7000-8000-0000000000${10 + n}`, value)
    })
    localStorage.setItem('track.e.', 'x')
    localStorage.setItem('track.e.short', `1 ${key} {}`)
    localStorage.setItem('track.queue', '[1,2]')
    localStorage.setItem('trackable', 'the shop’s own')
  }, customer.trackingKey)
  await page.goto(shop.page('/b'))
  await search(page, 'one')
  await expectStored(['one'])
  await expectNothingKept(page)
  expect(await page.evaluate(() => localStorage.getItem('trackable'))).toBe('the shop’s own')
})

test('setItem replaced by one that tracks: no recursion, and the event arrives', async ({
  page,
  shop,
  stored,
}) => {
  const setup = `const set=Storage.prototype.setItem;
    Storage.prototype.setItem=function(name,value){window.track?.search?.({search_term:name});return set.call(this,name,value)}`
  await page.goto(shop.page('/a', { head: `<script>${setup}</script>${shop.tag()}` }))
  await page.evaluate(() => void track.viewProduct({ product_id: 1 }))
  await expect
    .poll(
      async () => (await stored()).filter(({ operation }) => operation === 'viewProduct').length,
    )
    .toBe(1)
  await expectNothingKept(page)
  expect((await stored()).length).toBeLessThan(5)
})

test('an event of one key is never sent under another', async ({
  page,
  shop,
  wire,
  customer,
  expectStored,
}) => {
  const second = customer.another()
  await page.goto(shop.page('/a'))
  await wire.down()
  await search(page, 'first key')
  await expect.poll(() => keptIn(page)).toBe(1)
  await page.goto(shop.page('/blank', { head: '' }))
  await wire.up()
  await page.goto(shop.page('/b', { head: shop.tag('', second.trackingKey) }))
  await search(page, 'second key')
  await expectStored(['second key'], { customer: second })
  await expect.poll(() => keptIn(page)).toBe(1)
  await page.goto(shop.page('/c'))
  await expectStored(['first key'])
  await expectNothingKept(page)
})

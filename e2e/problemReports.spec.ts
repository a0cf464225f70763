import type { Page } from '@playwright/test'
import type { Seen } from './faultProxy.ts'
import { expect, expectNothingKept, search, stopClock, test } from './fixtures.ts'

// The page reports what it has dropped with its next request.

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** Reports of requests, each as its lines, without requests that have none. */
const reports = (events: readonly Seen[]) =>
  events.flatMap(({ query }) => query.get('p')?.trim().split('\n') ?? [])
const kept = (page: Page, key: string) =>
  page.evaluate((name) => localStorage.getItem(name), `track.p.${key}`)
/** Names in both storages. */
const names = (page: Page) =>
  page.evaluate(() => [...Object.keys(localStorage), ...Object.keys(sessionStorage)])
const addInvalid = (page: Page) =>
  page.evaluate(async () => {
    const { ok } = await track.addToCart({
      product_id: 7,
      quantity: 1,
      variation: { id: '7-1', sku: ' ' },
    })
    return ok
  })

test('an invalid event is reported with the request of the next page, without values', async ({
  page,
  shop,
  wire,
  customer,
  expectStored,
}) => {
  shop.page('/c,1/c%C4%83ni')
  shop.page('/cart')
  await page.goto(`${shop.url}/c,1/căni?email=ana@shop.example#part`)
  expect(await addInvalid(page)).toBe(false)
  expect(wire.events).toEqual([])
  await page.goto(`${shop.url}/cart`)
  await search(page, 'mug')
  await expectStored(['mug'])
  expect(reports(wire.events)).toEqual(['invalid,addToCart,variation.sku,/c,1/c%C4%83ni'])
  expect(wire.events[0]?.query.get('v')).toMatch(/^\d+\.\d+\.\d+$/)
  await expect.poll(() => kept(page, customer.trackingKey)).toBeNull()
  // Nothing else of it is in the request.
  expect(wire.events.map(({ query }) => [...query.keys()])).toEqual([
    ['k', 'v', 'p', 'id', 'at', 'sent'],
  ])
})

test('a refused event is reported with the path of its first fault', async ({
  page,
  shop,
  wire,
}) => {
  await page.goto(shop.page('/p'))
  wire.always(({ ids }) =>
    ids.length
      ? {
          status: 422,
          body: { id: ids[0], message: 'why', issues: [{ path: 'search_term', message: 'x' }] },
        }
      : undefined,
  )
  await search(page, 'mug')
  await expectNothingKept(page)
  wire.heal()
  await search(page, 'next')
  await expect.poll(() => reports(wire.events)).toEqual(['refused,search,search_term,/p'])
})

test('an event that is too old, and one for which there is no room, are reported', async ({
  page,
  shop,
  wire,
  customer,
}) => {
  const address = shop.page('/p')
  await page.goto(address)
  await page.evaluate(
    ([key, at]) => {
      localStorage.setItem(
        'track.e.01890000-0000-7000-8000-000000000001',
        `${at} ${key} {"event":"search"}`,
      )
    },
    [customer.trackingKey, Date.now() - 40 * DAY_MS] as const,
  )
  await page.reload()
  await expectNothingKept(page)
  await search(page, 'mug')
  await expect.poll(() => reports(wire.events)).toEqual(['too_old,,,/p'])
  await expectNothingKept(page)
  expect(await kept(page, customer.trackingKey)).toBeNull()

  wire.always({ status: 503 })
  // More than a page may keep.
  const reasons = await page.evaluate(async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 5001 }, (_, n) => track.search({ search_term: `${n}` })),
    )
    return outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.error]))
  })
  expect(reasons).toEqual(['outbox_full'])
  expect(await kept(page, customer.trackingKey)).toBe('outbox_full,search,,/p\n')
})

test('a page reports at most once a minute', async ({ page, shop, wire }) => {
  const clock = await stopClock(page)
  await page.goto(shop.page('/p'))
  await addInvalid(page)
  await search(page, 'a')
  await clock.pass(1000)
  await addInvalid(page)
  await addInvalid(page)
  await search(page, 'b')
  await clock.pass(MINUTE_MS - 2000)
  await search(page, 'c')
  await clock.pass(500)
  const line = 'invalid,addToCart,variation.sku,/p'
  expect(reports(wire.events)).toEqual([line])
  await clock.pass(1000)
  await search(page, 'd')
  await clock.pass(500)
  expect(reports(wire.events)).toEqual([line, line, line])
})

test('a page that is left before the answer has reported once', async ({ page, shop, wire }) => {
  await page.goto(shop.page('/p'))
  await addInvalid(page)
  wire.next('hang')
  await search(page, 'mug')
  const line = 'invalid,addToCart,variation.sku,/p'
  await expect.poll(() => reports(wire.events)).toEqual([line])
  await page.goto(shop.page('/q'))
  await search(page, 'cup')
  await expect.poll(() => wire.events.filter(({ outcome }) => outcome === 200)).not.toEqual([])
  expect(reports(wire.events)).toEqual([line])
})

test('two keys on a page: each is told only of its own events', async ({
  page,
  shop,
  wire,
  customer,
}) => {
  const other = customer.another({ attributes: false })
  const body =
    '<button data-track="addToCart" data-track-product-id="x" data-track-variation-id="1" data-track-variation-sku="s">Add</button>'
  const head = `${shop.tag()}${shop.tag('', other.trackingKey)}`
  await page.goto(shop.page('/p', { head, body }))
  await page.waitForFunction(() => performance.getEntriesByType('resource').length > 1)
  await page.click('button')
  await expect.poll(() => kept(page, customer.trackingKey)).toContain('invalid')
  expect(await kept(page, other.trackingKey)).toBeNull()
  await search(page, 'mug')
  await expectNothingKept(page)
  const byKey = (key: string) => reports(wire.events.filter(({ query }) => query.get('k') === key))
  expect(byKey(customer.trackingKey)).toEqual(['invalid,addToCart,product_id,/p'])
  expect(byKey(other.trackingKey)).toEqual([])
})

test('a path of 2,000 characters is cut, and the event still arrives', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page(`/${'x'.repeat(2000)}`))
  await addInvalid(page)
  await search(page, 'mug')
  await expectStored(['mug'])
  const [line = ''] = reports(wire.events)
  expect(line).toMatch(/^invalid,addToCart,variation.sku,\/x+$/)
  expect(line).toHaveLength(1500)
})

test('a reset removes what is not reported yet', async ({ page, shop, customer }) => {
  await page.goto(shop.page('/p'))
  await addInvalid(page)
  expect(await kept(page, customer.trackingKey)).toContain('invalid')
  await page.evaluate(() => track.reset())
  expect(await kept(page, customer.trackingKey)).toBeNull()
})

test.describe('a key that requires consent', () => {
  test.use({ config: { consent: 'required', exclude: ['/account'] } })

  test('nothing is counted before consent and after a denial, nor on excluded pages', async ({
    page,
    shop,
    wire,
    customer,
  }) => {
    await page.goto(shop.page('/p'))
    await addInvalid(page)
    expect(await names(page)).toEqual([])
    await page.evaluate(() => track.consent('granted'))
    await search(page, 'mug')
    await expectNothingKept(page)
    expect(reports(wire.events)).toEqual([])

    await page.evaluate(() => history.pushState({}, '', '/account'))
    await addInvalid(page)
    expect(await kept(page, customer.trackingKey)).toBeNull()

    await page.evaluate(() => history.pushState({}, '', '/p'))
    await addInvalid(page)
    expect(await kept(page, customer.trackingKey)).toContain('invalid')
    await page.evaluate(() => track.consent('denied'))
    await addInvalid(page)
    expect(await names(page)).toEqual(['track.c'])
  })
})

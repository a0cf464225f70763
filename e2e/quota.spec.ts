import { expect, expectNothingKept, search, test } from './fixtures.ts'

// Many events, and large ones.

const terms = (count: number) => Array.from({ length: count }, (_, n) => `${n}`.padStart(4, '0'))

test('500 events in one task, then a navigation: events that do not fit are sent later @both', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  shop.page('/next')
  await page.evaluate(
    (all) =>
      void setTimeout(() => {
        for (const search_term of all) track.search({ search_term })
        location.href = '/next'
      }),
    terms(500),
  )
  await page.waitForURL('**/next')
  await expectStored(terms(500), { timeout: 30_000 })
  await expectNothingKept(page)
  expect(wire.events.length).toBeLessThan(25)
})

test('500 events in one task, and the visitor stays', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  await search(page, ...terms(500))
  await expectStored(terms(500))
  await expectNothingKept(page)
  // Some 190 kB, of which 60 kB may be in open requests at a time.
  expect(wire.events.length).toBeLessThanOrEqual(5)
})

test('100 events in one task: one request, no preflight', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  await search(page, ...terms(100))
  await expectStored(terms(100))
  expect(wire.events.map(({ method }) => method)).toEqual(['POST'])
})

/** An event above 60,000 bytes: too large for a request with keepalive. */
const LARGE = {
  email_address: 'ana@shop.example',
  firstname: '😀'.repeat(2048),
  lastname: '😀'.repeat(2048),
  phone: '😀'.repeat(2048),
  source: '😀'.repeat(2048),
  url: `https://shop.example/${'😀'.repeat(8000)}`,
}
const SENT_LARGE = { operation: 'setEmail', payload: LARGE }
const searched = (search_term: string) => ({ operation: 'search', payload: { search_term } })

test('an event of 60 KB arrives, and other events of its task too', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  await page.evaluate((large) => {
    track.search({ search_term: 'before' })
    track.setEmail(large)
    track.search({ search_term: 'after' })
  }, LARGE)
  await expectStored([searched('before'), SENT_LARGE, searched('after')])
  await expectNothingKept(page)
})

test('an event of 60 KB, then a navigation: the next page delivers it', async ({
  page,
  shop,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  shop.page('/next')
  await page.evaluate(
    (large) =>
      void setTimeout(() => {
        track.setEmail(large)
        track.search({ search_term: 'small' })
        location.href = '/next'
      }),
    LARGE,
  )
  await page.waitForURL('**/next')
  await expectStored([SENT_LARGE, searched('small')])
  await expectNothingKept(page)
})

test('80 events of a kilobyte offline, then online and a click on a link in one task', async ({
  context,
  page,
  shop,
  expectStored,
}) => {
  shop.page('/next')
  await page.goto(shop.page('/a', { body: '<a href="/next">Next</a>' }))
  await context.setOffline(true)
  const long = terms(80).map((term) => term + 'x'.repeat(1000))
  await search(page, ...long)
  await context.setOffline(false)
  await page.click('a')
  await page.waitForURL('**/next')
  await expectStored(long)
  await expectNothingKept(page)
})

test('a text above its limit is refused in the page, with its reason', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  await page.goto(shop.page('/a'))
  const outcome = await page.evaluate(async () => {
    const answer = await track.search({ search_term: '漢'.repeat(44_000) })
    if (answer.ok || typeof answer.error === 'string') return answer
    return [answer.error.name, ...answer.error.issues.map(({ message }) => message)]
  })
  expect(outcome).toEqual(['ValidationException', expect.stringContaining('text 1-2048')])
  await search(page, 'next')
  await expectStored(['next'])
  expect(wire.events).toHaveLength(1)
})

for (const [name, value] of [
  ['missing', undefined],
  ['answering false', () => false],
] as const)
  test(`sendBeacon ${name}, and a fetch that fails while the page is left`, async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    await page.addInitScript(
      (code) => Object.defineProperty(navigator, 'sendBeacon', { value: code && (() => false) }),
      Boolean(value),
    )
    await page.goto(shop.page('/a'))
    wire.next('lose', 'lose', 'lose')
    await search(page, 'one')
    await page.goto(shop.page('/next'))
    await expectStored(['one'])
    await expectNothingKept(page)
  })

import { STUB } from '../src/tracker/snippet.ts'
import { expect, keptIn, search, stopClock, test } from './fixtures.ts'

test.use({ config: { pageViews: 'all' } })

/** Longer than the script waits for a redirect of a router, ms. */
const SETTLE_MS = 300
/** Longer than a page waits before it sends the events of an earlier page, also without the tab lock at first, ms. */
const HAND_OFF_MS = 9000

test('an ignored browser sends nothing, until track_ignore=0', async ({
  page,
  shop,
  customer,
  wire,
  expectStored,
}) => {
  const clock = await stopClock(page)
  const second = customer.another()
  const early = "<script>early=track.search({search_term:'early'})</script>"
  const head = `<script>${STUB}</script>${early}${shop.tag()}${shop.tag('', second.trackingKey)}`
  const body = '<button data-track="addToCart" data-track-product-id="7">Add</button>'
  shop.page('/a', { head, body })
  // Events kept from before are not sent either.
  await page.goto(`${shop.url}/a`)
  await clock.pass(SETTLE_MS)
  await expectStored(['early', { event: 'view_page' }])
  wire.always({ status: 503 })
  await search(page, 'kept')
  await clock.pass(1)
  const kept = await keptIn(page)
  expect(kept).toBeGreaterThan(0)
  // An event that failed just now is not sent again when its page is left.
  await page.goto('about:blank')
  wire.heal()
  const before = wire.events.length

  for (const query of ['?track_ignore=1', '', '?x=1']) {
    await page.goto(`${shop.url}/a${query}`)
    await page.click('button')
    const outcomes = await page.evaluate(async () => {
      dispatchEvent(new Event('online'))
      return [
        await (window as unknown as { early: Promise<unknown> }).early,
        await track.search({ search_term: 'mug' }),
        (await track.flush()).delivered,
      ]
    })
    const ignored = { ok: false, error: 'ignored' }
    expect(outcomes).toEqual([ignored, ignored, 0])
    expect(await keptIn(page)).toBe(kept)
  }
  expect(wire.events).toHaveLength(before)

  await page.goto(`${shop.url}/a?track_ignore=0`)
  await page.click('button')
  await clock.pass(HAND_OFF_MS)
  const after = ['early', { event: 'view_page' }, { event: 'add_to_cart' }]
  await expectStored(['early', { event: 'view_page' }, 'kept', ...after])
})

test('a page that removes the parameter before the script has loaded is ignored too', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const clean = "<script>history.replaceState({},'',location.pathname)</script>"
  shop.page('/a', { head: clean + shop.tag() })
  await page.goto(`${shop.url}/a?track_ignore=1`)
  expect(await page.evaluate(() => track.search({ search_term: 'mug' }))).toEqual({
    ok: false,
    error: 'ignored',
  })
  expect(wire.events).toEqual([])
  await page.goto(`${shop.url}/a?track_ignore=0`)
  await expectStored([{ event: 'view_page' }])
})

test('debug mode reports that the browser is ignored', async ({ page, shop, context }) => {
  shop.page('/a', { body: '<button data-track="nothing">Add</button>' })
  const lines: string[] = []
  context.on('console', (message) => lines.push(message.text()))
  await page.goto(`${shop.url}/a?track_ignore=1&track_debug=1`)
  await expect.poll(() => lines.join()).toContain('track: event was not sent (ignored)')
  expect(lines.join()).toContain('?track_ignore=0')
})

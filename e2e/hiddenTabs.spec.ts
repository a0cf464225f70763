import { randomUUID } from 'node:crypto'
import { test } from './campaignPage.ts'
import { expect } from './fixtures.ts'
import { addOperated, type Operated } from './operatorPage.ts'
import { type PlainPage, startPlainChromium } from './plainChromium.ts'

// Live views in tabs that are not shown: a browser opens only six connections to a host over HTTP/1.1.

/** Undefined if the page is left meanwhile. */
async function evaluate<T>(tab: PlainPage, expression: string): Promise<T | undefined> {
  const given = { expression, awaitPromise: true, returnByValue: true }
  // A poll ends with an error of what it asks, so there is none.
  const answer = await tab.send('Runtime.evaluate', given).catch(() => undefined)
  return (answer as { result: { value: T } } | undefined)?.result.value
}
const isHidden = (tab: PlainPage) => evaluate<boolean>(tab, 'document.hidden')
/** The search terms of the rows, newest first. */
const rows = (tab: PlainPage) =>
  evaluate<string[]>(
    tab,
    `[...document.querySelectorAll('[data-test=row]')].map((row) => /mug \\d+/.exec(row.textContent)?.[0])`,
  )
const countRows = async (tab: PlainPage) => (await rows(tab))?.length
const stateOf = (tab: PlainPage) =>
  evaluate<string>(tab, `document.querySelector('[data-test=state]')?.textContent`)

const go = (tab: PlainPage, url: string) => tab.send('Page.navigate', { url })
const signIn = (tab: PlainPage, { customerId, restKey }: Operated) =>
  evaluate<number>(
    tab,
    `fetch('../live/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '${JSON.stringify({ customerId, restKey })}',
    }).then(({ status }) => status)`,
  )

test('eight tabs with live views load, and a hidden one catches up when it is shown', async ({
  demo,
}) => {
  const chromium = await startPlainChromium()
  const kiln = addOperated(demo, 'Kiln')
  let sent = 0
  const append = (count: number) =>
    demo.log.append(
      Array.from({ length: count }, () => ({
        customer: kiln.customerId,
        id: randomUUID(),
        at: Date.now(),
        receivedAt: Date.now(),
        operation: 'search',
        event: 'search',
        did: 'd-1',
        bot: false,
        version: null,
        payload: JSON.stringify({ search_term: `mug ${sent++}` }),
      })),
    )
  const newestFirst = (count: number) =>
    Array.from({ length: count }, (_, i) => `mug ${sent - 1 - i}`)
  const address = `${demo.url}/live/?customer=${kiln.customerId}`

  const first = await chromium.open()
  await go(first, `${demo.url}/live/icon.svg`)
  await expect.poll(() => signIn(first, kiln)).toBe(200)
  await go(first, address)
  await expect.poll(() => stateOf(first)).toBe('live')
  await append(3)
  await expect.poll(() => rows(first)).toEqual(newestFirst(3))
  let last = first
  for (let tabs = 2; tabs <= 8; tabs++) {
    const before = last
    last = await chromium.open(first)
    await expect.poll(() => isHidden(before)).toBe(true)
    await go(last, address)
    await expect.poll(() => stateOf(last), `tab ${tabs}`).toBe('live')
    await expect.poll(() => countRows(last)).toBe(3)
  }
  // More than a new view begins with: no event is missing, and none is shown twice.
  await append(250)
  await expect.poll(() => rows(last)).toEqual(newestFirst(253))
  expect(await countRows(first)).toBe(3)
  await first.send('Page.bringToFront')
  await expect.poll(() => rows(first)).toEqual(newestFirst(253))
  await expect.poll(() => isHidden(last)).toBe(true)
  await append(1)
  await expect.poll(() => rows(first)).toEqual(newestFirst(254))

  // After more events than a view catches up on it begins anew: the totals are those of what it shows.
  await last.send('Page.bringToFront')
  await expect.poll(() => isHidden(first)).toBe(true)
  for (let i = 0; i < 10; i++) await append(2_010)
  await first.send('Page.bringToFront')
  await expect.poll(() => rows(first)).toEqual(newestFirst(200))
  const total = "document.querySelector('[data-test=total]')?.textContent"
  expect(await evaluate(first, total)).toBe('200')

  // A page that the back button brings back has kept its events.
  await go(first, `${demo.url}/campaigns/?customer=${kiln.customerId}`)
  await expect.poll(() => evaluate(first, 'location.pathname')).toBe('/campaigns/')
  await append(2)
  await evaluate(first, 'history.back()')
  await expect.poll(() => rows(first)).toEqual(newestFirst(202))
  await chromium.close()
})

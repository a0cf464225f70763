// How often an event is sent: 200 events for each way in which a page ends or an answer is lost, compared with one
// sendBeacon per event; and the number of requests for ten bursts of ten calls.
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, type Page } from '@playwright/test'
import { line, startBenchPages } from '../benchPages.ts'
import { keptIn } from '../fixtures.ts'
import { makeFolder } from '../gateway.ts'
import { startChromium } from '../ownChromium.ts'

const PAGES = 20
const EVENTS_PER_PAGE = 10
const EVENTS = PAGES * EVENTS_PER_PAGE

const { shop, wire, fresh, terms, end } = await startBenchPages()

/** Statements that report a page's events: by the script, and by a beacon with the same payload. */
const CALLS = {
  script: (name: string, count: number) =>
    `for (let n = 0; n < ${count}; n++) track.search({ search_term: '${name} ' + n });`,
  beacon: (name: string, count: number) =>
    `for (let n = 0; n < ${count}; n++) navigator.sendBeacon(
      ${JSON.stringify(`${shop.script().replace('/t/j/', '/t/r?k=')}&id=`)} + crypto.randomUUID(),
      JSON.stringify({ did: track.did, event: 'search', search_term: '${name} ' + n,
        url: location.href, http_user_agent: navigator.userAgent }));`,
}
type By = keyof typeof CALLS

/** The names of a scenario's pages, all different. */
const names = (scenario: string) => Array.from({ length: PAGES }, (_, n) => `${scenario} ${n}`)

const SCENARIOS: Record<string, (by: By, name: string) => Promise<void>> = {
  async 'left at once'(by, name) {
    const { page, close } = await fresh()
    const pages = names(name)
    const path = (n: number) => `/${encodeURIComponent(`${name} ${n}`)}`
    pages.forEach((own, n) => {
      const call = CALLS[by](own, EVENTS_PER_PAGE)
      shop.page(path(n), { body: `<script>${call}location.href='${path(n + 1)}'</script>` })
    })
    shop.page(path(PAGES))
    await page.goto(shop.url + path(0)).catch(() => {})
    await page.waitForURL(`**${path(PAGES)}`)
    await settle(page)
    await close()
  },
  async 'closed at once'(by, name) {
    const { page, close } = await fresh()
    await page.goto(shop.page('/blank', { head: '' }))
    for (const own of names(name)) {
      const tab = await page.context().newPage()
      await tab.goto(shop.page('/a'))
      await tab.evaluate(CALLS[by](own, EVENTS_PER_PAGE))
      await tab.close()
    }
    await page.goto(shop.page('/last'))
    await settle(page)
    await close()
  },
  async crashed(by, name) {
    const { page, close } = await fresh()
    await page.goto(shop.page('/blank', { head: '' }))
    for (const own of names(name)) {
      const tab = await page.context().newPage()
      await tab.goto(shop.page('/a'))
      const crashed = tab.waitForEvent('crash')
      await tab.evaluate(CALLS[by](own, EVENTS_PER_PAGE))
      await tab.goto('chrome://crash').catch(() => {})
      await crashed
      await tab.close()
    }
    await page.goto(shop.page('/last'))
    await settle(page)
    await close()
  },
  async 'reset after the body, stored'(by, name) {
    wire.always(({ ids }) => (ids.length > 0 ? 'loseAnswer' : undefined))
    await stay(by, name, 50)
  },
  async 'no answer for 8 s, page left after 1 s'(by, name) {
    wire.always(({ ids }) => (ids.length > 0 ? { slowMs: 8_000 } : undefined))
    const { page, close } = await fresh()
    for (const own of names(name)) {
      await page.goto(shop.page('/a'))
      await page.evaluate(CALLS[by](own, EVENTS_PER_PAGE))
      await sleep(1_000)
    }
    await page.goto(shop.page('/last'))
    await settle(page)
    await close()
  },
}

console.log(line(`${EVENTS} events each`, 'payloads', 'requests', 'lost', 'twice'))
for (const [scenario, run] of Object.entries(SCENARIOS))
  for (const by of ['script', 'beacon'] as const) {
    const before = wire.events.length
    await run(by, `${scenario} ${by}`)
    wire.heal()
    await report(`${scenario}, ${by}`, before, `${scenario} ${by} `, EVENTS)
  }
console.log('target: at most 204 payloads, lost 0, twice 0')

console.log(`\n${line('100 events in 10 bursts', 'payloads', 'requests', 'lost', 'twice')}`)
const before = wire.events.length
await stay('script', 'bursts', 100, 10)
await report('10 calls every 100 ms', before, 'bursts ', 100)
console.log('target: at most 11 requests')

console.log(`\n${line('killed 100 ms after 20 events', 'payloads', 'requests', 'lost', 'twice')}`)
// A fast network for the kills: every sender loses an event that needs more than 100 ms to leave.
wire.delayMs = 20
for (const by of ['script', 'beacon'] as const) {
  const start = wire.events.length
  for (let n = 0; n < 5; n++) {
    const folder = makeFolder('profile')
    const browser = await startChromium(folder)
    const page = await browser.context.newPage()
    await page.goto(shop.page('/a'))
    await page.evaluate(CALLS[by](`killed ${by} ${n}`, 20))
    await sleep(100)
    await browser.kill()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  await report(`5 browsers, ${by}`, start, `killed ${by} `, 100)
}
console.log('target: lost 0 where sendBeacon loses 0')
await end()

/** A page that stays: bursts of calls, then a wait until all of them are delivered. */
async function stay(by: By, name: string, pauseMs: number, bursts = PAGES): Promise<void> {
  const { page, close } = await fresh()
  await page.goto(shop.page('/a'))
  for (const own of names(name).slice(0, bursts)) {
    await page.evaluate(CALLS[by](own, EVENTS_PER_PAGE))
    await sleep(pauseMs)
  }
  await settle(page)
  await close()
}

/** Waits until the outbox is empty and no request is open. (200 beacons of 8 s each are sent six at a time.) */
async function settle(page: Page): Promise<void> {
  await expect.poll(() => keptIn(page), { timeout: 120_000 }).toBe(0)
  await expect
    .poll(() => wire.events.every(({ outcome }) => outcome !== 'open'), { timeout: 400_000 })
    .toBe(true)
}

async function report(title: string, before: number, prefix: string, count: number): Promise<void> {
  await sleep(1_000)
  const seen = wire.events.slice(before)
  const payloads = seen.reduce((sum, { ids }) => sum + ids.length, 0)
  const stored = (await terms()).filter((term) => term.startsWith(prefix))
  const once = new Set(stored).size
  console.log(line(title, payloads, seen.length, count - once, stored.length - once))
}

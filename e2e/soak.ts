import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type BrowserContext, chromium, type Page } from '@playwright/test'
import { STUB } from '../src/tracker/snippet.ts'
import { findBrowsers } from './browsers.mjs'
import { type Fault, type FaultProxy, startFaultProxy } from './faultProxy.ts'
import { addCustomer, loadGateway, makeFolder, startGatewayProcess } from './gateway.ts'
import { startChromium } from './ownChromium.ts'
import { createRandom, type Random } from './random.ts'
import { startShop } from './shopServer.ts'

/*
 * A long run: visitors with several tabs search, change pages and close tabs at random, while the network, the gateway
 * and one visitor's whole browser fail at random. Then the faults end, every visitor opens one more page, and the
 * accepted events are compared with the stored ones.
 *
 *   npm run soak -- --seed 7 --minutes 3
 *
 * The same seed repeats the same actions, but not their exact timing.
 */

const { values } = parseArgs({
  options: {
    /** Default: from the clock. */
    seed: { type: 'string' },
    minutes: { type: 'string', default: '3' },
    visitors: { type: 'string', default: '3' },
  },
})
const seed = Number(values.seed ?? Date.now() % 100_000)
const minutes = Number(values.minutes)

/** A visitor with more stored events than this makes no calls: events over the outbox's cap are lost with the page. */
const MOST_KEPT = 350
/**
 * Events younger than this, ms, may be lost when the whole browser is killed: Chromium writes localStorage 5 s after a
 * first change, and up to a minute after later ones.
 */
const VOLATILE_MS = 65_000
const PAGES = ['/', '/category', '/product', '/cart', '/search']

/** An event that a page accepted. */
type Sent = { readonly term: string; readonly at: number }

/** The calls of a visitor. */
type Diary = {
  readonly name: string
  readonly sent: Sent[]
  /** Terms whose call is uncertain, since the page was left or killed during the task. */
  readonly unsure: Set<string>
  counter: number
}

const counts = { pages: 0, tabs: 0, gatewayKills: 0, browserKills: 0, faults: 0 }
const pageErrors: string[] = []
const until = Date.now() + minutes * 60_000
const isOver = () => Date.now() >= until

console.log(
  `seed ${seed}, ${minutes} minutes, ${values.visitors} visitors and one whose browser is killed`,
)
const folder = makeFolder('soak')
const { startGateway } = await loadGateway()
const prepared = await startGateway({ dataDir: folder })
const customer = addCustomer(prepared)
await prepared.close()
let gateway = await startGatewayProcess(folder)
const wire = await startFaultProxy(gateway.url)
const shop = await startShop(wire.url, customer.trackingKey)
for (const path of PAGES)
  shop.page(path, { head: `<script>${STUB}</script>${shop.tag('async')}`, body: '<p>Shop</p>' })

const browser = await chromium.launch({ executablePath: (await findBrowsers()).chromium ?? '' })
const diaries: Diary[] = []
/** Terms of events that may be lost by a kill of the browser. */
const taken = new Set<string>()
const visitors: { context: BrowserContext; diary: Diary }[] = []
for (let n = 0; n < Number(values.visitors); n++)
  visitors.push({ context: watched(await browser.newContext()), diary: addDiary(`v${n}`) })

const mortal = addDiary('mortal')
const profile = makeFolder('soak-profile')
const stopWorld = disturb(createRandom(seed))
await Promise.all([
  ...visitors.map(({ context, diary }, n) =>
    visit(context, diary, createRandom(seed + 1 + n), isOver),
  ),
  liveAndDie(createRandom(seed + 1000)),
])
await stopWorld()

await comeBack()
report(await readTerms())
await browser.close()
await shop.close()
await wire.close()
for (const path of [folder, profile]) rmSync(path, { recursive: true, force: true, maxRetries: 5 })

function addDiary(name: string): Diary {
  const diary = { name, sent: [], unsure: new Set<string>(), counter: 0 }
  diaries.push(diary)
  return diary
}

function watched(context: BrowserContext): BrowserContext {
  context.on('weberror', (error) => pageErrors.push(`${error.error().stack}`))
  return context
}

/** Random actions of one visitor until `isDone`. Ends without an error when its browser is killed. */
async function visit(
  context: BrowserContext,
  diary: Diary,
  random: Random,
  isDone: () => boolean,
): Promise<void> {
  const tabs: Page[] = []
  while (!isDone()) {
    try {
      if (!tabs.length || (tabs.length < 3 && random.chance(0.05))) {
        const tab = await context.newPage()
        tabs.push(tab)
        counts.tabs++
        await open(tab, random)
      }
      await act(context, tabs, diary, random)
    } catch (error) {
      if (isDone()) return
      // Expected: a navigation that another one interrupted, or a page that did not load in time.
      if (!/navigat|ERR_|closed|destroyed|Timeout|interrupted/i.test(`${error}`)) throw error
    }
    await sleep(random.below(150))
  }
}

async function act(
  context: BrowserContext,
  tabs: Page[],
  diary: Diary,
  random: Random,
): Promise<void> {
  const tab = random.pick(tabs)
  const dice = random.next()
  if (dice < 0.55) await call(tab, diary, random, undefined)
  else if (dice < 0.75) await call(tab, diary, random, random.pick(PAGES))
  else if (dice < 0.85) await open(tab, random)
  else if (dice < 0.9) {
    counts.pages++
    await tab.reload({ waitUntil: 'domcontentloaded', timeout: 10_000 })
  } else if (dice < 0.95) {
    await context.setOffline(true)
    await call(tab, diary, random, undefined)
    await sleep(random.below(1500))
    await context.setOffline(false)
  } else {
    tabs.splice(tabs.indexOf(tab), 1)
    await call(tab, diary, random, undefined)
    await tab.close()
  }
}

async function open(tab: Page, random: Random): Promise<void> {
  counts.pages++
  await tab.goto(shop.url + random.pick(PAGES), { waitUntil: 'domcontentloaded', timeout: 10_000 })
  // Calls to the short stub end with the page if the script has not loaded, so the visitor waits for the script.
  await tab.waitForFunction(() => typeof window.track?.version === 'string', undefined, {
    timeout: 10_000,
  })
}

/** Some events in one task. With `next`, the same task also leaves the page. */
async function call(
  tab: Page,
  diary: Diary,
  random: Random,
  next: string | undefined,
): Promise<void> {
  const count = random.chance(0.1) ? 60 : 1 + random.below(12)
  const terms = Array.from({ length: count }, () => `${diary.name}-${diary.counter++}`)
  const at = Date.now()
  try {
    const called = await tab.evaluate(
      ({ all, most, to }) => {
        if (typeof window.track?.version !== 'string') return false
        const kept = Object.keys(localStorage).filter((name) => name.startsWith('track.e.')).length
        if (kept < most) for (const search_term of all) track.search({ search_term })
        if (to) location.href = to
        return kept < most
      },
      { all: terms, most: MOST_KEPT, to: next },
    )
    if (called) for (const term of terms) diary.sent.push({ term, at })
  } catch (error) {
    for (const term of terms) diary.unsure.add(term)
    throw error
  }
  if (next) {
    counts.pages++
    await tab.waitForLoadState('domcontentloaded', { timeout: 10_000 })
  }
}

/** A visitor whose whole browser is killed again and again, with the same profile. */
async function liveAndDie(random: Random): Promise<void> {
  while (!isOver()) {
    const own = await startChromium(profile)
    watched(own.context)
    const end = Math.min(Date.now() + 4000 + random.below(20_000), until)
    let dead = false
    const living = visit(own.context, mortal, random, () => dead)
    while (Date.now() < end) await sleep(100)
    dead = true
    const stored = await readTerms()
    const now = Date.now()
    // Young events that are not stored yet may be lost with the browser's memory.
    for (const { term, at } of mortal.sent)
      if (!stored.has(term) && now - at < VOLATILE_MS) taken.add(term)
    for (const term of mortal.unsure) taken.add(term)
    await own.kill()
    counts.browserKills++
    await living
  }
}

/** Causes random faults. @returns A function that ends them. */
function disturb(random: Random): () => Promise<void> {
  let ended = false
  const running = (async () => {
    while (!ended) {
      wire.delayMs = 10 + random.below(200)
      const dice = random.next()
      counts.faults++
      if (dice < 0.3) wire.heal()
      else if (dice < 0.8) {
        const share = random.next()
        wire.always(() => (Math.random() < share ? random.pick(FAULTS) : undefined))
      } else if (dice < 0.9) await outage(wire, random)
      else {
        counts.gatewayKills++
        await gateway.kill()
        gateway = await startGatewayProcess(folder)
        wire.target = gateway.url
      }
      await sleep(500 + random.below(3000))
      if (dice < 0.8) wire.heal()
    }
  })()
  return async () => {
    ended = true
    await running
    wire.heal()
    wire.delayMs = 20
  }
}

async function outage({ down, up }: FaultProxy, random: Random): Promise<void> {
  await down()
  await sleep(random.below(4000))
  await up()
}

const FAULTS: readonly Fault[] = [
  { status: 500 },
  { status: 502, body: '<h1>Bad gateway</h1>', cors: false },
  { status: 503, body: { message: 'Not ready' }, headers: { 'retry-after': '1' } },
  { status: 429, body: { message: 'Too many' }, headers: { 'retry-after': '2' } },
  { status: 408, body: { message: 'Too slow' } },
  { status: 200, body: '<h1>Sign in</h1>' },
  { status: 302, headers: { location: 'http://localhost:1/' } },
  'hang',
  'lose',
  'loseAnswer',
  'loseAnswer',
  { slowMs: 800 },
]

/** Every visitor opens one more page, with a working network, and waits until its outbox is empty. */
async function comeBack(): Promise<void> {
  const own = await startChromium(profile)
  watched(own.context)
  const contexts = [...visitors.map(({ context }) => context), own.context]
  for (const context of contexts) {
    await context.setOffline(false)
    for (const page of context.pages()) await page.close()
    const page = await context.newPage()
    await page.goto(shop.url)
    await page.waitForFunction(() => typeof window.track?.version === 'string')
    const deadline = Date.now() + 120_000
    for (;;) {
      const kept = await page.evaluate(
        () => Object.keys(localStorage).filter((name) => name.startsWith('track.e.')).length,
      )
      if (!kept || Date.now() > deadline) break
      await sleep(250)
    }
  }
  await own.kill()
}

/** The number of stored events of each term. */
async function readTerms(): Promise<Map<string, number>> {
  // The gateway's process writes; SQLite lets this process read at the same time.
  const reader = await startGateway({ dataDir: folder })
  const terms = new Map<string, number>()
  let after = 0
  for (;;) {
    const rows = await reader.log.read({ customer: customer.customerId, after, max: 1000 })
    for (const { payload } of rows) {
      const { search_term } = JSON.parse(payload)
      terms.set(search_term, (terms.get(search_term) ?? 0) + 1)
    }
    after = rows.at(-1)?.seq ?? after
    if (rows.length < 1000) break
  }
  await reader.close()
  return terms
}

function report(stored: ReadonlyMap<string, number>): void {
  const sent = diaries.flatMap((diary) => diary.sent.map(({ term }) => term))
  const missing = sent.filter((term) => !stored.has(term))
  const lost = missing.filter((term) => !taken.has(term))
  const known = new Set([...sent, ...diaries.flatMap(({ unsure }) => [...unsure])])
  const doubled = [...stored].filter(([, times]) => times > 1).map(([term]) => term)
  const unknown = [...stored.keys()].filter((term) => !known.has(term))
  const figures = {
    seed,
    pages: counts.pages,
    tabs: counts.tabs,
    faults: counts.faults,
    'gateway kills': counts.gatewayKills,
    'browser kills': counts.browserKills,
    requests: wire.events.length,
    sent: sent.length,
    stored: stored.size,
    lost: lost.length,
    duplicated: doubled.length,
    'lost by a kill of the browser, unwritten': missing.length - lost.length,
    'stored, never sent': unknown.length,
    'errors in pages': pageErrors.length,
  }
  for (const [name, figure] of Object.entries(figures)) console.log(`${name.padEnd(42)} ${figure}`)
  for (const term of [...lost, ...doubled, ...unknown].slice(0, 20)) console.log(`  ${term}`)
  for (const error of pageErrors.slice(0, 5)) console.log(error)
  if (lost.length || doubled.length || unknown.length || pageErrors.length) process.exitCode = 1
}

import { rmSync } from 'node:fs'
import {
  type BrowserContext,
  expect,
  type Page,
  test as playwright,
  type Request,
} from '@playwright/test'
import type { Gateway, KeySettings, LogRecord } from '../src/gateway/index.ts'
import type {} from '../src/tracker/global.d.ts'
import { type FaultProxy, startFaultProxy } from './faultProxy.ts'
import { addCustomer, loadGateway, makeFolder } from './gateway.ts'
import { type Shop, startShop } from './shopServer.ts'

/*
 * What every test stands on: a real gateway over a real file, a shop on another host name, between
 * them a proxy that can play faults, and an eye on everything that reaches the page or its console.
 */

/** A customer of the gateway that only this test has, whose pages may be anywhere on this machine. */
export type TestCustomer = {
  readonly customerId: string
  readonly trackingKey: string
  /** Another one, with a key of its own. */
  another(config?: KeySettings): TestCustomer
}

/** What a test says of events: what it names is compared, the rest may be anything. */
export type Expected = {
  readonly operation?: string
  readonly event?: string
  readonly id?: string
  readonly did?: string | null
  readonly payload?: object
}

/** A row of the log with its payload read. */
export type Row = Omit<LogRecord, 'payload'> & {
  readonly payload: { readonly [name: string]: unknown }
}

/** What reached a page: nothing of ours may. */
export type Watch = {
  /** Watches one more context, such as one of a browser that the test launched itself. */
  add(context: BrowserContext): void
  /** Uncaught errors, unhandled rejections and console errors, the browser's own network lines aside. */
  readonly faults: string[]
}

const DAY_MS = 86_400_000

type WorkerFixtures = { gateway: Gateway }
type TestFixtures = {
  /** Public configuration of the test's customer. Automatic page views are off unless it says otherwise. */
  config: KeySettings
  customer: TestCustomer
  wire: FaultProxy
  shop: Shop
  /** The rows of the test's customer, in order of arrival. */
  stored: (customer?: TestCustomer) => Promise<Row[]>
  /**
   * Waits until the customer's rows are these and no others, in the order of their ids, which is that of
   * the calls. A text stands for a search with that term.
   */
  expectStored: (
    expected: readonly (string | Expected)[],
    options?: { readonly customer?: TestCustomer; readonly timeout?: number },
  ) => Promise<Row[]>
  watch: Watch
}

export const test = playwright.extend<TestFixtures, WorkerFixtures>({
  gateway: [
    async ({ browserName }, use) => {
      const folder = makeFolder(`gateway-${browserName}`)
      const gateway = await (await loadGateway()).startGateway({
        dataDir: folder,
        trustedProxies: ['127.0.0.1'],
      })
      await use(gateway)
      await gateway.close()
      rmSync(folder, { recursive: true, force: true })
    },
    { scope: 'worker' },
  ],
  config: [{}, { option: true }],
  customer: async ({ gateway, config }, use) => {
    await use(makeCustomer(gateway, config))
  },
  wire: async ({ gateway }, use) => {
    const proxy = await startFaultProxy(gateway.url)
    await use(proxy)
    await proxy.close()
  },
  shop: async ({ wire, customer }, use) => {
    const shop = await startShop(wire.url, customer.trackingKey)
    await use(shop)
    await shop.close()
  },
  stored: async ({ gateway, customer }, use) => {
    await use((of = customer) => readRows(gateway, of.customerId))
  },
  expectStored: async ({ stored, customer }, use) => {
    await use(async (expected, { customer: of = customer, timeout = 20_000 } = {}) => {
      let rows: Row[] = []
      const wanted = expected.map((one) =>
        typeof one === 'string' ? { operation: 'search', payload: { search_term: one } } : one,
      )
      await expect
        .poll(
          async () => {
            rows = byId(await stored(of))
            return rows.map((row, index) => part(row, wanted[index] ?? {}))
          },
          { timeout, intervals: [50, 100, 200] },
        )
        .toEqual(wanted)
      return rows
    })
  },
  watch: [
    async ({ context }, use) => {
      const watching = createWatch()
      watching.add(context)
      await use(watching)
      watching.check()
    },
    { auto: true },
  ],
})

export { expect }

function makeCustomer(gateway: Gateway, config: KeySettings): TestCustomer {
  const { customerId, trackingKey } = addCustomer(gateway, config)
  return { customerId, trackingKey, another: (other = {}) => makeCustomer(gateway, other) }
}

async function readRows({ log }: Gateway, customer: string): Promise<Row[]> {
  const rows: Row[] = []
  for (;;) {
    const page = await log.read({ customer, after: rows.at(-1)?.seq ?? 0, max: 1000 })
    rows.push(...page.map((record) => ({ ...record, payload: JSON.parse(record.payload) })))
    if (page.length < 1000) return rows
  }
}

const byId = (rows: readonly Row[]): Row[] => [...rows].sort((a, b) => (a.id < b.id ? -1 : 1))

/** The part of a value that an expectation names, so that a failed comparison shows only what differs. */
function part(value: unknown, expected: unknown): unknown {
  if (!expected || typeof expected !== 'object' || !value || typeof value !== 'object') return value
  if (!Object.keys(expected).length) return value
  return Object.fromEntries(
    Object.entries(expected).map(([name, inner]) => [
      name,
      part((value as Record<string, unknown>)[name], inner),
    ]),
  )
}

/** The browsers' own lines about a request that failed. */
const NETWORK_LINE = /^(Failed to load resource:|Access to fetch at |Cross-Origin Request Blocked:)/
/** A request that a page can not read the answer of makes two. */
const LINES_AN_ATTEMPT = 2

/**
 * Collects what reaches pages. The browser's own lines for failed requests are counted: they are bounded
 * by the attempts.
 */
export function createWatch(): Watch & { check(): void } {
  const faults: string[] = []
  let lines = 0
  // Not counted by the failures told: of a page that is frozen with a request on its way none is.
  const unanswered = new Set<Request>()
  return {
    faults,
    add(context) {
      const see = (text: string) => {
        if (NETWORK_LINE.test(text)) lines++
        else faults.push(text)
      }
      // Firefox tells its network lines as errors of the page.
      context.on('weberror', (error) => see(error.error().stack || error.error().message))
      context.on('console', (message) => message.type() === 'error' && see(message.text()))
      context.on('request', (request) => {
        if (!request.isNavigationRequest()) unanswered.add(request)
      })
      context.on('response', (response) => {
        if (response.status() < 300) unanswered.delete(response.request())
      })
      // An answer that the page may not read comes first as an answer.
      context.on('requestfailed', (request) => {
        if (!request.isNavigationRequest()) unanswered.add(request)
      })
    },
    check() {
      expect(faults, 'errors that reached a page').toEqual([])
      expect(lines, 'console lines for failed requests').toBeLessThanOrEqual(
        unanswered.size * LINES_AN_ATTEMPT,
      )
    },
  }
}

/** Events in the page's outbox that have no answer yet. */
export const keptIn = (page: Page): Promise<number> =>
  page.evaluate(
    () => Object.keys(localStorage).filter((name) => name.startsWith('track.e.')).length,
  )

/** Waits until the page has nothing left to deliver. */
export async function expectNothingKept(page: Page, timeout = 20_000): Promise<void> {
  await expect.poll(() => keptIn(page), { timeout, intervals: [50, 100, 200] }).toBe(0)
}

/** Searches, one call a term, in one task. The shop does not wait for them, and neither does this. */
export const search = (page: Page, ...terms: readonly string[]): Promise<void> =>
  page.evaluate((all) => {
    for (const search_term of all) track.search({ search_term })
  }, terms)

/**
 * Lets time pass by the page's own clock, which `page.clock.install` must have taken over: in steps, each
 * with a real request there and back, so that what a timer began has its answer before the next. A step is
 * shorter than the limits of an attempt (30 s) and of a turn (15 s): the faked clock moves `AbortSignal.timeout`
 * too, so a longer step gives up requests that have had no time.
 */
export async function passTime(page: Page, ms: number, stepMs = 5_000): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await page.clock.runFor(stepMs)
    await page.evaluate(() => fetch('/nothing').then(() => {}))
  }
}

/**
 * The gateway is away for all that is sent now, and is there for pages whose clock is days ahead. Not `down` and
 * then `up`: a page that is closed may send once more, and that may arrive when the later page is there.
 */
export const awayUntilLater = (wire: FaultProxy): void =>
  wire.always(({ sent }) => (sent < Date.now() + DAY_MS ? { status: 503 } : undefined))

/** From its next page on the clock of what is given is wrong by so much, ms. It runs on. */
export async function shiftClock(on: Page | BrowserContext, byMs: number): Promise<void> {
  await on.addInitScript((ms) => {
    const Real = Date
    const shifted = () => Real.now() + ms
    globalThis.Date = new Proxy(Real, {
      construct: (target, given) => Reflect.construct(target, given.length ? given : [shifted()]),
      get: (target, name) => (name === 'now' ? shifted : Reflect.get(target, name)),
    })
  }, byMs)
}

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
 * The setup of every test: a real gateway with a real database, a shop on another host name, a proxy between them that
 * can cause faults, and a check that no error reaches the page or its console.
 */

/** A customer of the gateway for this test only. Every origin of this machine is allowed. */
export type TestCustomer = {
  readonly customerId: string
  readonly trackingKey: string
  /** Adds another customer, with its own key. */
  another(config?: KeySettings): TestCustomer
}

/** The expected fields of an event. Other fields are not compared. */
export type Expected = {
  readonly operation?: string
  readonly event?: string
  readonly id?: string
  readonly did?: string | null
  readonly payload?: object
}

/** A row of the log, with its payload parsed. */
export type Row = Omit<LogRecord, 'payload'> & {
  readonly payload: { readonly [name: string]: unknown }
}

/** Collects the errors that reach a page: the script must cause none. */
export type Watch = {
  /** Watches another context, such as that of a browser launched by the test. */
  add(context: BrowserContext): void
  /** Uncaught errors, unhandled rejections and console errors, except the browser's own lines about failed requests. */
  readonly faults: string[]
}

const DAY_MS = 86_400_000

type WorkerFixtures = { gateway: Gateway }
type TestFixtures = {
  /** Settings of the test's customer. Automatic page views are off by default. */
  config: KeySettings
  customer: TestCustomer
  wire: FaultProxy
  shop: Shop
  /** The rows of the test's customer, in order of arrival. */
  stored: (customer?: TestCustomer) => Promise<Row[]>
  /**
   * Waits until the customer has exactly these rows, in the order of their ids, which is the order of the calls. A text
   * stands for a search with that term.
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

/** Reduces a value to the fields of the expectation, so that a failed comparison shows only differences. */
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
/** A response that the page is not allowed to read causes two lines. */
const LINES_PER_REQUEST = 2

/**
 * Collects the errors of pages. The browser's own lines about failed requests are only counted: there may be at most
 * two per failed request.
 */
export function createWatch(): Watch & { check(): void } {
  const faults: string[] = []
  let lines = 0
  // Counting `requestfailed` is not enough: it is not fired for a frozen page.
  const unanswered = new Set<Request>()
  return {
    faults,
    add(context) {
      const see = (text: string) => {
        if (NETWORK_LINE.test(text)) lines++
        else faults.push(text)
      }
      // Firefox reports its network lines as errors of the page.
      context.on('weberror', (error) => see(error.error().stack || error.error().message))
      context.on('console', (message) => message.type() === 'error' && see(message.text()))
      context.on('request', (request) => {
        if (!request.isNavigationRequest()) unanswered.add(request)
      })
      context.on('response', (response) => {
        if (response.status() < 300) unanswered.delete(response.request())
      })
      // For a response that the page is not allowed to read, `response` is fired and then `requestfailed`.
      context.on('requestfailed', (request) => {
        if (!request.isNavigationRequest()) unanswered.add(request)
      })
    },
    check() {
      expect(faults, 'errors that reached a page').toEqual([])
      expect(lines, 'console lines for failed requests').toBeLessThanOrEqual(
        unanswered.size * LINES_PER_REQUEST,
      )
    },
  }
}

/** The number of events in the stored outbox of the page's origin. */
export const keptIn = (page: Page): Promise<number> =>
  page.evaluate(
    () => Object.keys(localStorage).filter((name) => name.startsWith('track.e.')).length,
  )

/** Waits until the page has nothing left to deliver. */
export async function expectNothingKept(page: Page, timeout = 20_000): Promise<void> {
  await expect.poll(() => keptIn(page), { timeout, intervals: [50, 100, 200] }).toBe(0)
}

/** Calls `track.search` once per term, all in one task. Like a shop, it does not wait for the promises. */
export const search = (page: Page, ...terms: readonly string[]): Promise<void> =>
  page.evaluate((all) => {
    for (const search_term of all) track.search({ search_term })
  }, terms)

/** Requested by a stopped clock: the time that the page needs to handle an answer. */
const OWN_PATH = '/nothing'

/** A page's clock that only the test moves. */
export type StoppedClock = {
  /**
   * Moves the clock in steps. Before each step, and at the end, every request of the page must have its answer, and the
   * page the time to handle it. A step must be shorter than the timeouts of a request (30 s) and of a turn (15 s).
   */
  pass(ms: number, stepMs?: number): Promise<void>
  /** Moves the clock at once, like a computer that slept: a timer that is due by then fires once. */
  jump(ms: number): Promise<void>
}

/**
 * Stops the clock of a page, from its next load on: its timers, dates and `AbortSignal.timeout`. Requests take real time
 * and do not see the clock, so the test has to await them before it moves the clock; `pass` and `jump` do. Without
 * this, `page.clock.install` makes a clock that also runs by itself.
 *
 * Events of two pages at the same time have no order: move the clock before the next page. The page's `performance` has
 * no entries, so its landing address is not known.
 */
export async function stopClock(page: Page): Promise<StoppedClock> {
  // `pauseAt` can not go back, and a busy machine may take seconds between the two calls.
  await page.clock.install({ time: Date.now() - 60_000 })
  await page.clock.pauseAt(Date.now())

  const open = new Set<Request>()
  let isLeaving = false
  const close = (request: Request) => open.delete(request)
  page.on('request', (request) => {
    if (!request.isNavigationRequest() && !request.url().endsWith(OWN_PATH)) open.add(request)
  })
  page.on('requestfinished', close)
  page.on('requestfailed', close)
  // The requests of a document that is left may never be reported as finished.
  page.on('response', (response) => {
    if (response.request().isNavigationRequest())
      isLeaving ||= response.frame() === page.mainFrame()
  })
  page.on('framenavigated', (frame) => {
    if (frame !== page.mainFrame() || !isLeaving) return
    isLeaving = false
    open.clear()
  })

  /** An answer may cause the next request, for example after the tab lock was granted. */
  const settle = async () => {
    do {
      await expect.poll(() => open.size, { intervals: [10, 20, 50] }).toBe(0)
      await page.evaluate(async (path) => {
        await navigator.locks?.query()
        await fetch(path)
      }, OWN_PATH)
    } while (open.size)
  }
  return {
    async pass(ms, stepMs = 5_000) {
      await settle()
      for (let left = ms; left > 0; left -= stepMs) {
        await page.clock.runFor(Math.min(left, stepMs))
        await settle()
      }
    },
    async jump(ms) {
      await settle()
      await page.clock.fastForward(ms)
      await settle()
    },
  }
}

/**
 * Answers 503 to pages with the right clock, and lets pages through whose clock is days ahead. `down` and then `up`
 * would not do: a page may send once more while it closes, and that request may arrive after `up`.
 */
export const awayUntilLater = (wire: FaultProxy): void =>
  wire.always(({ sent }) => (sent < Date.now() + DAY_MS ? { status: 503 } : undefined))

/** Shifts the clock of the page or context by `byMs`, from its next load on. The clock keeps running. */
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

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { EVENT_NAMES, type TrackingOperation } from '../contract/index.ts'
import type { KeySettings } from '../contract/settings.ts'
import { createAdmission } from '../gateway/collect/admission.ts'
import { createCollect } from '../gateway/collect/collect.ts'
import type { EventLog } from '../gateway/collect/eventLog.ts'
import { createQuota } from '../gateway/collect/quota.ts'
import { checkKeySettings } from '../gateway/customers/keySettings.ts'
import { createKeyThrottle } from '../gateway/customers/keyThrottle.ts'
import { createAddresses } from '../gateway/http/address.ts'
import { DEFAULT_LIMITS } from '../gateway/http/limits.ts'
import { createMetrics } from '../gateway/http/metrics.ts'
import { createSqliteCustomers } from '../gateway/sqlite/customers.ts'
import { makeFolder } from '../test/gateway.ts'
import { listProblems } from '../test/problems.ts'
import { readBodyOf } from '../test/readBody.ts'
import { createMemoryStorage } from '../test/storage.ts'
import { type Config, readConfig } from './config.ts'
import { createDeviceId } from './deviceId.ts'
import type { Flush } from './flush.ts'
import { createStore } from './lib/storage.ts'
import { createNotices } from './notices.ts'
import { createOutbox } from './outbox.ts'
import { createTrack } from './track.ts'

/*
 * The gateway accepts every event that the page's `track` accepts, with any helper, event name, fields and
 * configuration of the key.
 */

const ORIGIN = 'https://shop.example'

/** Keys with their settings: none, a prefix, own event names, both. */
const EVENTS = { search: 'basket', addToCart: 'own', sendCustom: 'quiz' }
const CONFIGS: Readonly<Record<string, KeySettings>> = {
  NOTHING1: {},
  PREFIX01: { eventPrefix: 'x_' },
  PREFIX02: { eventPrefix: 'add_' },
  PREFIX03: { eventPrefix: 'shop.' },
  NAMES001: { events: EVENTS },
  NAMES002: { events: { viewHomepage: 'own', setEmail: 'quiz', initiateCheckout: 'basket' } },
  NAMES003: { eventPrefix: 'x_', events: EVENTS },
  NAMES004: { eventPrefix: 'x_', events: { viewProduct: 'own', removeFromCart: 'basket' } },
}

const folder = makeFolder()
const customers = createSqliteCustomers(join(folder, 'customers.db'))
const metrics = createMetrics(() => 0)
/** Stores nothing. The test checks only whether an event gets as far as the log. */
const log = {
  append: async (events: readonly object[]) => events.map(() => 'stored'),
} as unknown as EventLog
const addresses = createAddresses()
const collect = createCollect({
  customers,
  log,
  addresses,
  admission: createAdmission({
    limits: DEFAULT_LIMITS,
    log,
    metrics,
    addresses,
    quota: createQuota(DEFAULT_LIMITS.daily, Date.now),
    monotonicNow: () => performance.now(),
    onUnknownProxy: () => {},
  }),
  keyThrottle: createKeyThrottle(() => 0),
  metrics,
  daySalt: () => Buffer.alloc(32),
  problems: listProblems().problems,
  now: Date.now,
})

beforeAll(() => {
  for (const [trackingKey, config] of Object.entries(CONFIGS)) {
    expect(checkKeySettings(config).ok).toBe(true)
    customers.add({ trackingKey, config, origins: [ORIGIN] })
  }
  vi.stubGlobal('window', globalThis)
  vi.stubGlobal('location', { href: `${ORIGIN}/` })
  vi.stubGlobal('navigator', { userAgent: 'Agent/1' })
})
afterAll(() => {
  vi.unstubAllGlobals()
  customers.close()
  rmSync(folder, { recursive: true })
})

/** The body of the request that a page with this tag makes for a call. Undefined if `track` refuses the call. */
function callPage(
  key: string,
  dataset: object,
  operation: TrackingOperation,
  given: object,
): string | undefined {
  const currentScript = { src: `https://gw.example/t/j/${key}`, dataset }
  const config = readConfig(
    { key, base: '', ...CONFIGS[key] } as Config,
    { currentScript } as unknown as Document,
  )
  const store = createStore(createMemoryStorage)
  const outbox = createOutbox(store)
  const track = createTrack(
    new Map([[key, config]]),
    createDeviceId(store, () => ({ cookie: '' })),
    outbox,
    { busy: 0, fresh() {} } as Flush,
    createNotices(),
    () => false,
  )
  return track(operation, given).ok ? outbox.own()[0]?.body : undefined
}

async function sendToGateway(key: string, body: string) {
  const request = new Request(`https://gw.example/t/r?k=${key}`, {
    method: 'POST',
    headers: { origin: ORIGIN, 'user-agent': 'Agent/1' },
    body,
  })
  const env = { readBody: readBodyOf(request) }
  const { status, body: answer } = await collect.collectOne(request, '203.0.113.9', { env })
  return { status, answer }
}

const operations = Object.keys(EVENT_NAMES) as TrackingOperation[]
const names = [...Object.values(EVENT_NAMES), 'basket', 'quiz', 'view_page', 'cart_remove']
const prefixes = ['', 'x_', 'add_', 'shop.']
const eventNames = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom(...names),
  fc
    .tuple(fc.constantFrom(...prefixes, 'y-'), fc.constantFrom(...names))
    .map((all) => all.join('')),
  fc.constantFrom('constructor', '__proto__', 'own', 'search ', 'SEARCH', '😀', 'x'.repeat(129)),
)
const text = fc.constantFrom('mug', '7', '', ' ', 'x'.repeat(2049), null, undefined, 5, {})
const fields = fc.record(
  {
    product_id: fc.constantFrom<unknown>(7, '7', 'MUG', '', null, 1.5),
    quantity: fc.constantFrom<unknown>(1, '1', 0, null),
    variation: fc.constantFrom<unknown>({ id: '7', sku: 'm' }, { id: '7' }, null, 'm'),
    search_term: text,
    email: fc.constantFrom<unknown>('a@b.example', 'a@b', '', null),
    email_address: fc.constantFrom<unknown>('a@b.example', 'a@b', '', null),
    firstname: text,
    phone: text,
    source: text,
    http_user_agent: fc.constantFrom<unknown>(
      '',
      ' ',
      'x'.repeat(5000),
      `${' '.repeat(2000)}x`,
      null,
    ),
    remote_addr: text,
    url: fc.constantFrom<unknown>(`${ORIGIN}/?q=${'x'.repeat(9000)}`, 'nowhere', null),
  },
  { requiredKeys: [] },
)
const complete: { readonly [O in TrackingOperation]?: object } = {
  setEmail: { email_address: 'a@b.example' },
  viewProduct: { product_id: 7 },
  search: { search_term: 'mug' },
  sendCustom: { email: 'a@b.example', event: 'quiz_done' },
}
const line = { product_id: 7, quantity: 1, variation: { id: '7', sku: 'm' } }
const payloadOf = (operation: TrackingOperation) =>
  /Cart|Wishlist/.test(operation) ? line : (complete[operation] ?? {})

const datasets = fc.record(
  {
    eventPrefix: fc.constantFrom('', 'de_', 'search'),
    events: fc.constant('x'),
    source: fc.constant('s'),
  },
  { requiredKeys: [] },
)

test('the gateway accepts every event that the page accepts', async () => {
  let sent = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...operations),
      eventNames,
      fc.boolean(),
      fields,
      fc.constantFrom(...Object.keys(CONFIGS)),
      datasets,
      async (operation, event, isComplete, more, key, dataset) => {
        const given = {
          ...more,
          ...(isComplete && payloadOf(operation)),
          ...(event !== undefined && { event }),
        }
        const body = callPage(key, dataset, operation, given)
        if (!body) return
        sent++
        expect(await sendToGateway(key, body)).toMatchObject({ status: 200 })
      },
    ),
    { numRuns: 1000 },
  )
  expect(sent).toBeGreaterThan(100)
})

test.each(operations)('%s with its usual name and with an unknown one', async (operation) => {
  for (const event of [undefined, 'own', 'own_name'])
    expect(
      callPage('NOTHING1', {}, operation, { ...payloadOf(operation), ...(event && { event }) }),
    ).toContain('did')
})

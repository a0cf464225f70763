import { expect, expectTypeOf, test } from 'vitest'
import { json, startApi } from '../test/api.ts'
import { completePayloads, operations } from '../test/payloads.ts'
import {
  type Client,
  type ClientOptions,
  createClient,
  type EmailReport,
  type Named,
  type StoredEvent,
  ValidationException,
} from './index.ts'

const KEYS = { customerId: 'CUSTOMER 7', restKey: 'rest+Key/9f31', trackingKey: 'ABC?23' }
const REST = 'k=rest%2BKey%2F9f31&u=CUSTOMER%207'
const TRACKING = 'k=ABC%3F23&api_key=rest%2BKey%2F9f31'
const NOW = 1_800_000_000_000

/** Every operation by its name, as a function of the payload. */
const callsOf = ({ campaigns, events, orders, subscribers }: Client) => ({
  ...events,
  ...campaigns,
  saveOrder: orders.save,
  updateOrderStatus: orders.updateStatus,
  addSubscriber: subscribers.add,
  removeSubscriber: subscribers.remove,
  unsubscribedEmails: subscribers.unsubscribed,
  getLatestCampaign: ({ limit }: { readonly limit?: number }) => campaigns.getLatestCampaign(limit),
  serveJavascript: (payload: { readonly trackingKey?: string }) =>
    events.serveJavascript(payload.trackingKey),
})

async function withApi<T>(
  run: (client: Client) => Promise<T>,
  options: Partial<ClientOptions> = {},
) {
  const api = await startApi(json(200, { id: 'x' }))
  const client = createClient({ ...KEYS, baseUrl: api.url, now: () => NOW, ...options })
  const settled = await run(client).then(
    (value) => ({ value, error: undefined }),
    (error: unknown) => ({ value: undefined, error }),
  )
  await api.close()
  return { ...settled, received: api.received }
}

const requests: readonly [operation: string, method: string, path: string, query: string][] = [
  ['list', 'POST', '/api/v1/campaigns/list', REST],
  ['create', 'POST', '/api/v1/campaigns/create', REST],
  ['getEmailReport', 'GET', '/api/v1/campaigns/c-1/email/get-report', `${REST}&bots=include`],
  ['getLatestCampaign', 'GET', '/api/v1/get-latest-campaign', `${REST}&limit=5`],
  ['sendCustomApi', 'POST', '/api/v1/custom_events', REST],
  ['serveJavascript', 'GET', '/t/j/ABC123', 'k=ABC123'],
  ['saveOrder', 'POST', '/api/v1/save_order', REST],
  [
    'updateOrderStatus',
    'GET',
    '/api/v1/update_order_status',
    `${REST}&order_number=1001&order_status=Livrat%C4%83`,
  ],
  ['addSubscriber', 'POST', '/api/v1/add_subscriber', REST],
  ['removeSubscriber', 'POST', '/api/v1/remove_subscriber', REST],
  [
    'unsubscribedEmails',
    'GET',
    '/api/v1/unsubscribed_emails',
    `${REST}&date_from=2027-01-01&date_to=1801440000`,
  ],
  ...operations
    .filter((operation) => 'did' in completePayloads[operation])
    .map((operation): [string, string, string, string] => [operation, 'POST', '/t/r', TRACKING]),
]

test('the table has all operations', () => {
  expect(requests.map(([operation]) => operation).sort()).toEqual([...operations].sort())
})

test.each(requests)('%s is %s %s', async (operation, method, path, query) => {
  const payload: object = completePayloads[operation as keyof typeof completePayloads]
  const { value, received } = await withApi((client) => {
    const call = callsOf(client)[operation as keyof typeof completePayloads]
    return (call as (payload: object) => Promise<unknown>)(payload)
  })
  expect(value).toEqual({ id: 'x' })
  expect(received).toHaveLength(1)
  const { target = '', headers, body = '', method: sent } = received[0] ?? {}
  const [sentPath, sentQuery = ''] = target.split('?')
  expect([sent, sentPath]).toEqual([method, path])
  expect(sentQuery.replace(/&id=[\da-f-]{36}&at=1800000000000$/, '')).toBe(query)
  expect(sentQuery.includes('&at=')).toBe(path === '/t/r')
  expect(headers?.accept).toBe('application/json')
  if (method === 'GET') {
    expect(headers).not.toHaveProperty('content-type')
    expect(body).toBe('')
  } else {
    expect(headers?.['content-type']).toBe('application/json')
    expect(headers?.['content-length']).toBe(`${Buffer.byteLength(body)}`)
    expect(JSON.parse(body)).toEqual(payload)
  }
})

const names: readonly [operation: 'viewProduct' | 'addToCart' | 'search', usual: string][] = [
  ['viewProduct', 'view_product'],
  ['addToCart', 'add_to_cart'],
  ['search', 'search'],
]
test.each(names)(
  '%s has the event name of the payload, of the options, or the usual one',
  async (operation, usual) => {
    const call = async (given: object, options: Partial<ClientOptions> = {}) => {
      const { event: _, ...payload } = completePayloads[operation]
      const { received } = await withApi(
        (client) =>
          (client.events[operation] as (payload: object) => Promise<unknown>)({
            ...payload,
            ...given,
          }),
        options,
      )
      return JSON.parse(received[0]?.body ?? '').event
    }
    const events = { [operation]: 'de_name' }
    expect(await call({})).toBe(usual)
    expect(await call({ event: null })).toBe(usual)
    expect(await call({ event: undefined })).toBe(usual)
    expect(await call({}, { events })).toBe('de_name')
    expect(await call({ event: 'own' }, { events })).toBe('own')
  },
)

test('a payload is not changed, and an empty event name is invalid', async () => {
  const { event: _, ...payload } = completePayloads.search
  const given = Object.freeze({ ...payload })
  const { value } = await withApi(({ events }) => events.search(given))
  expect(value).toBeDefined()
  const { error, received } = await withApi(({ events }) => events.search({ ...given, event: '' }))
  expect(error).toMatchObject({ issues: [{ path: 'event' }] })
  expect(received).toHaveLength(0)
})

test('sendCustom needs an event name', async () => {
  const { event: _, ...payload } = completePayloads.sendCustom
  // @ts-expect-error the event name is required
  const { error } = await withApi(({ events }) => events.sendCustom(payload))
  expect(error).toMatchObject({ name: 'ValidationException', issues: [{ path: 'event' }] })
})

const throwing = new Proxy(
  {},
  {
    get: () => {
      throw new Error('no')
    },
    ownKeys: () => {
      throw new Error('no')
    },
  },
)
const anEvent = { event: 7 }
/** The values of `nonsense` that are valid for an operation. */
const VALID: Readonly<Record<string, readonly unknown[]>> = {
  list: [undefined, anEvent],
  getLatestCampaign: [undefined, null, 7],
  getEmailReport: ['x'],
  unsubscribedEmails: [undefined, anEvent],
}
const nonsense = [undefined, null, 7, 'x', [], () => {}, throwing, new Map(), anEvent]

test.each(operations.filter((operation) => operation !== 'serveJavascript'))(
  '%s rejects an invalid payload without a request',
  async (operation) => {
    for (const payload of nonsense) {
      if (VALID[operation]?.includes(payload)) continue
      const { error, received } = await withApi((client) => {
        const { getLatestCampaign } = client.campaigns
        const call = { ...callsOf(client), getLatestCampaign }[operation]
        return (call as (payload: unknown) => Promise<unknown>)(payload)
      })
      expect(error).toBeInstanceOf(ValidationException)
      expect(received).toHaveLength(0)
    }
  },
)

test('without a tracking key tracking events are invalid, and the error has the issues of the payload too', async () => {
  const options = { trackingKey: undefined }
  const { error, received } = await withApi(
    ({ events }) => events.search({ ...completePayloads.search, search_term: '' }),
    options,
  )
  expect(error).toBeInstanceOf(ValidationException)
  expect(error).toMatchObject({ issues: [{ path: 'trackingKey' }, { path: 'search_term' }] })
  expect(received).toHaveLength(0)
  const script = await withApi(({ events }) => events.serveJavascript(), options)
  expect(script.error).toMatchObject({ issues: [{ path: 'trackingKey' }] })
  expect(script.received).toHaveLength(0)
  const custom = await withApi(
    ({ events }) => events.sendCustomApi(completePayloads.sendCustomApi),
    options,
  )
  expect(custom.value).toEqual({ id: 'x' })
})

test.each([
  ['ABC 23/ü', '/t/j/ABC%2023%2F%C3%BC?k=ABC%2023%2F%C3%BC'],
  ['../../x', '/t/j/..%2F..%2Fx?k=..%2F..%2Fx'],
  [undefined, '/t/j/ABC%3F23?k=ABC%3F23'],
])('serveJavascript of %j', async (key, target) => {
  const { received } = await withApi(({ events }) => events.serveJavascript(key))
  expect(received.map((one) => one.target)).toEqual([target])
})

test.each(['ABC12', 'x'.repeat(21), '      ', 'ABC12\ud83d', 7, {}])(
  'serveJavascript refuses %j',
  async (key) => {
    const { error, received } = await withApi(({ events }) => events.serveJavascript(key as string))
    expect(error).toMatchObject({ name: 'ValidationException', issues: [{ path: 'trackingKey' }] })
    expect(received).toHaveLength(0)
  },
)

test.each([
  ['c-1', ''],
  [{ id: 'c-1' }, ''],
  [{ id: 'c-1', bots: null }, ''],
  [{ id: 'c-1', bots: 'exclude' as const }, '&bots=exclude'],
])('getEmailReport of %j', async (report, query) => {
  const { received } = await withApi(({ campaigns }) => campaigns.getEmailReport(report))
  const target = `/api/v1/campaigns/c-1/email/get-report?${REST}${query}`
  expect(received.map((one) => one.target)).toEqual([target])
})

test.each([
  [undefined, ''],
  [{}, ''],
  [{ date_from: 0, date_to: null }, '&date_from=0'],
  [{ date_to: ' 2027-01-31 ' }, '&date_to=2027-01-31'],
])('unsubscribed of %j', async (period, query) => {
  const { received } = await withApi(({ subscribers }) => subscribers.unsubscribed(period))
  expect(received.map((one) => one.target)).toEqual([`/api/v1/unsubscribed_emails?${REST}${query}`])
})

test.each(['2026-02-30 10:00', '2026-04-31 10:00', '2026-02-29 10:00', '2026-02-28 25:61'])(
  'no campaign is scheduled at %s',
  async (send_at) => {
    const { create } = completePayloads
    const scheduling = { ...create.scheduling, send_at }
    const { error } = await withApi(({ campaigns }) => campaigns.create({ ...create, scheduling }))
    expect(error).toMatchObject({ issues: [{ path: 'scheduling.send_at' }] })
  },
)

test('HTML is counted in characters, its request in bytes', async () => {
  const { create } = completePayloads
  const send = (html: string) =>
    withApi(({ campaigns }) => campaigns.create({ ...create, content: { html } }))
  const { error, received } = await send('é'.repeat(512_000))
  expect(error).toBeUndefined()
  expect(Number(received[0]?.headers['content-length'])).toBe(
    Buffer.byteLength(received[0]?.body ?? ''),
  )
  expect((await send('x'.repeat(512_001))).error).toMatchObject({
    issues: [{ path: 'content.html' }],
  })
})

test('a payload is converted, and unknown keys are dropped', async () => {
  const { received } = await withApi(({ events }) =>
    events.addToCart({
      ...completePayloads.addToCart,
      product_id: '0042',
      source: null,
      ...{ constructor: 'x', secret: 'y' },
    }),
  )
  const { source: _, ...line } = completePayloads.addToCart
  expect(JSON.parse(received[0]?.body ?? '')).toEqual(line)
})

test('each operation has its types', () => {
  type Of<O extends keyof Client['events']> = ReturnType<Client['events'][O]>
  expectTypeOf<Of<'addToCart'>>().toEqualTypeOf<Promise<StoredEvent>>()
  expectTypeOf<ReturnType<Client['campaigns']['getEmailReport']>>().toEqualTypeOf<
    Promise<EmailReport>
  >()
  expectTypeOf<ReturnType<Client['subscribers']['unsubscribed']>>().toEqualTypeOf<
    Promise<readonly string[]>
  >()
  expectTypeOf<Named<'addToCart'>['product_id']>().toEqualTypeOf<number | `${number}`>()
  const compile = (client: Client) => [
    // @ts-expect-error a line has a quantity
    client.events.addToCart({ ...completePayloads.viewHomepage, product_id: 1, variation: {} }),
    // @ts-expect-error an id is text
    client.campaigns.getEmailReport(7),
    // @ts-expect-error bots are included or not
    client.campaigns.getEmailReport({ id: 'c-1', bots: true }),
    // @ts-expect-error the field is date_from
    client.subscribers.unsubscribed({ from: '2027-01-01' }),
    // @ts-expect-error no such channel
    client.campaigns.create({ ...completePayloads.create, type: 'fax' }),
    // @ts-expect-error no such filter
    client.campaigns.list({ colour: 'red' }),
    // @ts-expect-error an order has products
    client.orders.save({ number: 1, total_value: 1 }),
    // @ts-expect-error an amount is a number or text
    client.orders.save({ number: 1, total_value: null, products: [] }),
    // @ts-expect-error the field is email
    client.subscribers.add({ email_address: 'ana@shop.example' }),
    // @ts-expect-error no such option
    client.campaigns.list({}, { patience: 1 }),
  ]
  expect(compile).toBeInstanceOf(Function)
})

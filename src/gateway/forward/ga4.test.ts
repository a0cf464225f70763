import { safeParse } from 'valibot'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeForwardEvent } from '../../test/forwardEvents.ts'
import { type Receiver, startReceiver, status } from '../../test/receiver.ts'
import { ga4 } from './ga4.ts'
import { clientIdOf } from './ga4Event.ts'
import type { ForwardEvent } from './kind.ts'

const NOW = Date.UTC(2026, 10, 29, 13)
const SECRETS = { measurementId: 'G-ABC1234567', apiSecret: 'secret-1' }

let receiver: Receiver

beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(() => receiver.close())

const send = (events: readonly ForwardEvent[], settings = {}, signal?: AbortSignal) =>
  ga4
    .open(
      { ...SECRETS, endpoint: receiver.url, ...settings },
      {
        destinationId: 'g1',
        customer: 'acme',
        refundStatuses: () => [],
        folder: '',
        fetch,
        now: () => NOW,
      },
    )
    .send(events, signal ?? new AbortController().signal)

type Body = {
  readonly client_id: string
  readonly validation_behavior?: string
  readonly events: readonly { readonly params: { readonly event_id: string } }[]
}

const bodies = (): Body[] => receiver.received.map(({ body }) => JSON.parse(body) as Body)

const idsOf = (body: Body): string[] => body.events.map(({ params }) => params.event_id)

/** Events of two devices in turn. */
const events = (count: number): ForwardEvent[] =>
  Array.from({ length: count }, (_, i) => makeForwardEvent(i + 1, { did: `d${i % 2}` }))

test('sends the events of each device in order, at most 25 a request', async () => {
  const all = events(70)
  expect(await send(all)).toEqual(all.map(() => ({ status: 'delivered' })))
  expect(receiver.received.map(({ path }) => path)).toEqual(
    Array(4).fill('/mp/collect?measurement_id=G-ABC1234567&api_secret=secret-1'),
  )
  expect(
    bodies()
      .map(({ events }) => events.length)
      .sort(),
  ).toEqual([10, 10, 25, 25])
  for (const did of ['d0', 'd1'])
    expect(
      bodies()
        .filter((body) => body.client_id === clientIdOf(did))
        .flatMap(idsOf),
    ).toEqual(all.filter((event) => event.did === did).map(({ id }) => id))
})

test('sends devices side by side, at most 8 at once', async () => {
  let now = 0
  let most = 0
  receiver.answer((_request, response) => {
    most = Math.max(most, ++now)
    setImmediate(() => {
      now--
      response.writeHead(204).end()
    })
  })
  const all = Array.from({ length: 40 }, (_, i) => makeForwardEvent(i + 1, { did: `d${i}` }))
  expect(await send(all)).toEqual(all.map(() => ({ status: 'delivered' })))
  expect(most).toBeGreaterThan(1)
  expect(most).toBeLessThanOrEqual(8)
})

test('keeps a request below 130 kB', async () => {
  const payload = { url: `https://shop.example/${'ă'.repeat(1_000)}` }
  const long = Array.from({ length: 25 }, (_, i) => makeForwardEvent(i + 1, { payload }))
  const params = Object.fromEntries(
    Array.from({ length: 10 }, (_, i) => [`p${i}`, '😀'.repeat(100)]),
  )
  await send(long, { params })
  expect(bodies().flatMap(idsOf)).toEqual(long.map(({ id }) => id))
  expect(receiver.received.length).toBeGreaterThan(1)
  for (const { body } of receiver.received) expect(Buffer.byteLength(body)).toBeLessThan(130_000)
})

test('refuses old events and passes over those without a name, and sends the rest', async () => {
  expect(
    await send([
      makeForwardEvent(1, { at: 0 }),
      makeForwardEvent(2, { operation: 'setEmail' }),
      makeForwardEvent(3),
    ]),
  ).toEqual([
    { status: 'refused', reason: 'It is older than 72 hours, and Google takes no such events' },
    { status: 'delivered' },
    { status: 'delivered' },
  ])
  expect(bodies().flatMap(idsOf)).toEqual([makeForwardEvent(3).id])
})

test('events with another browser or address have a request of their own', async () => {
  await send([
    makeForwardEvent(1),
    makeForwardEvent(2, { payload: { http_user_agent: 'Other' } }),
    makeForwardEvent(3),
  ])
  expect(bodies().map(idsOf)).toEqual([1, 2, 3].map((seq) => [makeForwardEvent(seq).id]))
})

test.each([
  [400, undefined],
  [302, undefined],
  [429, 3_000],
  [503, 3_000],
])('HTTP %i fails, and nothing more is sent', async (code, retryAfterMs) => {
  receiver.answer(status(code, retryAfterMs === undefined ? {} : { 'retry-after': '3' }))
  const failed = { status: 'failed', reason: `HTTP ${code}`, ...(retryAfterMs && { retryAfterMs }) }
  expect(await send(events(70))).toEqual(Array(70).fill(failed))
  expect(receiver.received).toHaveLength(2)
})

test('a failure in between leaves what was delivered', async () => {
  receiver.answer(
    (_request, response) => void response.writeHead(receiver.received.length > 1 ? 500 : 204).end(),
  )
  const results = await send(Array.from({ length: 30 }, (_, i) => makeForwardEvent(i + 1)))
  expect(results.map((result) => result.status)).toEqual([
    ...Array(25).fill('delivered'),
    ...Array(5).fill('failed'),
  ])
})

test('no reason contains the secret, which is in the address', async () => {
  await receiver.close()
  const results = await send(events(1))
  expect(results).toEqual([{ status: 'failed', reason: 'It could not be reached (ECONNREFUSED)' }])
  receiver = await startReceiver()
})

describe('validation', () => {
  const messages = (...list: object[]) => JSON.stringify({ validationMessages: list })
  const validate = (events: readonly ForwardEvent[]) => send(events, { validate: true })

  test('asks for each event alone, strictly', async () => {
    receiver.answer(status(200, {}, messages()))
    expect(await validate(events(2))).toEqual(Array(2).fill({ status: 'delivered' }))
    expect(receiver.received.map(({ path }) => path.split('?')[0])).toEqual(
      Array(2).fill('/debug/mp/collect'),
    )
    for (const body of bodies()) {
      expect(body.validation_behavior).toBe('ENFORCE_RECOMMENDATIONS')
      expect(body.events).toHaveLength(1)
    }
  })

  test('refuses with what Google says', async () => {
    receiver.answer(
      status(
        200,
        {},
        messages({ fieldPath: 'events.params', description: 'No currency', validationCode: 'V' }),
      ),
    )
    expect(await validate(events(1))).toEqual([
      { status: 'refused', reason: 'Google says: No currency (events.params)' },
    ])
    receiver.answer(status(200, {}, messages({ description: 'x'.repeat(5_000) })))
    const [long] = await validate(events(1))
    expect(long?.status === 'refused' && long.reason.length).toBe(313)
  })

  test.each(['', '[]', '{}', 'null', '{"validationMessages":7}', `${'['.repeat(70_000)}`])(
    'fails if the answer can not be read',
    async (body) => {
      receiver.answer(status(200, {}, body))
      expect(await validate(events(1))).toEqual([
        { status: 'failed', reason: 'The answer of the validation can not be read' },
      ])
    },
  )
})

describe('settings', () => {
  const faultsOf = (value: object): string[] =>
    (safeParse(ga4.settings, { ...SECRETS, ...value }).issues ?? []).map(
      ({ path, message }) => `${path?.map(({ key }) => key).join('.') ?? ''}: ${message}`,
    )

  test.each([
    {},
    { endpoint: 'https://region1.google-analytics.com' },
    { events: { viewProduct: 'seen', search: false, sendCustom: true } },
    { itemId: 'sku', params: { currency: 'EUR', level: 3 } },
    { consent: { ad_user_data: 'GRANTED' }, userData: true, sendAddress: true, validate: true },
  ])('take %j', (value) => expect(faultsOf(value)).toEqual([]))

  test.each([
    [{ measurementId: 'UA-1-1' }, 'measurementId: Expected the measurement id'],
    [{ apiSecret: 'a b' }, 'apiSecret: Expected the API secret of the data stream: 8 to 100'],
    [{ endpoint: 'https://a.example/mp/collect' }, 'endpoint: Expected an address without a path'],
    [{ events: { viewProducts: 'a' } }, 'events.viewProducts: There is no such setting. Known are'],
    [{ events: { search: true } }, 'events.search: Expected an event name'],
    [{ events: { search: 'first_visit' } }, 'events.search: Expected an event name'],
    [{ events: { search: '_a' } }, 'events.search: Expected an event name'],
    [{ itemId: 'id' }, 'itemId: Expected "product_id", "variation_id" or "sku"'],
    [{ params: { ga_a: 1 } }, 'params.ga_a: Expected a parameter name'],
    [{ params: { a: 'x'.repeat(101) } }, 'params.a: Expected a number, or text of at most 100'],
    [
      { params: Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`p${i}`, 1])) },
      'params: Expected at most 10 parameters',
    ],
    [{ params: [] }, 'params: Expected an object of parameters'],
    [{ consent: { ad_user_data: 'granted' } }, 'consent.ad_user_data: Expected "GRANTED"'],
    [{ validate: 'yes' }, 'validate: Expected true or false'],
  ])('refuse %j', (value, expected) => {
    const faults = faultsOf(value)
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain(expected)
    expect(faults[0]).not.toContain('a b')
  })
})

test('is described without its secret', () =>
  expect(ga4.describe(SECRETS)).toBe('G-ABC1234567 at www.google-analytics.com'))

import { once } from 'node:events'
import { expect, test } from 'vitest'
import { json, type Respond, startApi } from '../test/api.ts'
import { completePayloads } from '../test/payloads.ts'
import { createClientOf } from './client.ts'
import { ApiException, type Client, type ClientOptions, createClient } from './index.ts'
import { readClientOptions } from './options.ts'
import { waitBefore } from './retry.ts'

const KEYS = { customerId: 'CUSTOMER-7', restKey: 'rest-Key-9f31', trackingKey: 'ABC123' }
const NOW = Date.UTC(2027, 2, 1, 12)

/** A client that does not wait between requests; `waits` has the ms that it would have waited. */
function createFastClient(baseUrl: string, options: Partial<ClientOptions> = {}) {
  const waits: number[] = []
  const settings = readClientOptions({ ...KEYS, baseUrl, now: () => NOW, ...options })
  const wait = async (ms: number) => {
    waits.push(ms)
  }
  return { client: createClientOf({ ...settings, wait }), waits }
}

const read = ({ campaigns }: Client) => campaigns.getLatestCampaign()
const create = ({ campaigns }: Client) => campaigns.create(completePayloads.create)
const custom = ({ events }: Client) => events.sendCustomApi(completePayloads.sendCustomApi)
const view = ({ events }: Client) => events.viewHomepage(completePayloads.viewHomepage)
const list = ({ campaigns }: Client) => campaigns.list()
const shopCalls = [
  ({ orders }: Client) => orders.save(completePayloads.saveOrder),
  ({ orders }: Client) => orders.updateStatus(completePayloads.updateOrderStatus),
  ({ subscribers }: Client) => subscribers.add(completePayloads.addSubscriber),
  ({ subscribers }: Client) => subscribers.remove(completePayloads.removeSubscriber),
]

const failureOf = async (call: Promise<unknown>): Promise<ApiException> => {
  const error = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(ApiException)
  return error as ApiException
}

async function callAgainst(
  respond: Respond,
  call: (client: Client) => Promise<unknown>,
  options: Partial<ClientOptions> = {},
) {
  const api = await startApi(respond)
  const { client, waits } = createFastClient(api.url, options)
  const error = await failureOf(call(client))
  await api.close()
  return { error, waits, received: api.received }
}

const HTTP_DATE = new Date(NOW + 5_000).toUTCString()
const retryAfters: readonly [header: string | null, wait: number][] = [
  ['1', 1_000],
  [HTTP_DATE, 5_000],
  ['Monday, 01-Mar-27 12:00:07 GMT', 7_000],
  ['Mon Mar  1 12:00:08 2027', 8_000],
  ['99999', 60_000],
  [new Date(NOW + 864e5).toUTCString(), 60_000],
  [null, 0],
  ['-5', 0],
  ['0', 0],
  ['soon', 0],
  ['1e3', 0],
  ['Mon, 99 Foo 2027', 0],
  [new Date(NOW - 5_000).toUTCString(), 0],
]
test.each(retryAfters)('Retry-After %s is a wait of %d ms and the backoff', (header, ms) => {
  expect(waitBefore(1, header, NOW, 0)).toBe(ms)
  expect(waitBefore(1, header, NOW, 0.5)).toBe(ms + 250)
  expect(waitBefore(2, header, NOW, 1)).toBe(ms + 1_000)
})

test('the backoff doubles, up to ten seconds, times a random number', () => {
  const waits = Array.from({ length: 10 }, (_, index) => waitBefore(index + 1, null, NOW, 0.5))
  expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000, 5_000])
})

test('the client waits as long as the answer and the backoff say', async () => {
  const { waits, received, error } = await callAgainst(json(429, {}, { 'retry-after': '7' }), read)
  expect(received).toHaveLength(3)
  expect(error).toMatchObject({ status: 429, mayHaveArrived: false })
  expect(waits).toHaveLength(2)
  for (const [retry, ms] of waits.entries()) {
    expect(ms).toBeGreaterThanOrEqual(7_000)
    expect(ms).toBeLessThan(7_000 + 500 * (retry + 1))
  }
  const many = await callAgainst(json(503, {}), read, { retries: 10 })
  expect(many.waits).toHaveLength(10)
  expect(new Set(many.waits).size).toBe(10)
  expect(Math.max(...many.waits)).toBeLessThan(10_000)
})

const requests: readonly [status: number, idempotent: number, other: number][] = [
  [408, 3, 1],
  [425, 3, 1],
  [429, 3, 3],
  [500, 3, 1],
  [502, 3, 1],
  [503, 3, 1],
  [504, 3, 1],
  [400, 1, 1],
  [401, 1, 1],
  [403, 1, 1],
  [404, 1, 1],
  [405, 1, 1],
  [409, 1, 1],
  [422, 1, 1],
  [501, 1, 1],
]
test.each(requests)(
  'after %i a read, an event or an order makes %i requests, a create or sendCustomApi %i',
  async (status, idempotent, other) => {
    for (const call of [read, list, view, ...shopCalls])
      expect((await callAgainst(json(status, {}), call)).received).toHaveLength(idempotent)
    for (const call of [create, custom]) {
      const { error, received } = await callAgainst(json(status, {}), call)
      expect(received).toHaveLength(other)
      expect(error.mayHaveArrived).toBe(status >= 500 || status === 408)
    }
  },
)

test('a request that succeeds ends the retries', async () => {
  const api = await startApi((response, received, count) =>
    json(count < 3 ? 503 : 200, { count })(response, received, count),
  )
  const { client } = createFastClient(api.url)

  expect(await read(client)).toEqual({ count: 3 })
  await api.close()
})

test('an event has one id and one time in all its requests', async () => {
  const { received } = await callAgainst(json(503, {}), view)
  const queries = received.map(({ target }) => target.slice(target.indexOf('?')))

  expect(new Set(queries).size).toBe(1)
  const query = new URLSearchParams(queries[0])
  expect(query.get('at')).toBe(`${NOW}`)
  expect(query.get('id')).toMatch(
    /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
  )
})

const refused = (code: string) => Object.assign(new Error(code), { code })
const neverMade: readonly [what: string, error: unknown][] = [
  ['ECONNREFUSED', new TypeError('fetch failed', { cause: refused('ECONNREFUSED') })],
  ['ENOTFOUND', new TypeError('fetch failed', { cause: refused('ENOTFOUND') })],
  ['EAI_AGAIN', new TypeError('fetch failed', { cause: refused('EAI_AGAIN') })],
  [
    'a connect timeout',
    new TypeError('fetch failed', { cause: refused('UND_ERR_CONNECT_TIMEOUT') }),
  ],
  ['an unreachable net', Object.assign(refused('ENETUNREACH'), { syscall: 'connect' })],
  ['a bad certificate', new TypeError('fetch failed', { cause: refused('CERT_HAS_EXPIRED') })],
  [
    'a message of Deno',
    new TypeError('fetch failed', {
      cause: new Error('error sending request for url (…): client error (Connect): dns error'),
    }),
  ],
  ['a code of Bun', refused('ConnectionRefused')],
  ['two addresses', { cause: new AggregateError([refused('ECONNREFUSED'), refused('ENOTFOUND')]) }],
]
test.each(neverMade)('without a connection every call is repeated: %s', async (_what, error) => {
  let requests = 0
  const fetch = () => {
    requests += 1
    return Promise.reject(error)
  }
  for (const call of [create, custom, read]) {
    requests = 0
    const { client } = createFastClient('https://gateway.example', { fetch })
    const failure = await failureOf(call(client))
    expect(requests).toBe(3)
    expect(failure).toMatchObject({ status: 0, mayHaveArrived: false })
    expect(failure.message).toContain('not sent')
  }
})

const mayHaveArrived: readonly [what: string, error: unknown][] = [
  ['ECONNRESET', new TypeError('fetch failed', { cause: refused('ECONNRESET') })],
  ['a socket that closed', new TypeError('fetch failed', { cause: refused('UND_ERR_SOCKET') })],
  ['an address that was reached', new AggregateError([refused('ECONNREFUSED'), refused('EPIPE')])],
  ['an error without a message', new AggregateError([])],
  ['no error at all', undefined],
  ['a text', 'broken'],
]
test.each(mayHaveArrived)('a create is not repeated after %s', async (_what, error) => {
  let requests = 0
  const fetch = () => {
    requests += 1
    return Promise.reject(error)
  }
  const { client } = createFastClient('https://gateway.example', { fetch })
  const failure = await failureOf(create(client))
  expect(requests).toBe(1)
  expect(failure).toMatchObject({ status: 0, mayHaveArrived: true })
  expect(failure.message).toContain('sent, result unknown')
  expect(failure.cause).toBeInstanceOf(Error)
  await failureOf(view(client))
  expect(requests).toBe(4)
})

test('mayHaveArrived stays true if an earlier request may have been carried out', async () => {
  const errors = [refused('ECONNRESET'), refused('ECONNREFUSED'), refused('ECONNREFUSED')]
  const fetch = () => Promise.reject(errors.shift())
  const { client } = createFastClient('https://gateway.example', { fetch })
  const error = await failureOf(view(client))
  expect(error).toMatchObject({
    mayHaveArrived: true,
    message: expect.stringContaining('ECONNREFUSED'),
  })
  expect(errors).toHaveLength(0)
})

test('a port without a server: not sent, after all retries', async () => {
  const api = await startApi(json(200, []))
  await api.close()
  const { client, waits } = createFastClient(api.url)
  const error = await failureOf(create(client))

  expect(waits).toHaveLength(2)
  expect(error).toMatchObject({ status: 0, mayHaveArrived: false })
  expect(error.message).toBe('create: not sent: ECONNREFUSED')
  expect(error.cause).toMatchObject({ name: 'TypeError', cause: { code: 'ECONNREFUSED' } })
})

test('a body that breaks off counts as no answer', async () => {
  const breakOff: Respond = (response) => {
    response.writeHead(200, { 'content-length': 100 })
    response.write('{"id":')
    setImmediate(() => response.destroy())
  }
  const reading = await callAgainst(breakOff, read)
  expect(reading.received).toHaveLength(3)
  expect(reading.error).toMatchObject({ status: 0 })
  const creating = await callAgainst(breakOff, create)
  expect(creating.received).toHaveLength(1)
  expect(creating.error).toMatchObject({ status: 0, mayHaveArrived: true })
})

test('a timeout does not repeat a create that may have been carried out', async () => {
  let requests = 0
  const { error } = await callAgainst(() => {}, create, {
    timeoutMs: 50,
    fetch: (url, init) => {
      requests += 1
      return fetch(url, init)
    },
  })
  expect(requests).toBe(1)
  expect(error).toMatchObject({ status: 0, mayHaveArrived: true })
  expect(error.message).toBe('create: sent, result unknown: No answer within 50 ms')
  expect(error.cause).toMatchObject({ name: 'TimeoutError' })
})

test('the timeout ends a call also if the fetch ignores its signal', async () => {
  const fetches = [
    () => new Promise<never>(() => {}),
    async () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) })),
  ]
  for (const fetch of fetches) {
    const client = createClient({ ...KEYS, baseUrl: 'https://gateway.example', fetch })
    const error = await failureOf(client.campaigns.list({}, { timeoutMs: 20, retries: 0 }))
    expect(error.cause).toMatchObject({ name: 'TimeoutError' })
  }
})

test('the timeout ends a body that hangs, and its socket is closed', async () => {
  let closed: Promise<unknown> | undefined
  const { error } = await callAgainst(
    (response) => {
      closed = once(response, 'close')
      response.writeHead(200)
      response.write('{')
    },
    read,
    { timeoutMs: 50, retries: 0 },
  )
  expect(error).toMatchObject({ status: 0 })
  await closed
})

test('an error whose body hangs has its status', async () => {
  const controller = new AbortController()
  const { error } = await callAgainst(
    (response) => {
      response.writeHead(401)
      response.write('{"message":')
    },
    ({ campaigns }) => campaigns.list({}, { signal: controller.signal }),
    {
      // The abort comes when the head has been received.
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        setImmediate(() => controller.abort())
        return response
      },
    },
  )
  expect(error).toMatchObject({ name: 'UnauthorizedException', status: 401 })
})

test('an abort ends an open request', async () => {
  const controller = new AbortController()
  let closed: Promise<unknown> | undefined
  const api = await startApi((response) => {
    closed = once(response, 'close')
    controller.abort(new Error('The visitor left'))
  })
  const { client } = createFastClient(api.url)
  const error = await failureOf(
    client.campaigns.create(completePayloads.create, { signal: controller.signal }),
  )
  expect(error).toMatchObject({ status: 0, mayHaveArrived: true })
  expect(error.message).toContain('aborted by the caller')
  expect(error.cause).toBe(controller.signal.reason)
  await closed
  await api.close()
  expect(api.received).toHaveLength(1)
})

test('an abort ends the wait for a retry, and no other request is made', async () => {
  const controller = new AbortController()
  const api = await startApi(json(429, {}, { 'retry-after': '60' }))
  const settings = readClientOptions({ ...KEYS, baseUrl: api.url })
  const client = createClientOf({
    ...settings,
    wait: (ms, signal) => {
      queueMicrotask(() => controller.abort())
      return settings.wait(ms, signal)
    },
  })
  const error = await failureOf(client.campaigns.list({}, { signal: controller.signal }))

  expect(error).toMatchObject({ status: 0, mayHaveArrived: false })
  expect(error.cause).toBe(controller.signal.reason)
  expect(api.received).toHaveLength(1)
  await api.close()
})

test('a call may have its own number of retries', async () => {
  const api = await startApi(json(503, {}))
  const { client } = createFastClient(api.url)

  await failureOf(client.campaigns.list({}, { retries: 0 }))
  expect(api.received).toHaveLength(1)
  await failureOf(client.campaigns.list({}, { retries: 4 }))
  expect(api.received).toHaveLength(6)
  await api.close()
})

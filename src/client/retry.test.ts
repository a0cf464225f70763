import { once } from 'node:events'
import { expect, test } from 'vitest'
import { json, type Respond, startApi } from '../test/api.ts'
import { completePayloads } from '../test/payloads.ts'
import { ApiException, type Client, type ClientOptions, createClient } from './index.ts'

const KEYS = { customerId: 'CUSTOMER-7', restKey: 'rest-Key-9f31', trackingKey: 'ABC123' }
const NOW = Date.UTC(2027, 2, 1, 12)
const TIMEOUT_MS = 10_000

/** Timers that fire at once, but for those of timeouts, which never do; `waits` holds the rest. */
function createClock() {
  const waits: number[] = []
  return {
    waits,
    clock: {
      setTimeout: (callback: () => void, ms: number) => {
        if (ms === TIMEOUT_MS) return
        waits.push(ms)
        queueMicrotask(callback)
      },
      clearTimeout: () => {},
    },
  }
}

function createFastClient(baseUrl: string, options: Partial<ClientOptions> = {}) {
  const { waits, clock } = createClock()
  const client = createClient({
    ...KEYS,
    baseUrl,
    clock,
    now: () => NOW,
    random: () => 1,
    ...options,
  })
  return { client, waits }
}

const read = ({ campaigns }: Client) => campaigns.getLatestCampaign()
const create = ({ campaigns }: Client) => campaigns.create(completePayloads.create)
const custom = ({ events }: Client) => events.sendCustomApi(completePayloads.sendCustomApi)
const view = ({ events }: Client) => events.viewHomepage(completePayloads.viewHomepage)
const list = ({ campaigns }: Client) => campaigns.list()

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
const retryAfters: readonly [header: string | undefined, waits: readonly number[]][] = [
  ['1', [1_500, 2_000]],
  [HTTP_DATE, [5_500, 6_000]],
  ['Monday, 01-Mar-27 12:00:07 GMT', [7_500, 8_000]],
  ['Mon Mar  1 12:00:08 2027', [8_500, 9_000]],
  ['99999', [60_500, 61_000]],
  [new Date(NOW + 864e5).toUTCString(), [60_500, 61_000]],
  [undefined, [500, 1_000]],
  ['-5', [500, 1_000]],
  ['0', [500, 1_000]],
  ['soon', [500, 1_000]],
  ['1e3', [500, 1_000]],
  ['Mon, 99 Foo 2027', [500, 1_000]],
  [new Date(NOW - 5_000).toUTCString(), [500, 1_000]],
]
test.each(retryAfters)('Retry-After %s: waits %j', async (header, expected) => {
  const respond = json(429, {}, header === undefined ? {} : { 'retry-after': header })
  const { error, waits, received } = await callAgainst(respond, read)

  expect(waits).toEqual(expected)
  expect(received).toHaveLength(3)
  expect(error).toMatchObject({ status: 429, mayHaveArrived: false })
})

test('callers who were all told the same second do not come back in the same millisecond', async () => {
  const respond = json(503, {}, { 'retry-after': '2' })
  const waitsOf = async (random: number) =>
    (await callAgainst(respond, read, { random: () => random })).waits
  expect(await waitsOf(0)).toEqual([2_000, 2_000])
  expect(await waitsOf(0.25)).toEqual([2_125, 2_250])
})

test('the wait is a random part of twice the last one, up to ten seconds', async () => {
  const { waits } = await callAgainst(json(503, {}), read, { retries: 10, random: () => 0.5 })

  expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000, 5_000])
})

const tries: readonly [status: number, safe: number, unsafe: number][] = [
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
test.each(tries)(
  '%i is tried %i times, a create or sendCustomApi %i',
  async (status, safe, unsafe) => {
    for (const call of [read, list, view])
      expect((await callAgainst(json(status, {}), call)).received).toHaveLength(safe)
    for (const call of [create, custom]) {
      const { error, received } = await callAgainst(json(status, {}), call)
      expect(received).toHaveLength(unsafe)
      expect(error.mayHaveArrived).toBe(status >= 500 || status === 408)
    }
  },
)

test('a try that succeeds ends them', async () => {
  const api = await startApi((response, received, count) =>
    json(count < 3 ? 503 : 200, { count })(response, received, count),
  )
  const { client } = createFastClient(api.url)

  expect(await read(client)).toEqual({ count: 3 })
  await api.close()
})

test('an event has one id and one moment in all its tries', async () => {
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
    'words of Deno',
    new TypeError('fetch failed', {
      cause: new Error('error sending request for url (…): client error (Connect): dns error'),
    }),
  ],
  ['a code of Bun', refused('ConnectionRefused')],
  ['two addresses', { cause: new AggregateError([refused('ECONNREFUSED'), refused('ENOTFOUND')]) }],
]
test.each(neverMade)(
  'a connection that was never made is tried again: %s',
  async (_what, error) => {
    let tries = 0
    const fetch = () => {
      tries += 1
      return Promise.reject(error)
    }
    for (const call of [create, custom, read]) {
      tries = 0
      const { client } = createFastClient('https://gateway.example', { fetch })
      const failure = await failureOf(call(client))
      expect(tries).toBe(3)
      expect(failure).toMatchObject({ status: 0, mayHaveArrived: false })
      expect(failure.message).toContain('not sent')
    }
  },
)

const mayHaveArrived: readonly [what: string, error: unknown][] = [
  ['ECONNRESET', new TypeError('fetch failed', { cause: refused('ECONNRESET') })],
  ['a socket that closed', new TypeError('fetch failed', { cause: refused('UND_ERR_SOCKET') })],
  ['an address that was reached', new AggregateError([refused('ECONNREFUSED'), refused('EPIPE')])],
  ['an error of no words', new AggregateError([])],
  ['no error at all', undefined],
  ['a text', 'broken'],
]
test.each(mayHaveArrived)('a create is not repeated after %s', async (_what, error) => {
  let tries = 0
  const fetch = () => {
    tries += 1
    return Promise.reject(error)
  }
  const { client } = createFastClient('https://gateway.example', { fetch })
  const failure = await failureOf(create(client))
  expect(tries).toBe(1)
  expect(failure).toMatchObject({ status: 0, mayHaveArrived: true })
  expect(failure.message).toContain('sent, result unknown')
  expect(failure.cause).toEqual(error)
  await failureOf(view(client))
  expect(tries).toBe(4)
})

test('what an earlier try may have done is not forgotten', async () => {
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

test('a port where nobody listens: not sent, in as many tries as were allowed', async () => {
  const api = await startApi(json(200, []))
  await api.close()
  const { client, waits } = createFastClient(api.url)
  const error = await failureOf(create(client))

  expect(waits).toEqual([500, 1_000])
  expect(error).toMatchObject({ status: 0, mayHaveArrived: false })
  expect(error.message).toContain('ECONNREFUSED')
})

test('a body that breaks off is no answer', async () => {
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

test('a timeout does not repeat a create that was carried out', async () => {
  const { error, received } = await callAgainst(() => {}, create, {
    timeoutMs: 50,
    clock: globalThis,
  })
  expect(received).toHaveLength(1)
  expect(error).toMatchObject({ status: 0, mayHaveArrived: true })
  expect(error.message).toBe('create: sent, result unknown: No answer within 50 ms')
  expect(error.cause).toMatchObject({ name: 'TimeoutError' })
})

test('a fetch that listens to no signal is not waited for', async () => {
  const deaf = [
    () => new Promise<never>(() => {}),
    async () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) })),
  ]
  for (const fetch of deaf) {
    const client = createClient({ ...KEYS, baseUrl: 'https://gateway.example', fetch })
    const error = await failureOf(client.campaigns.list({}, { timeoutMs: 20, retries: 0 }))
    expect(error.cause).toMatchObject({ name: 'TimeoutError' })
  }
})

test('a body that hangs is given up, and its socket closed', async () => {
  let closed: Promise<unknown> | undefined
  const { error } = await callAgainst(
    (response) => {
      closed = once(response, 'close')
      response.writeHead(200)
      response.write('{')
    },
    read,
    { timeoutMs: 50, retries: 0, clock: globalThis },
  )
  expect(error).toMatchObject({ status: 0 })
  await closed
})

test('of an error whose body hangs the status is told', async () => {
  const { error } = await callAgainst(
    (response) => {
      response.writeHead(401)
      response.write('{"message":')
    },
    read,
    { timeoutMs: 50, retries: 0, clock: globalThis },
  )
  expect(error).toMatchObject({ name: 'UnauthorizedException', status: 401 })
})

test('an abort ends a request that is on its way', async () => {
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

test('an abort ends the wait between two tries, and no other try is made', async () => {
  const controller = new AbortController()
  const api = await startApi(json(429, {}, { 'retry-after': '60' }))
  const { client } = createFastClient(api.url, {
    clock: {
      setTimeout: (_callback, ms) => {
        if (ms === 60_500) queueMicrotask(() => controller.abort())
      },
      clearTimeout: () => {},
    },
  })
  const error = await failureOf(client.campaigns.list({}, { signal: controller.signal }))

  expect(error).toMatchObject({ status: 0, mayHaveArrived: false })
  expect(error.cause).toMatchObject({ name: 'AbortError' })
  expect(api.received).toHaveLength(1)
  await api.close()
})

test('one call may have its own number of tries', async () => {
  const api = await startApi(json(503, {}))
  const { client } = createFastClient(api.url)

  await failureOf(client.campaigns.list({}, { retries: 0 }))
  expect(api.received).toHaveLength(1)
  await failureOf(client.campaigns.list({}, { retries: 4 }))
  expect(api.received).toHaveLength(6)
  await api.close()
})

test('what the signal and the timers were given is taken back', async () => {
  const api = await startApi(json(200, []))
  const { signal } = new AbortController()
  let listeners = 0
  let timers = 0
  signal.addEventListener = () => {
    listeners += 1
  }
  signal.removeEventListener = () => {
    listeners -= 1
  }
  const { client } = createFastClient(api.url, {
    clock: {
      setTimeout: () => {
        timers += 1
      },
      clearTimeout: () => {
        timers -= 1
      },
    },
  })
  await client.campaigns.list({}, { signal })
  expect({ listeners, timers }).toEqual({ listeners: 0, timers: 0 })
  await api.close()
})

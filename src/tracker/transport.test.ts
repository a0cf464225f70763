import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createMemoryStorage } from '../test/storage.ts'
import type { Config } from './config.ts'
import { createStore } from './lib/storage.ts'
import { type Entry, idOf } from './outbox.ts'
import { type Answer, createSend } from './transport.ts'

type Seen = { method: string; url: URL; headers: IncomingHttpHeaders; body: string }

/** Answers the next requests. */
let reply: (answer: ServerResponse, seen: Seen) => unknown
/** The requests that the server has received. */
let seen: Seen[] = []
let base = ''

const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const { method = '', url = '', headers } = request
  const one = { method, url: new URL(url, base), headers, body }
  seen.push(one)
  reply(response, one)
})

vi.stubGlobal('__version__', '1.2.3')

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  seen = []
  vi.restoreAllMocks()
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const storage = createMemoryStorage()
const store = createStore(() => storage)
const send = createSend(fetch, store)
const entry = (number: number, body = `{"n":${number}}`): Entry => ({
  name: `01890000-0000-7000-8000-${`${number}`.padStart(12, '0')}`,
  at: 1_700_000_000_000 + number,
  key: 'DEMOSHOP',
  body,
})
const [A, B, C] = [entry(1), entry(2), entry(3)]

const post = (entries: readonly Entry[], more: Partial<Config> = {}) =>
  send({ key: 'DEMOSHOP', base, batch: true, ...more }, entries, true, false)

/** Answers with a status, JSON and headers. */
const answer =
  (status: number, body: unknown = {}, headers: { [name: string]: string } = {}) =>
  (response: ServerResponse) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body))

/** The fate of each event by its verdict: `taken`, `refused`, or `unknown` without one. */
const fates = ([, , verdicts]: Answer, entries = [A]) =>
  entries.map(({ name }) => {
    const verdict = verdicts.find(({ id }) => id === idOf(name))
    if (!verdict) return 'unknown'
    return verdict.status < 300 ? 'taken' : 'refused'
  })

test('one event: its payload is the body, the rest is in the query', async () => {
  reply = answer(200, { id: A.name })
  const before = Date.now()
  const got = await post([{ ...A, body: '{"text":"ä 😀 \\u2028"}' }])
  expect(fates(got)).toEqual(['taken'])
  const [{ method, url, headers, body }] = seen as [Seen]
  expect([method, url.pathname, body]).toEqual(['POST', '/t/r', '{"text":"ä 😀 \\u2028"}'])
  expect([...url.searchParams.keys()]).toEqual(['k', 'v', 'id', 'at', 'sent'])
  expect(url.searchParams.get('k')).toBe('DEMOSHOP')
  expect(url.searchParams.get('id')).toBe(A.name)
  expect(url.searchParams.get('at')).toBe(`${A.at}`)
  expect(Number(url.searchParams.get('sent'))).toBeGreaterThanOrEqual(before)
  // Such a request needs no preflight.
  expect(headers['content-type']).toBe('text/plain;charset=UTF-8')
  expect(Object.keys(headers).filter((name) => /^x-|authorization|cookie/.test(name))).toEqual([])
})

test('several events: a batch', async () => {
  reply = answer(200, { results: [A, B].map(({ name }) => ({ id: name, status: 200 })) })
  expect(fates(await post([A, B]), [A, B])).toEqual(['taken', 'taken'])
  const [{ url, body }] = seen as [Seen]
  expect([url.pathname, url.search]).toEqual(['/t/batch', '?k=DEMOSHOP&v=1.2.3'])
  const { sent, events } = JSON.parse(body)
  expect(Number.isSafeInteger(sent)).toBe(true)
  expect(events).toEqual([
    { id: A.name, at: A.at, payload: { n: 1 } },
    { id: B.name, at: B.at, payload: { n: 2 } },
  ])
})

test('the id of a second key’s entry is sent without the key; keys are encoded', async () => {
  reply = answer(200, { id: A.name })
  const got = await post([{ ...A, name: `${A.name}.A&B/é` }], { key: 'A&B/é' })
  expect(fates(got)).toEqual(['taken'])
  expect(seen[0]?.url.searchParams.get('id')).toBe(A.name)
  expect(seen[0]?.url.searchParams.get('k')).toBe('A&B/é')
})

test('options of fetch', async () => {
  const fake = vi.fn(async (..._: Parameters<typeof fetch>) => Response.json({ id: A.name }))
  for (const keepalive of [true, false])
    await createSend(fake, store)({ key: 'DEMOSHOP', base }, [A], keepalive, false)
  expect(fake.mock.calls.map(([, options]) => options)).toMatchObject(
    [true, false].map((keepalive) => ({
      method: 'POST',
      keepalive,
      credentials: 'omit',
      referrerPolicy: 'origin',
      redirect: 'manual',
    })),
  )
  expect(fake.mock.calls[0]?.[1]).not.toHaveProperty('headers')
})

/** Asks about A and B. */
const ask = (sendIt = send) => sendIt({ key: 'DEMOSHOP', base, batch: true }, [A, B], false, true)

test('a question: events without payload', async () => {
  reply = answer(207, {
    results: [
      { id: A.name, status: 200 },
      { id: B.name, status: 404 },
    ],
  })
  expect((await ask())[2]).toEqual([
    { id: A.name, status: 200 },
    { id: B.name, status: 404 },
  ])
  const [{ url, body }] = seen as [Seen]
  expect([url.pathname, url.search]).toEqual(['/t/batch', '?k=DEMOSHOP&v=1.2.3'])
  expect(JSON.parse(body).events).toEqual([A, B].map(({ name, at }) => ({ id: name, at })))
})

test('a question about one event is a batch too', async () => {
  reply = answer(200, { results: [{ id: A.name, status: 200 }] })
  await send({ key: 'DEMOSHOP', base, batch: true }, [A], false, true)
  expect(seen[0]?.url.pathname).toBe('/t/batch')
})

const html = { 'content-type': 'text/html' }
test.each<[string, ReturnType<typeof answer>, number[]]>([
  ['200: all are stored', answer(200, {}), [200, 200]],
  ['207: not all are stored', answer(207, {}), [207, 207]],
  ['200 HTML, a captive portal', answer(200, '<html>', html), []],
  ['207 HTML', answer(207, '<html>', html), []],
  ['403', answer(403, {}), []],
  ['404', answer(404, {}), []],
  ['503', answer(503, {}), []],
])('a wrapper of fetch has read the answer to a question, %s', async (_, replies, expected) => {
  reply = replies
  const reading = async (...given: Parameters<typeof fetch>) => {
    const response = await fetch(...given)
    await response.text()
    return response
  }
  const got = await ask(createSend(reading, store))
  expect(got[2].map(({ status }) => status)).toEqual(expected)
  // If the request was not a question, the status is no verdict on an event.
  const sent = await createSend(reading, store)(
    { key: 'DEMOSHOP', base, batch: true },
    [A, B],
    true,
    false,
  )
  expect(sent[2]).toEqual([])
})

test.each<[string, unknown]>([
  ['no results', {}],
  ['no list', { results: 'x' }],
  ['null', null],
  ['others', { results: [{ id: C.name, status: 200 }] }],
  ['nothing', ''],
  ['JSON cut off', '{"results":['],
])('a question answered with %s: no verdicts', async (_, body) => {
  reply = answer(200, body)
  expect(fates(await ask(), [A, B])).toEqual(['unknown', 'unknown'])
})

test('a redirect, whose status browsers hide, is 308', async () => {
  const opaque = { status: 0, ok: false, headers: new Headers(), json: () => Promise.reject() }
  const got = await createSend(async () => opaque as unknown as Response, store)(
    { key: 'DEMOSHOP', base },
    [A],
    true,
    false,
  )
  expect(got).toEqual([308, 0, []])
})

const why = { message: 'why' }
test.each<[string, (response: ServerResponse) => unknown, string, number]>([
  ['200 that names the id', answer(200, { id: A.name }), 'taken', 200],
  ['201 that names the id', answer(201, { id: A.name }), 'taken', 201],
  ['200 that names another', answer(200, { id: B.name }), 'unknown', 200],
  ['200 without an id', answer(200, {}), 'unknown', 200],
  ['200 null', answer(200, 'null'), 'unknown', 200],
  ['200 true', answer(200, 'true'), 'unknown', 200],
  ['200 []', answer(200, '[]'), 'unknown', 200],
  ['200 text', answer(200, `"${A.name}"`), 'unknown', 200],
  ['200 empty', answer(200, ''), 'unknown', 200],
  [
    '200 HTML, a captive portal',
    answer(200, '<html>Welcome', { 'content-type': 'text/html' }),
    'unknown',
    200,
  ],
  ['200 JSON cut off', answer(200, `{"id":"${A.name}"`), 'unknown', 200],
  ['204', answer(204, ''), 'unknown', 204],
  ['301', answer(301, '', { location: '/elsewhere' }), 'unknown', 301],
  ['302', answer(302, '', { location: '/elsewhere' }), 'unknown', 302],
  ['307', answer(307, '', { location: '/elsewhere' }), 'unknown', 307],
  ...[400, 413, 422].flatMap(
    (status): [string, (response: ServerResponse) => unknown, string, number][] => [
      [`${status} that names the id`, answer(status, { id: A.name, ...why }), 'refused', status],
      [`${status} that names another`, answer(status, { id: B.name, ...why }), 'unknown', status],
      // Answers of proxies, firewalls and API gateways.
      [`${status} without an id`, answer(status, why), 'unknown', status],
      [
        `${status} HTML`,
        answer(status, '<html>', { 'content-type': 'text/html' }),
        'unknown',
        status,
      ],
      [`${status} empty`, answer(status, ''), 'unknown', status],
    ],
  ),
  // These statuses may have another reason than the event.
  ...[401, 403, 404, 405, 408, 409, 410, 415, 425, 429, 451, 500, 502, 503, 504].map(
    (status): [string, (response: ServerResponse) => unknown, string, number] => [
      `${status} that names the id`,
      answer(status, { id: A.name, ...why }),
      'unknown',
      status,
    ],
  ),
])('one event, %s: %s', async (_, replies, fate, status) => {
  reply = replies
  const got = await post([A])
  expect([fates(got), got[0]]).toEqual([[fate], status])
  // A redirect is not followed.
  expect(seen).toHaveLength(1)
})

test('a refusal has the gateway’s message', async () => {
  const issues = [{ path: 'url', message: 'no' }]
  reply = answer(422, { id: A.name, message: 'The event is invalid', issues })
  expect((await post([A]))[2][0]).toMatchObject({
    status: 422,
    message: 'The event is invalid',
  })
})

test('a batch: each event has its own verdict', async () => {
  reply = answer(200, {
    results: [
      { id: C.name, status: 503, message: 'later' },
      { id: B.name, status: 422, message: 'no' },
      { id: A.name, status: 200 },
    ],
  })
  expect(fates(await post([A, B, C]), [A, B, C])).toEqual(['taken', 'refused', 'unknown'])
})

const taken = (...entries: Entry[]) => entries.map(({ name }) => ({ id: name, status: 200 }))
test.each<[string, number, unknown, string[]]>([
  ['without one of them', 200, { results: taken(A, C) }, ['taken', 'unknown', 'taken']],
  ['with others’', 200, { results: taken(entry(8), entry(9)) }, ['unknown', 'unknown', 'unknown']],
  ...[401, 403, 404, 429, 503].map((status): [string, number, unknown, string[]] => [
    `a ${status} of one`,
    200,
    { results: [...taken(A), { id: B.name, status, message: 'x' }] },
    ['taken', 'unknown', 'unknown'],
  ]),
  [
    '422 with results',
    422,
    {
      results: [
        { id: A.name, status: 422 },
        { id: B.name, status: 413 },
      ],
    },
    ['refused', 'refused', 'unknown'],
  ],
  ['without results', 200, {}, ['unknown', 'unknown', 'unknown']],
  ['null', 200, null, ['unknown', 'unknown', 'unknown']],
  ['results that are not a list', 200, { results: 'x' }, ['unknown', 'unknown', 'unknown']],
  ['HTML', 200, '<html>', ['unknown', 'unknown', 'unknown']],
  ['empty', 200, '', ['unknown', 'unknown', 'unknown']],
  ...[401, 403, 404].map((status): [string, number, unknown, string[]] => [
    `${status}`,
    status,
    { id: A.name, ...why },
    ['unknown', 'unknown', 'unknown'],
  ]),
  // The status is about the batch. Its events may be valid.
  ['400', 400, why, ['unknown', 'unknown', 'unknown']],
  ['413', 413, why, ['unknown', 'unknown', 'unknown']],
  ['422', 422, why, ['unknown', 'unknown', 'unknown']],
  ['429', 429, why, ['unknown', 'unknown', 'unknown']],
  ['503', 503, why, ['unknown', 'unknown', 'unknown']],
])('a batch answered %s', async (_, status, body, expected) => {
  reply = answer(status, body)
  const got = await post([A, B, C])
  expect([fates(got, [A, B, C]), got[0]]).toEqual([expected, status])
})

test.each<[string, (response: ServerResponse) => unknown, string]>([
  ['200 HTML', answer(200, '<html>'), 'taken'],
  ['200 null', answer(200, 'null'), 'taken'],
  ['204', answer(204, ''), 'taken'],
  ['302', answer(302, '', { location: '/' }), 'unknown'],
  ['422', answer(422, why), 'unknown'],
  ['500', answer(500, why), 'unknown'],
])('another service (anyOk), %s: %s', async (_, replies, fate) => {
  reply = replies
  expect(fates(await post([A], { anyOk: true }))).toEqual([fate])
  expect(fates(await post([A, B], { anyOk: true }), [A, B])).toEqual([fate, fate])
})

test.each([
  ['120', 120_000],
  ['0', 0],
  ['1.5', 1500],
  ['', 0],
  ['soon', 0],
  ['NaN', 0],
  ['999999999', 3_600_000],
  ['Infinity', 3_600_000],
  ['1e99', 3_600_000],
  ['-5', 0],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['Fri, 31 Dec 9999 23:59:59 GMT', 3_600_000],
])('Retry-After %j', async (header, expected) => {
  reply = answer(503, why, { 'retry-after': header })
  expect(Math.max(0, (await post([A]))[1])).toBe(expected)
})

test('Retry-After as a date', async () => {
  reply = answer(429, why, { 'retry-after': new Date(Date.now() + 90_000).toUTCString() })
  const [, afterMs] = await post([A])
  expect(afterMs).toBeGreaterThan(60_000)
  expect(afterMs).toBeLessThanOrEqual(90_000)
})

test('no Retry-After', async () => {
  reply = answer(503, why)
  expect((await post([A]))[1]).toBeLessThanOrEqual(0)
})

test.each<[string, (response: ServerResponse) => unknown]>([
  ['closes the connection', (response) => response.destroy()],
  [
    'closes it in the middle of its answer',
    (response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write(`{"id":"${A.name}"`, () => response.destroy())
    },
  ],
])('a gateway that %s', async (_, replies) => {
  reply = replies
  expect(fates(await post([A]))).toEqual(['unknown'])
})

test('nothing listens', async () => {
  const got = await post([A], { base: 'http://127.0.0.1:1' })
  expect([fates(got), got[0]]).toEqual([['unknown'], 0])
})

test('a request without an answer is aborted after 30 s', async () => {
  const giveUp = new AbortController()
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(giveUp.signal)
  reply = () => giveUp.abort()
  const got = await post([A])
  expect(timeout).toHaveBeenCalledExactlyOnceWith(30_000)
  expect([fates(got), got[0]]).toEqual([['unknown'], 0])
})

test('an answer that never ends is aborted too', async () => {
  const giveUp = new AbortController()
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(giveUp.signal)
  reply = (response) => {
    response.writeHead(200)
    response.write('{"id":', () => setTimeout(() => giveUp.abort()))
  }
  expect(fates(await post([A]))).toEqual(['unknown'])
})

test('a browser without AbortSignal.timeout', async () => {
  const own = AbortSignal.timeout
  Reflect.deleteProperty(AbortSignal, 'timeout')
  reply = answer(200, { id: A.name })
  expect(fates(await post([A]))).toEqual(['taken'])
  AbortSignal.timeout = own
})

test.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new TypeError('blocked')
    },
  ],
  ['rejects', () => Promise.reject(new TypeError('blocked'))],
  ['answers nothing', () => undefined],
  ['answers junk', async () => ({ ok: true, status: 200 })],
])('a fetch of the page’s own that %s', async (_, fake) => {
  const got = await createSend(fake as typeof fetch, store)(
    { key: 'DEMOSHOP', base },
    [A],
    true,
    false,
  )
  expect(fates(got)).toEqual(['unknown'])
})

test('if the page has replaced Date, its events are still acknowledged', async () => {
  const own = Date
  const fake = async () => Response.json({ id: A.name })
  try {
    globalThis.Date = class {} as never
    const got = await createSend(fake, store)({ key: 'DEMOSHOP', base }, [A], true, false)
    expect(fates(got)).toEqual(['taken'])
  } finally {
    globalThis.Date = own
  }
})

test('every request names the version of the script', async () => {
  reply = answer(200, {})
  await post([A])
  await post([A, B])
  await send({ key: 'DEMOSHOP', base, batch: true }, [A], false, true)
  expect(seen.map(({ url }) => [url.pathname, url.searchParams.get('v')])).toEqual([
    ['/t/r', '1.2.3'],
    ['/t/batch', '1.2.3'],
    ['/t/batch', '1.2.3'],
  ])
})

describe('problems of the page', () => {
  const NAME = 'track.p.DEMOSHOP'
  const LINES = 'invalid,addToCart,variation.sku,/a,b%C8%9B\ntoo_old,,,/'
  const accepted = () => answer(200, { id: idOf(A.name) })
  const reports = () => seen.map(({ url }) => url.searchParams.get('p'))
  beforeEach(() => {
    storage.clear()
    storage.setItem(NAME, LINES)
  })

  test('are reported with the next request', async () => {
    reply = accepted()
    await createSend(fetch, store)({ key: 'DEMOSHOP', base }, [A], true, false)
    expect(reports()).toEqual([LINES])
    expect(storage).toHaveLength(0)
  })

  test('are reported with a question too', async () => {
    reply = answer(200, { results: [{ id: idOf(A.name), status: 404 }] })
    await createSend(fetch, store)({ key: 'DEMOSHOP', base, batch: true }, [A], false, true)
    expect(reports()).toEqual([LINES])
    expect(storage).toHaveLength(0)
  })

  test('of another key are not', async () => {
    reply = accepted()
    await createSend(fetch, store)({ key: 'OTHER1', base }, [A], true, false)
    expect(reports()).toEqual([null])
    expect(storage.getItem(NAME)).toBe(LINES)
  })

  test('are removed before the answer, and those of the meantime are reported after a minute', async () => {
    const clock = vi.spyOn(Date.prototype, 'valueOf')
    const sendOnPage = createSend(fetch, store)
    const sendAt = async (at: number) => {
      clock.mockReturnValue(at)
      await sendOnPage({ key: 'DEMOSHOP', base }, [A], true, false)
    }
    let stored: string | null = LINES
    reply = (response) => {
      stored = storage.getItem(NAME)
      storage.setItem(NAME, 'too_old,,,/later')
      response.destroy()
    }
    await sendAt(1_000_000)
    expect(stored).toBeNull()
    reply = accepted()
    await sendAt(1_060_000)
    await sendAt(1_060_001)
    await sendAt(1_060_002)
    expect(reports()).toEqual([LINES, null, 'too_old,,,/later', null])
    expect(storage).toHaveLength(0)
  })
})

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf } from '../../test/gateway.ts'
import { openConnection } from '../../test/rawRequest.ts'
import type { Gateway } from '../index.ts'
import type { Answer } from './answers.ts'
import { createHotPaths } from './hotPaths.ts'
import type { RequestEnv } from './requestEnv.ts'

const NOW = 1_800_000_000_000
const PLENTY = { perSecond: 1e12, burst: 1e12 }
const HOST = 'shop.example'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
/** By tracking key. A wrong one would be throttled, and so not answered the same twice. */
const restKeys: Record<string, string> = {}
beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start({
    now: () => NOW,
    trustedProxies: ['127.0.0.1'],
    limits: {
      customer: { events: PLENTY, bytes: PLENTY },
      address: { events: PLENTY, bytes: PLENTY },
    },
  })
  const origins = ['https://shop.example', 'http://shop.example', 'loopback']
  restKeys.SHOPKEY1 = gateway.customers.add({ trackingKey: 'SHOPKEY1', origins }).restKey
  restKeys.FIRSTKEY = gateway.customers.add({
    trackingKey: 'FIRSTKEY',
    origins,
    ignored: ['203.0.113.9'],
    config: { firstParty: true, cookieDomain: 'auto', consent: 'cookieless' },
  }).restKey
})
afterAll(() => prepared.end())

/** Answers every request with the name of who has answered it. */
async function startPlain(handle: () => Answer | Promise<Answer>) {
  const answerHot = createHotPaths(
    () => ({
      '/t/r': handle,
      '/t/batch': handle,
      '/t/j/:key': handle,
      answerError: (error) => ({ status: 500, headers: {}, body: `${error}` }),
    }),
    () => ({ peer: '' }) as RequestEnv,
  )
  const server = createServer({ requireHostHeader: false }, (incoming, outgoing) => {
    if (!answerHot(incoming, outgoing)) outgoing.end('general')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const connection = await openConnection((server.address() as AddressInfo).port)
  return {
    ...connection,
    end() {
      connection.socket.destroy()
      server.close()
    },
  }
}

test.each([
  ['POST /t/r?k=A&id=b', 'hot'],
  ['POST /t/r', 'hot'],
  ['POST /t/r?v=1%2B&p=[1,2];-{|}~^`\\', 'hot'],
  ['POST /t/batch?k=A', 'hot'],
  ['GET /t/j/SHOP_key-1', 'hot'],
  ['GET /t/j/A?x=y', 'hot'],
  ['GET /t/r', 'general'],
  ['POST /t/j/A', 'general'],
  ['HEAD /t/j/A', 'general'],
  ['OPTIONS /t/r', 'general'],
  ['POST /t/r/', 'general'],
  ['POST /t/rest', 'general'],
  ['POST /t/%72', 'general'],
  ['POST /x/../t/r', 'general'],
  ['GET /t/j/..', 'general'],
  ['GET /t/j/A/b.js', 'general'],
  ['GET /t/j/%41', 'general'],
  ['POST /t/r?k="A"', 'general'],
  ['POST /t/r?k=A#id=b', 'general'],
  ['POST http://shop.example/t/r', 'general'],
])('%s is answered by the %s path', async (target, by) => {
  const { request, end } = await startPlain(() => ({ status: 200, headers: {}, body: 'hot' }))
  expect((await request(`${target} HTTP/1.1\nHost: shop.example`)).text).toBe(
    target.startsWith('HEAD') ? '' : by,
  )
  end()
})

test.each([
  ['shop.example:8080', 'hot'],
  ['127.0.0.1:3000', 'hot'],
  ['SHOP.example', 'general'],
  ['xn--', 'general'],
  ['1.2.3.999', 'general'],
  ['shop.example:99999', 'general'],
  ['user@shop.example', 'general'],
  ['[::1]:80', 'general'],
  ['', 'general'],
])('a request with the Host %j is answered by the %s path', async (host, by) => {
  const { request, end } = await startPlain(() => ({ status: 200, headers: {}, body: 'hot' }))
  expect((await request(`POST /t/r HTTP/1.1\nHost: ${host}`)).text).toBe(by)
  // Now from the cache.
  expect((await request(`POST /t/r HTTP/1.1\nHost: ${host}`)).text).toBe(by)
  end()
})

test.each([
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
  ['rejects', () => Promise.reject(new Error('no'))],
])('a handler that %s is answered as an error', async (_, handle) => {
  const { request, end } = await startPlain(handle)
  const { status, text } = await request('POST /t/r HTTP/1.1\nHost: a')
  expect([status, text]).toEqual([500, 'Error: no'])
  end()
})

const EVENT = {
  did: '0190f3a2-7c41-4d11-9a3e-5f2b8c6d4e10',
  event: 'view_homepage',
  url: 'https://shop.example/?a=b',
}
const ID_MARK = '{id}'

const oneOf = <T>(...values: readonly T[]) => fc.constantFrom(...values)
/** Mostly the usual value, so that many requests get past the first checks. */
const mostly = <T extends string | undefined>(
  usual: T,
  ...others: readonly (string | undefined)[]
) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: oneOf(...others) })

const query = fc.record({
  k: oneOf(...Array(9).fill('SHOPKEY1'), ...Array(9).fill('FIRSTKEY'), 'NOKEY999', '', undefined),
  api_key: oneOf('REST', '', undefined, undefined, undefined),
  id: mostly(ID_MARK, 'x', '', undefined),
  at: oneOf(`${NOW - 5}`, '0', '1e99', 'x', undefined),
  sent: oneOf(`${NOW}`, `${NOW - 9e9}`, undefined),
  v: oneOf('1.2.3', '1.4.0-rc.1%2Bb7', '%0a', undefined),
  consent: mostly(undefined, 'denied', 'granted'),
  domain: oneOf(undefined, 'shop.example', 'shop%2Eexample', 'other.example'),
  p: oneOf(undefined, '[[%22refused%22,1]]', '%ff'),
})
const payload = oneOf<unknown>(
  ...Array(6).fill(EVENT),
  { ...EVENT, url: 'https://shop.example/?token=abc&mail=a@b.example', http_user_agent: 'curl/8' },
  { ...EVENT, did: undefined },
  { ...EVENT, remote_addr: '203.0.113.1' },
  { ...EVENT, event: 'add_to_cart', product_id: 1 },
  {},
  [],
  null,
)
const eventBody = fc.oneof(
  payload.map((value) => JSON.stringify(value)),
  oneOf('', '{', '"\\ud800"', `{"did":"${'x'.repeat(140_000)}"}`),
)
const batchBody = fc.oneof(
  fc
    .array(fc.record({ id: mostly(ID_MARK, 'x'), at: oneOf<unknown>(NOW, 'x'), payload }), {
      maxLength: 4,
    })
    .map((events) => JSON.stringify({ sent: NOW, events })),
  fc.array(fc.record({ id: mostly(ID_MARK, 'x') })).map((events) => JSON.stringify({ events })),
  oneOf('', '[]', '{"events":1}', JSON.stringify({ events: Array(501).fill({}) })),
)
const headers = fc.record({
  origin: mostly('https://shop.example', 'null', 'http://localhost:1', 'https://x.example'),
  'content-type': mostly(
    'text/plain',
    'application/json',
    'text/html',
    'a/b, text/plain',
    undefined,
  ),
  'user-agent': oneOf('Mozilla/5.0 Firefox/153.0', 'Googlebot/2.1', ' ', undefined),
  'x-forwarded-for': oneOf('203.0.113.7', '203.0.113.9', '2001:db8::1, 127.0.0.1', 'x', undefined),
  'x-forwarded-proto': oneOf('https', 'http', 'x', undefined),
  'x-forwarded-host': oneOf('shop.example', 'other.example', undefined),
  'content-encoding': mostly(undefined, 'identity', 'gzip'),
  'accept-encoding': oneOf('br', 'gzip, br;q=0.5', 'identity', undefined),
  'if-none-match': oneOf(undefined, '*', 'W/"x"'),
  accept: oneOf(undefined, '*/*', 'application/json'),
  cookie: oneOf(undefined, 'a=b'),
})
/** A header that is sent twice. */
const twice = oneOf<string | undefined>(
  ...[undefined, undefined, 'content-type', 'user-agent', 'origin', 'x-forwarded-for', 'accept'],
)
const requests = fc
  .oneof(
    fc.record({ target: fc.constant('POST /t/r'), query, body: eventBody }),
    fc.record({ target: fc.constant('POST /t/batch'), query, body: batchBody }),
    fc.record({
      target: oneOf('GET /t/j/SHOPKEY1', 'GET /t/j/FIRSTKEY', 'GET /t/j/NOKEY999'),
      query: fc.constant({}),
      body: fc.constant(''),
    }),
  )
  .chain((request) =>
    fc.record({ request: fc.constant(request), headers, twice, isChunked: fc.boolean() }),
  )

test('the hot paths answer and store as the general routes do', async () => {
  const kinds = new Set<string>()
  await fc.assert(
    fc.asyncProperty(requests, async ({ request, headers, twice, isChunked }) => {
      const lines = Object.entries(headers).flatMap(([name, value]) =>
        value === undefined
          ? []
          : name === twice
            ? [`${name}: ${value}`, `${name}: ${value}`]
            : [`${name}: ${value}`],
      )
      const search = Object.entries(request.query)
        .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
        .join('&')
        .replace(
          'api_key=REST',
          `api_key=${('k' in request.query && restKeys[request.query.k ?? '']) || ''}`,
        )
      const [method = '', path = ''] = request.target.split(' ')
      const send = async (base: string) => {
        const id = randomUUID()
        const connection = await openConnection(gateway.port)
        const body = request.body.replaceAll(ID_MARK, id)
        const framing =
          method === 'GET'
            ? []
            : isChunked
              ? ['transfer-encoding: chunked']
              : [`content-length: ${Buffer.byteLength(body)}`]
        const head = [
          `${method} ${base}${path}?${search.replace(ID_MARK, id)} HTTP/1.1`,
          `host: ${HOST}`,
          ...framing,
          ...lines,
        ].join('\n')
        const sent = isChunked && method === 'POST' ? toChunk(body) : body
        const answer = await connection.request(head, sent)
        connection.socket.destroy()
        const { date: _, ...kept } = Object.fromEntries(answer.headers)
        const records = await recordsOf(gateway)
        const stored = records
          .filter((record) => record.id === id)
          .map(({ seq: _, id: __, ...rest }) => rest)
        kinds.add(`${path.slice(0, 5)} ${answer.status}${'set-cookie' in kept ? ' cookie' : ''}`)
        return JSON.parse(
          JSON.stringify({ status: answer.status, kept, text: answer.text, stored }).replace(
            UUIDS,
            'ID',
          ),
        )
      }
      const [hot, general] = await Promise.all([send(''), send(`http://${HOST}`)])
      expect(hot).toEqual(general)
    }),
    { numRuns: 400, seed: 14 },
  )
  // The requests reach all of this.
  for (const kind of ['/t/r 200', '/t/r 200 cookie', '/t/r 401', '/t/r 403', '/t/r 404'])
    expect([...kinds]).toContain(kind)
  for (const kind of ['/t/r 413', '/t/r 415', '/t/r 422', '/t/ba 200', '/t/ba 207', '/t/j/ 304'])
    expect([...kinds]).toContain(kind)
})

const UUIDS = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g

const toChunk = (body: string): string =>
  body ? `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n` : '0\r\n\r\n'

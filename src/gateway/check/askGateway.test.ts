import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf } from '../../test/gateway.ts'
import type { Gateway } from '../index.ts'
import { createAskByHttp } from './askGateway.ts'
import { createFetchPage } from './fetchPage.ts'

const KEY = 'TRACKKEY1'
const SHOP = 'https://shop.example'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
const servers: Server[] = []

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
  gateway.customers.add({
    trackingKey: KEY,
    origins: [SHOP],
    config: { ga4: true, consentSources: ['cookiebot', 'consentMode'], dataLayer: false },
  })
})
afterAll(async () => {
  for (const server of servers) server.close()
  await prepared.end()
})

const ask = (base: string, origins = [SHOP], key = KEY) =>
  createAskByHttp(createFetchPage())({ gateway: base, key, customerId: 'ID' }, origins)

const codesOf = ({ findings }: Awaited<ReturnType<typeof ask>>) =>
  findings.map(({ level, code }) => `${level} ${code}`)

test('an allowed shop: the script answers, events may be sent, and nothing is stored', async () => {
  const answer = await ask(gateway.url)
  expect(codesOf(answer)).toEqual(['ok script-ok', 'ok origin-ok'])
  expect(answer.settings).toEqual({
    consent: 'required',
    sources: ['cookiebot', 'consentMode'],
    ga4: true,
    dataLayer: true,
    dataLayerName: 'dataLayer',
    schemaOrg: false,
    global: 'track',
  })
  expect(await recordsOf(gateway)).toEqual([])
})

test('each origin is asked for; one that is not allowed has the command that allows it', async () => {
  const answer = await ask(gateway.url, [SHOP, 'https://pay.shop.example'])
  expect(codesOf(answer)).toEqual(['ok script-ok', 'ok origin-ok', 'error origin-forbidden'])
  expect(answer.findings[2]?.fix[0]).toBe(
    'npx shoptrail customer set ID --origin https://pay.shop.example',
  )
})

test('a key that no customer has', async () => {
  expect(codesOf(await ask(gateway.url, [SHOP], 'NOBODY12'))).toEqual(['error key-unknown'])
})

test('a gateway that does not run', async () => {
  expect(codesOf(await ask('http://127.0.0.1:1'))).toEqual(['error gateway-unreachable'])
})

type Change = (response: ServerResponse, upstream: IncomingMessage, asked: IncomingMessage) => void

/** A proxy in front of the gateway that changes something. */
async function proxy(change: Change): Promise<string> {
  const server = createServer((asked, response) => {
    const forwarded = request(
      gateway.url + asked.url,
      { method: asked.method ?? 'GET', headers: asked.headers },
      (upstream) => {
        response.statusCode = upstream.statusCode ?? 0
        for (const [name, value] of Object.entries(upstream.headers))
          response.setHeader(name, value ?? '')
        change(response, upstream, asked)
        if (!response.writableEnded) upstream.pipe(response)
      },
    )
    asked.pipe(forwarded)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const isPost = ({ method }: IncomingMessage) => method === 'POST'
const isScript = ({ method, headers }: IncomingMessage) =>
  method === 'GET' && headers.accept !== 'application/json'

function end(response: ServerResponse, status: number, body: string): void {
  response.statusCode = status
  for (const name of ['content-length', 'content-encoding']) response.removeHeader(name)
  response.end(body)
}

test.each<[string, Change, string[]]>([
  ['forwards', () => {}, ['ok script-ok', 'ok origin-ok']],
  [
    'does not forward scripts',
    (response) => end(response, 502, 'Bad gateway'),
    ['error script-status'],
  ],
  [
    'answers its own page',
    (response) => {
      response.setHeader('content-type', 'text/html')
      end(response, 200, '<p>Welcome')
    },
    ['error script-type'],
  ],
  ['rewrites the script', (response) => end(response, 200, 'minified()'), ['error script-changed']],
  [
    'decompresses',
    (response, _, asked) => isScript(asked) && end(response, 200, `"key":"${KEY}"`),
    ['ok script-ok', 'warning script-uncompressed', 'ok origin-ok'],
  ],
  [
    'keeps the script for a year',
    (response) => response.setHeader('cache-control', 'public, max-age=31536000'),
    ['ok script-ok', 'warning script-cached', 'ok origin-ok'],
  ],
  [
    'adds a resource policy',
    (response) => response.setHeader('cross-origin-resource-policy', 'same-origin'),
    ['ok script-ok', 'error script-corp'],
  ],
  [
    'removes the header of CORS',
    (response) => response.removeHeader('access-control-allow-origin'),
    ['ok script-ok', 'error events-cors'],
  ],
  [
    'refuses POST',
    (response, _, asked) => isPost(asked) && end(response, 405, 'no'),
    ['ok script-ok', 'error events-status'],
  ],
  [
    'forbids, which is not the answer of the gateway',
    (response, _, asked) => isPost(asked) && end(response, 403, 'Forbidden'),
    ['ok script-ok', 'error events-status'],
  ],
  [
    'redirects events',
    (response, _, asked) => {
      if (!isPost(asked)) return
      response.setHeader('location', '/t/batch/')
      end(response, 301, '')
    },
    ['ok script-ok', 'error events-status'],
  ],
  [
    'is overloaded',
    (response, _, asked) => isPost(asked) && end(response, 503, ''),
    ['ok script-ok', 'warning gateway-busy'],
  ],
  [
    'ends connections with events',
    (response, _, asked) => isPost(asked) && response.destroy(),
    ['ok script-ok', 'error events-unreachable'],
  ],
])('a proxy that %s', async (_, change, expected) => {
  expect(codesOf(await ask(await proxy(change)))).toEqual(expected)
})

test('an address that redirects', async () => {
  const server = createServer((asked, response) =>
    response.writeHead(308, { location: gateway.url + asked.url }).end(),
  )
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  expect(codesOf(await ask(base))).toEqual([
    'ok script-ok',
    'warning script-redirected',
    'error events-status',
  ])
})

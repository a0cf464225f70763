import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KeySettings } from '../../contract/settings.ts'
import { type Answer, makeFolder, prepareGateway, send } from '../../test/gateway.ts'
import { listProblems } from '../../test/problems.ts'
import { createAddresses } from '../http/address.ts'
import { toResponse } from '../http/answers.ts'
import type { Gateway } from '../index.ts'
import { createServeFile, createServeScript, readScriptFiles, toSource } from './serveScript.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
  gateway.customers.add({ trackingKey: 'PLAIN123', origins: [] })
  gateway.customers.add({
    trackingKey: 'PARTS123',
    config: { ga4: { sku: '</script>\u2028' }, schemaOrg: true, eventPrefix: 'x_' },
  })
})
afterAll(() => prepared.end())

const get = (key: string, headers: Record<string, string> = {}, method = 'GET') =>
  send(gateway.url, `/t/j/${key}`, { headers, method })

/** The configuration that the stand-in of a script was called with, and the parts of that script. */
function run(script: string): [config: Record<string, unknown>, parts: unknown[]] {
  const page: { served?: [Record<string, unknown>, unknown[]] } = {}
  runInContext(script, createContext(page))
  return page.served ?? [{}, []]
}

const decoded = ({ headers, bytes }: Answer) =>
  headers['content-encoding'] === 'br'
    ? brotliDecompressSync(bytes)
    : headers['content-encoding'] === 'gzip'
      ? gunzipSync(bytes)
      : bytes

test('the script carries its configuration', async () => {
  const [config, parts] = run((await get('PLAIN123')).text)
  expect(config).toEqual({ key: 'PLAIN123', batch: true, adoptDid: [expect.any(String)] })
  expect(parts).toEqual(['pageViews', 'attributes', 'dataLayer'])
})

test('settings switch parts on', async () => {
  const { text } = await get('PARTS123')
  const [config, parts] = run(text)
  expect(config).toMatchObject({ ga4: { sku: '</script>\u2028' }, eventPrefix: 'x_' })
  expect(parts).toEqual(['pageViews', 'attributes', 'ga4', 'schemaOrg', 'dataLayer'])
  expect(text).not.toContain('</script>')
})

test.each<[KeySettings, string[]]>([
  [{ attributes: false }, ['pageViews', 'dataLayer']],
  [{ dataLayer: false }, ['pageViews', 'attributes']],
  [{ pageViews: 'off' }, ['attributes', 'dataLayer']],
  [{ pageViews: 'off', attributes: false, dataLayer: false }, []],
  [{ attributes: false, dataLayer: false, ga4: true }, ['pageViews', 'ga4', 'dataLayer']],
])('%j: the script with its parts', async (config, expected) => {
  const { customer } = gateway.customers.add({ config })
  expect(run((await get(customer.trackingKey)).text)[1]).toEqual(expected)
})

test.each([
  ['/t/i.js', '(function(){})();'],
  ['/t/p.js', 'export{start};function start(){}'],
])(
  '%s is a script of its own, for every page, compressed and kept for a while',
  async (path, source) => {
    const { etag, ...plain } = (await send(gateway.url, path)).headers
    expect(plain).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'content-length': `${source.length}`,
      'cache-control': 'public, max-age=300, stale-while-revalidate=86400',
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
    })
    for (const encoding of ['br', 'gzip', 'identity']) {
      const headers = { 'accept-encoding': encoding }
      const answer = await send(gateway.url, path, { headers })
      expect(answer.status).toBe(200)
      expect(answer.headers['content-encoding']).toBe(
        encoding === 'identity' ? undefined : encoding,
      )
      expect(decoded(answer).toString()).toBe(source)
      const again = await send(gateway.url, path, {
        headers: { ...headers, 'if-none-match': `${answer.headers.etag}` },
      })
      expect([again.status, again.bytes.length]).toEqual([304, 0])
    }
    expect(etag).toMatch(/^"[^"]+"$/)
  },
)

test('a later script that was not built is 404, which is not cached', async () => {
  const answer = await createServeFile(undefined)(new Request('https://gateway.example/t/p.js'))
  expect(answer.status).toBe(404)
  expect(answer.headers['cache-control']).toBe('no-store')
})

test('every page may load it, and caches may keep it for a while', async () => {
  const { headers, bytes } = await get('PLAIN123')
  expect(headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'content-length': `${bytes.length}`,
    'cache-control': 'public, max-age=300, stale-while-revalidate=86400',
    vary: 'Accept, Accept-Encoding',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'cross-origin',
    'access-control-allow-origin': '*',
  })
})

test.each([
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip, deflate', 'gzip'],
  ['gzip;q=1.0, br;q=0.1', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['BR', 'br'],
  ['br;q=0, gzip;q=0', undefined],
  ['identity', undefined],
  ['', undefined],
  [`${'identity, '.repeat(120)}br`, undefined],
])('Accept-Encoding %s is answered with %s', async (accepted, encoding) => {
  const plain = await get('PLAIN123')
  const answer = await get('PLAIN123', { 'accept-encoding': accepted })
  expect(answer.headers['content-encoding']).toBe(encoding)
  expect(decoded(answer).equals(plain.bytes)).toBe(true)
})

test('each encoding has an ETag of its own, and 304 for it', async () => {
  const tags = new Set<string>()
  for (const encoding of ['br', 'gzip', 'identity']) {
    const { headers } = await get('PLAIN123', { 'accept-encoding': encoding })
    const etag = headers.etag as string
    tags.add(etag)
    expect(etag).toMatch(/^"[^"]+"$/)
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const again = await get('PLAIN123', { 'accept-encoding': encoding, 'if-none-match': tag })
      expect(again.status).toBe(304)
      expect(again.bytes).toHaveLength(0)
      expect(again.headers).toMatchObject({ etag, vary: 'Accept, Accept-Encoding' })
      expect(again.headers).toHaveProperty('cache-control')
    }
  }
  expect(tags.size).toBe(3)
  expect((await get('PLAIN123', { 'if-none-match': '"other"' })).status).toBe(200)
  // Only the beginning of a long header is read.
  const many = `${'"other", '.repeat(150)}*`
  expect((await get('PLAIN123', { 'if-none-match': many })).status).toBe(200)
})

test('HEAD answers like GET, without the body', async () => {
  const full = await get('PLAIN123', { 'accept-encoding': 'br' })
  const head = await get('PLAIN123', { 'accept-encoding': 'br' }, 'HEAD')
  expect(head.status).toBe(200)
  expect(head.bytes).toHaveLength(0)
  for (const name of ['etag', 'content-length', 'content-encoding', 'content-type'])
    expect(head.headers[name]).toBe(full.headers[name])
})

test.each([['application/json'], ['application/json, text/plain, */*']])(
  'a caller that accepts %s gets a script to inline, not compressed',
  async (accept) => {
    const answer = await get('PLAIN123', { accept, 'accept-encoding': 'br, gzip' })
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.headers['content-encoding']).toBeUndefined()
    const body = JSON.parse(answer.text)
    const config = {
      batch: true,
      base: gateway.url,
      key: 'PLAIN123',
      adoptDid: [expect.any(String)],
    }
    expect(body).toMatchObject({ trackingKey: 'PLAIN123', config })
    expect(run(body.script)[0]).toEqual(config)
    expect(body.version).toMatch(/^\d+\.\d+\.\d+/)
    const hash = createHash('sha384').update(body.script).digest('base64')
    expect(body.integrity).toBe(`sha384-${hash}`)
  },
)

test('the JSON form is not cached, since a cache that ignores Vary would send it to pages', async () => {
  const { headers } = await get('PLAIN123', { accept: 'application/json', 'if-none-match': '*' })
  expect(headers).toMatchObject({
    'cache-control': 'private, no-store',
    vary: 'Accept, Accept-Encoding',
  })
  expect(headers.etag).toBeUndefined()
})

test.each([
  ['*/*', 'text/javascript; charset=utf-8'],
  ['text/html,application/xhtml+xml,*/*;q=0.8', 'text/javascript; charset=utf-8'],
  ['application/json;q=0', 'text/javascript; charset=utf-8'],
  ['application/json', 'application/json; charset=utf-8'],
])('an unknown key is 404 in the form of Accept %s', async (accept, type) => {
  const answer = await get('NOTHING1', { accept })
  expect(answer.status).toBe(404)
  expect(answer.headers).toMatchObject({
    'content-type': type,
    'cache-control': 'no-store',
    vary: 'Accept, Accept-Encoding',
  })
  if (type.startsWith('text')) run(answer.text)
  else expect(JSON.parse(answer.text)).toHaveProperty('message')
})

test('the script gets the place of an id as a regular expression', async () => {
  const text = '__sm__c={"did":"old-visitor-1","k":"A"}; v=%22</script>%22'
  const find = async (config: KeySettings) => {
    const { customer } = gateway.customers.add({ config })
    const [{ adoptDid }] = run((await get(customer.trackingKey)).text)
    const [pattern, storage] = (adoptDid ?? []) as [string?, string?]
    return [pattern && RegExp(pattern).exec(text)?.[1], storage]
  }
  expect(await find({})).toEqual(['old-visitor-1', undefined])
  expect(await find({ adoptDid: false })).toEqual([undefined, undefined])
  expect(await find({ dataLayerPrefix: 'x' })).toEqual([undefined, undefined])
  expect(await find({ adoptDid: { storage: '</script>' } })).toEqual([undefined, '</script>'])
})

test('a new configuration is served at once, the old one is not kept', async () => {
  const { customer } = gateway.customers.add({ trackingKey: 'CHANGES1' })
  const before = await get('CHANGES1')
  gateway.customers.change(customer.customerId, { config: { source: 'new' } })
  const after = await get('CHANGES1', { 'if-none-match': before.headers.etag as string })
  expect(after.status).toBe(200)
  expect(run(after.text)[0]).toMatchObject({ source: 'new' })
})

test.each([
  [{ host: 'evil.example' }],
  [{ host: 'evil.example:1234', 'x-forwarded-host': 'evil.example' }],
  [{ 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }],
  [{ forwarded: 'host=evil.example;proto=https', 'x-forwarded-port': '99' }],
  [{ origin: 'https://evil.example', referer: 'https://evil.example/' }],
])('the public script does not depend on %j, also behind a trusted proxy', async (headers) => {
  const behind = await prepared.start({ trustedProxies: ['127.0.0.1'] })
  for (const encoding of ['br', 'gzip', '']) {
    const ask = (more = {}) =>
      send(behind.url, '/t/j/PLAIN123', { headers: { 'accept-encoding': encoding, ...more } })
    const [plain, forged] = [await ask(), await ask(headers)]
    expect(forged.bytes.equals(plain.bytes)).toBe(true)
    expect(forged.headers.etag).toBe(plain.headers.etag)
    expect(decoded(forged).toString()).not.toContain('evil')
  }
})

test.each([['https://t.shop.example'], ['https://shop.example/in/t1'], ['http://localhost:8787']])(
  'PUBLIC_URL %s is in the script, whatever the Host is',
  async (publicUrl) => {
    const set = await prepared.start({ publicUrl })
    const headers = { host: 'evil.example' }
    const { text } = await send(set.url, '/t/j/PLAIN123', { headers })
    expect(run(text)[0]).toMatchObject({ base: publicUrl })
    const json = { ...headers, accept: 'application/json' }
    const { config } = JSON.parse((await send(set.url, '/t/j/PLAIN123', { headers: json })).text)
    expect(config.base).toBe(publicUrl)
  },
)

test('__proto__ in a configuration is no prototype in the page', () => {
  const config = JSON.parse('{"ga4":{"__proto__":{"polluted":1},"a":1}}')
  const value = runInContext(`(${toSource(config)})`, createContext({}))
  expect(value.ga4.polluted).toBeUndefined()
  expect(value.ga4.a).toBe(1)
})

test('a script that was not built stops the start', () => {
  const folder = makeFolder()
  expect(() => readScriptFiles(folder)).toThrow('Build it first')
})

test('above a rate of new scripts they are compressed faster, and larger', async () => {
  let now = 0
  const { customers } = gateway
  const { customerId } = customers.add({ trackingKey: 'CHANGING' }).customer
  const serve = createServeScript(
    {
      customers,
      script: readScriptFiles(join(prepared.folder, 'dist')),
      addresses: createAddresses([], undefined),
      admission: { script: () => undefined },
      problems: listProblems().problems,
      publicUrl: undefined,
      monotonicNow: () => now,
    },
    { perSecond: 2, burst: 3 },
  )
  const tagOf = async (source: string) => {
    customers.change(customerId, { config: { source } })
    const request = new Request('http://localhost/', { headers: { 'accept-encoding': 'br' } })
    const response = toResponse(await serve(request, '127.0.0.1', 'CHANGING'))
    const script = brotliDecompressSync(await response.arrayBuffer()).toString()
    expect(run(script)[0]).toMatchObject({ source })
    return response.headers.get('etag')
  }
  const best = await tagOf('same')
  await tagOf('second')
  await tagOf('third')
  expect(await tagOf('same')).not.toBe(best)
  now += 1_000
  await tagOf('fifth')
  expect(await tagOf('same')).toBe(best)
})

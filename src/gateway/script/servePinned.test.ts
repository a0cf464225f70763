import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, prepareGateway, send } from '../../test/gateway.ts'
import type { Gateway } from '../index.ts'
import { createSqliteCustomers } from '../sqlite/customers.ts'
import { openDatabase } from '../sqlite/database.ts'
import { hashOf, MAX_PINNED, toIntegrity } from './pinnedScripts.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
let customers: ReturnType<typeof createSqliteCustomers>
const file = () => join(prepared.folder, 'data/customers.db')

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
  // As the command line does it, beside the running gateway.
  customers = createSqliteCustomers(file())
})
afterAll(async () => {
  customers.close()
  await prepared.end()
})

const SCRIPT = '(function(){/* ă 漢 */})({"key":"PINNED12"});'

function addPinned(trackingKey: string, script = SCRIPT): string {
  if (!customers.findByTrackingKey(trackingKey))
    customers.add({ trackingKey, customerId: `of-${trackingKey}` })
  const hash = hashOf(script)
  customers.pinned.add(trackingKey, { hash, version: '1.2.3' }, brotliCompressSync(script))
  return `/t/j/${trackingKey}/${hash}.js`
}

const decoded = ({ headers, bytes }: Answer) =>
  headers['content-encoding'] === 'br'
    ? brotliDecompressSync(bytes)
    : headers['content-encoding'] === 'gzip'
      ? gunzipSync(bytes)
      : bytes

test.each(['', 'br', 'gzip', 'gzip, br', 'br;q=0, gzip', 'zstd', 'identity'])(
  'the bytes of each encoding have the hash of the address: %s',
  async (accepted) => {
    const path = addPinned('PINNED12')
    const answer = await send(gateway.url, path, { headers: { 'accept-encoding': accepted } })
    const hash = createHash('sha384').update(decoded(answer)).digest()
    expect(answer.status).toBe(200)
    expect(path).toBe(`/t/j/PINNED12/${hash.toString('base64url')}.js`)
    expect(toIntegrity(hash.toString('base64url'))).toBe(`sha384-${hash.toString('base64')}`)
    expect(answer.headers['content-length']).toBe(`${answer.bytes.length}`)
  },
)

test('any page may load it with CORS, and caches keep it for ever', async () => {
  const { headers } = await send(gateway.url, addPinned('PINNED12'), {
    headers: { 'accept-encoding': 'br', origin: 'https://shop.example' },
  })
  expect(headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
    vary: 'Accept-Encoding',
  })
})

test('304 for its tag, and HEAD without a body', async () => {
  const path = addPinned('PINNED12')
  const { headers } = await send(gateway.url, path, { headers: { 'accept-encoding': 'br' } })
  const again = await send(gateway.url, path, {
    headers: { 'accept-encoding': 'br', 'if-none-match': `${headers.etag}` },
  })
  expect([again.status, again.bytes.length]).toEqual([304, 0])
  expect(again.headers['cache-control']).toContain('immutable')
  const head = await send(gateway.url, path, { method: 'HEAD' })
  expect([head.status, head.bytes.length]).toEqual([200, 0])
  expect((await send(gateway.url, path, { method: 'POST' })).status).toBe(405)
})

test.each([
  ['another hash', (path: string) => path.replace(/.{4}\.js$/, 'AAAA.js')],
  ['a shorter hash', (path: string) => path.replace(/.\.js$/, '.js')],
  ['no ending', (path: string) => path.replace(/\.js$/, '')],
  ['an encoded slash', (path: string) => path.replace('/t/j/PINNED12/', '/t/j/PINNED12/..%2f')],
  ['a quote', () => "/t/j/PINNED12/'%20OR%201=1--.js"],
])('404 as a comment in JavaScript: %s', async (_, change) => {
  const answer = await send(gateway.url, change(addPinned('PINNED12')))
  expect(answer.status).toBe(404)
  expect(answer.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
  })
  expect(answer.text).toMatch(/^\/\* The key has no script with this hash\..*\*\/\n$/)
})

test('the script of one key is not that of another', async () => {
  const path = addPinned('PINNED12')
  customers.add({ trackingKey: 'ANOTHER1' })
  expect((await send(gateway.url, path.replace('PINNED12', 'ANOTHER1'))).status).toBe(404)
  expect((await send(gateway.url, path.replace('PINNED12', 'NOBODY12'))).text).toBe(
    '/* No customer has this tracking key. */\n',
  )
})

test('a rotated key and a removed customer take their scripts with them', async () => {
  const rotated = addPinned('ROTATE12')
  const removed = addPinned('REMOVE12')
  const next = customers.rotate('of-ROTATE12', 'tracking') as string
  customers.remove('of-REMOVE12')
  expect(customers.pinned.list('ROTATE12')).toEqual([])
  expect(customers.pinned.list('REMOVE12')).toEqual([])
  await expect.poll(async () => (await send(gateway.url, rotated)).status).toBe(404)
  await expect.poll(async () => (await send(gateway.url, removed)).status).toBe(404)
  expect((await send(gateway.url, rotated.replace('ROTATE12', next))).status).toBe(404)
})

test('during an overlap the script of the old key is served until the overlap is ended', async () => {
  const path = addPinned('OVERLAP1')
  customers.rotate('of-OVERLAP1', 'tracking', 60_000)
  expect((await send(gateway.url, path)).status).toBe(200)
  customers.endOverlap('of-OVERLAP1', 'tracking')
  await expect.poll(async () => (await send(gateway.url, path)).status).toBe(404)
})

test('a key keeps so many; one more is refused, and one that is there already is not', () => {
  for (let i = 0; i < MAX_PINNED; i++) addPinned('BOUNDED1', `/* ${i} */`)
  const add = (script: string) =>
    customers.pinned.add('BOUNDED1', { hash: hashOf(script), version: '1' }, Buffer.from('x'))
  expect(add('/* new */')).toBe(false)
  expect(add('/* 3 */')).toBe(true)
  expect(customers.pinned.list('BOUNDED1').map(({ hash }) => hash)).toEqual(
    Array.from({ length: MAX_PINNED }, (_, i) => hashOf(`/* ${i} */`)),
  )
  expect(customers.pinned.remove('BOUNDED1', hashOf('/* 0 */'))).toBe(true)
  expect(customers.pinned.remove('BOUNDED1', hashOf('/* 0 */'))).toBe(false)
  expect(add('/* new */')).toBe(true)
})

test('a stored script that is damaged is not answered', async () => {
  const path = addPinned('DAMAGED1')
  const database = openDatabase(file())
  database
    .prepare('UPDATE pinned_scripts SET script = ? WHERE tracking_key = ?')
    .run(brotliCompressSync('evil()'), 'DAMAGED1')
  database.close()
  const answer = await send(gateway.url, path)
  expect([answer.status, answer.headers['retry-after']]).toEqual([503, '30'])
  expect(answer.text).toBe('/* The stored script is damaged. */\n')
  customers.pinned.remove('DAMAGED1', hashOf(SCRIPT))
  expect((await send(gateway.url, addPinned('DAMAGED1'))).status).toBe(200)
})

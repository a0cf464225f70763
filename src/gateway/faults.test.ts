import { rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { layOutGateway, prepareGateway, recordsOf, send, startProcess } from '../test/gateway.ts'
import type { Gateway } from './index.ts'

const ORIGIN = 'https://shop.example'
const HEADERS = { origin: ORIGIN, 'content-type': 'text/plain' }
const TARGET = '/t/r?k=ABC123'
const PAYLOAD = {
  did: 'd-1',
  event: 'view_homepage',
  url: 'https://shop.example/',
  http_user_agent: 'UA/1',
}
const BODY = JSON.stringify(PAYLOAD)

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start({ requestTimeoutMs: 500 })
  gateway.customers.add({ trackingKey: 'ABC123', origins: [ORIGIN] })
})
afterAll(() => prepared.end())

const post = (body: string | Buffer, headers: Record<string, string> = {}, target = TARGET) =>
  send(gateway.url, target, { method: 'POST', headers: { ...HEADERS, ...headers }, body })

/** Everything that a socket receives until the other side closes it. */
function closed(socket: Socket): Promise<string> {
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  return new Promise((resolve) => {
    socket.on('error', () => resolve(received))
    socket.on('close', () => resolve(received))
  })
}

const open = (): Socket => connect(gateway.port, '127.0.0.1')

test.each([
  ['a body with a larger declared length', { 'content-length': '131073' }, 'x'.repeat(131_073)],
  ['a body of unknown length', { 'transfer-encoding': 'chunked' }, 'x'.repeat(200_000)],
])('413 above 131,072 bytes: %s', async (_, headers, body) => {
  const answer = await send(gateway.url, TARGET, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body,
  })
  expect(answer.status).toBe(413)
  expect(answer.headers['access-control-allow-origin']).toBe('*')
})

test('a body of exactly 131,072 bytes is accepted', async () => {
  const empty = JSON.stringify({ ...PAYLOAD, more: '' })
  const body = JSON.stringify({ ...PAYLOAD, more: 'x'.repeat(131_072 - empty.length) })
  expect(Buffer.byteLength(body)).toBe(131_072)
  expect((await post(body)).status).toBe(200)
})

test('a body of unknown length is accepted', async () => {
  const answer = await send(gateway.url, TARGET, {
    method: 'POST',
    headers: { ...HEADERS, 'transfer-encoding': 'chunked' },
    body: BODY,
  })
  expect(answer.status).toBe(200)
})

test.each([
  ['gzip', gzipSync(BODY)],
  ['gzip', Buffer.from(BODY)],
  ['gzip, gzip', gzipSync(gzipSync(BODY))],
  ['br', Buffer.from(BODY)],
])('415 for a body encoded as %s', async (encoding, body) => {
  expect((await post(body, { 'content-encoding': encoding })).status).toBe(415)
})

test.each([
  ['application/json', 200],
  ['application/json; charset=utf-8', 200],
  ['application/vnd.shop+json', 200],
  ['text/plain;charset=UTF-8', 200],
  ['application/x-www-form-urlencoded', 415],
  ['multipart/form-data; boundary=x', 415],
  ['text/html', 415],
])('content type %s: %i', async (type, status) => {
  expect((await post(BODY, { 'content-type': type })).status).toBe(status)
})

test.each([
  ['arrays', `{"did":${'['.repeat(50_000)}${']'.repeat(50_000)}}`],
  ['arrays around half a surrogate', `${'['.repeat(30_000)}"\\ud800"${']'.repeat(30_000)}`],
  ['objects', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
])('nesting of %s is a refusal', async (_, body) => {
  const answer = await post(body)
  expect([400, 422]).toContain(answer.status)
})

test('keys of prototypes are not stored and change nothing', async () => {
  const special = `{"__proto__":{"source":"x","polluted":1},"constructor":{"prototype":{"polluted":1}},`
  const { status } = await post(special + BODY.slice(1))
  expect(status).toBe(200)
  const last = (await recordsOf(gateway)).at(-1)
  expect(JSON.parse(last?.payload ?? '')).toEqual({ ...PAYLOAD, remote_addr: '127.0.0.1' })
  expect({}).not.toHaveProperty('polluted')
})

test('half a surrogate pair is stored as the replacement character', async () => {
  const body = JSON.stringify({ ...PAYLOAD, event: 'search', search_term: 'X' })
  await post(body.replace('"X"', '"lamp \\ud83d end"'))
  const last = (await recordsOf(gateway)).at(-1)
  expect(JSON.parse(last?.payload ?? '').search_term).toBe('lamp \ufffd end')
})

test.each(['/%', '/t/j/%', '/t/j/%2e%2e%2f', '/t/j/%00ABCDEF', '/t/j/', '/t/r/', '/t', '/nothing'])(
  '404 for %s',
  async (target) => {
    const answer = await send(gateway.url, target, { headers: { accept: 'application/json' } })
    expect(answer.status).toBe(404)
    expect(JSON.parse(answer.text)).toHaveProperty('message')
  },
)

test.each([
  ['GET', '/t/r', 'POST, OPTIONS'],
  ['DELETE', '/t/batch', 'POST, OPTIONS'],
  ['POST', '/t/j/ABC123', 'GET, HEAD, OPTIONS'],
  ['HEAD', '/t/r', 'POST, OPTIONS'],
  ['POST', '/livez', 'GET, HEAD, OPTIONS'],
  ['POST', '/live/', 'GET, HEAD'],
  ['GET', '/live/login', 'POST, OPTIONS'],
])('405 for %s %s', async (method, target, allow) => {
  const answer = await send(gateway.url, target, { method })
  expect(answer.status).toBe(405)
  expect(answer.headers.allow).toBe(allow)
})

test('other pages can read only answers under /t', async () => {
  for (const target of ['/', '/livez', '/readyz', '/live/', '/live/customers', '/nothing'])
    expect((await send(gateway.url, target)).headers).not.toHaveProperty(
      'access-control-allow-origin',
    )
  for (const target of ['/t', '/t/nothing', '/t/j/NOTHING', '/t/r'])
    expect((await send(gateway.url, target)).headers['access-control-allow-origin']).toBe('*')
})

test.each([
  ['no request at all', 'nonsense\r\n\r\n', 400],
  ['an impossible Host', 'GET /t/r HTTP/1.1\r\nHost: a b\r\n\r\n', 400],
  ['headers without end', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`, 431],
  ['an invalid Host', 'GET /t/j/ABC123 HTTP/1.1\r\nHost: xn--\r\nConnection: close\r\n\r\n', 400],
  ['two lengths', 'POST /t/r HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400],
])('%s: a JSON answer', async (_, text, status) => {
  const socket = open()
  socket.end(text)
  const received = await closed(socket)
  expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(JSON.parse(received.split('\r\n\r\n')[1] ?? '')).toHaveProperty('message')
})

test('senders that are too slow are closed, others are answered meanwhile', async () => {
  const head = `POST ${TARGET} HTTP/1.1\r\nHost: a\r\nOrigin: ${ORIGIN}\r\n`
  const sockets = Array.from({ length: 40 }, (_, i) => {
    const socket = open()
    socket.write(i % 2 ? head : `${head}Content-Length: 500\r\n\r\n{`)
    return socket
  })
  const ends = sockets.map(closed)
  const drip = setInterval(() => {
    for (const [i, socket] of sockets.entries()) socket.write(i % 2 ? 'x' : ' ')
  }, 100)
  expect((await post(BODY)).status).toBe(200)
  const received = await Promise.all(ends)
  clearInterval(drip)
  for (const text of received) expect(text).toMatch(/^(HTTP\/1.1 408 |$)/)
})

test('an overloaded log is answered 503 with Retry-After, and pages can read the answer', async () => {
  const narrow = await prepared.start({ queue: { maxEvents: 0 } })
  const id = '0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e10'
  const sent = { method: 'POST', headers: HEADERS, body: BODY }
  const answer = await send(narrow.url, `${TARGET}&id=${id}`, sent)
  expect(answer.status).toBe(503)
  expect(answer.headers['retry-after']).toBe('1')
  expect(answer.headers['access-control-allow-origin']).toBe('*')
  expect(JSON.parse(answer.text)).toEqual({ id, message: expect.any(String) })
})

test('an unexpected error is a 500 without details', async () => {
  const errors: unknown[] = []
  const broken = await prepared.start({ onError: (error, route) => errors.push([error, route]) })
  broken.customers.close()
  const answer = await send(broken.url, '/t/r?k=SECRET99', {
    method: 'POST',
    headers: HEADERS,
    body: BODY,
  })
  expect(answer.status).toBe(500)
  expect(JSON.parse(answer.text)).toEqual({ message: 'Something went wrong here' })
  expect(errors).toHaveLength(1)
  expect(JSON.stringify(errors)).not.toContain('SECRET99')
})

test('a stop answers the open requests and stores their events', async () => {
  const stopping = await prepared.start()
  const answers = Promise.all(
    Array.from({ length: 100 }, () =>
      send(stopping.url, TARGET, { method: 'POST', headers: HEADERS, body: BODY }).catch(
        () => undefined,
      ),
    ),
  )
  await send(stopping.url, TARGET, { method: 'POST', headers: HEADERS, body: BODY })
  await stopping.close()
  const acknowledged = (await answers).flatMap((answer) =>
    answer?.status === 200 ? [JSON.parse(answer.text).id as string] : [],
  )
  const stored = new Set((await recordsOf(gateway)).map(({ id }) => id))
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
})

test('a body of 50 MB is cut off while memory stays flat', async () => {
  // In a process of its own, whose memory is not the sender's.
  const folder = layOutGateway()
  const headersOfMetrics = { authorization: `Bearer ${'m'.repeat(16)}` }
  const own = await startProcess(folder, { METRICS_TOKEN: 'm'.repeat(16) })
  try {
    const memory = async () =>
      Number(
        /^process_resident_memory_bytes (\S+)/m.exec(
          (await send(own.url, '/metrics', { headers: headersOfMetrics })).text,
        )?.[1],
      )
    const before = await memory()
    const body = Buffer.alloc(52_428_800, 'x')
    for (const headers of [
      { ...HEADERS, 'content-length': `${body.length}` },
      { ...HEADERS, 'transfer-encoding': 'chunked' },
    ]) {
      const target = '/t/r?k=DEMOSHOP'
      const origin = { origin: own.url }
      const answer = await send(own.url, target, {
        method: 'POST',
        headers: { ...headers, ...origin },
        body,
      }).catch(() => undefined)
      expect([413, undefined]).toContain(answer?.status)
    }
    expect((await memory()) - before).toBeLessThan(64 * 2 ** 20)
  } finally {
    await own.end('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a start that fails releases everything, and can be repeated', async () => {
  const dataDir = `${prepared.folder}/again`
  await expect(prepared.start({ dataDir, publicFolder: '/nowhere' })).rejects.toThrow(
    '/nowhere/live',
  )
  await expect(prepared.start({ dataDir, port: gateway.port })).rejects.toThrow('EADDRINUSE')
  const again = await prepared.start({ dataDir })
  again.customers.add()
  expect((await send(again.url, '/readyz')).status).toBe(200)
})

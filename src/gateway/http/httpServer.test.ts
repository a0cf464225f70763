import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../../test/gateway.ts'
import type { Gateway } from '../index.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start({ demo: true, requestTimeoutMs: 1_000 })
})
afterAll(() => prepared.end())

/**
 * Writes bytes to a connection that never ends its own half. `closed` resolves with everything that was received, when
 * the gateway has closed the connection.
 */
function write(bytes: string | Buffer, port = gateway.port) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', () => {})
  socket.write(bytes)
  const closed = new Promise<string>((resolve) => {
    // A write to a closed connection is answered by a reset.
    const probe = setInterval(() => socket.write('x'), 100)
    socket.once('close', () => {
      clearInterval(probe)
      resolve(received)
    })
  })
  return { socket, closed, received: () => received }
}

test.each([
  ['nothing', '', /^(HTTP\/1.1 4\d\d |$)/],
  ['half a head', 'GET /readyz HTTP/1.1\r\nHost: a\r\n', /^(HTTP\/1.1 4\d\d |$)/],
  [
    'half a body',
    'POST /t/r HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n{',
    /^HTTP\/1.1 4/,
  ],
  ['no HTTP', 'hello\r\n\r\n', /^HTTP\/1.1 400 /],
  ['a head without an end', `GET / HTTP/1.1\r\nX: ${'x'.repeat(70_000)}`, /^HTTP\/1.1 431 /],
  [
    'two lengths',
    'POST /t/r HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    /^HTTP\/1.1 400 /,
  ],
  [
    'a length and chunks',
    'POST /t/r HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    /^HTTP\/1.1 400 /,
  ],
  [
    'no chunk',
    'POST /t/r?k=DEMOSHOP HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    /^HTTP\/1.1 4/,
  ],
  ['a proxy request', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', /^HTTP\/1.1 405 /],
])(
  'a connection with %s is closed, although the other end never closes',
  async (_, bytes, expected) => {
    expect(await write(bytes).closed).toMatch(expected)
  },
)

test('60,000 bytes of cookies are answered, and more than the limit with a 431 that pages can read', async () => {
  const ask = (url: string, bytes: number) =>
    send(url, '/t/j/DEMOSHOP', { headers: { cookie: `a=${'x'.repeat(bytes)}` } })
  expect((await ask(gateway.url, 60_000)).status).toBe(200)
  const { status, headers, text } = await ask(gateway.url, 66_000)
  expect([status, headers['access-control-allow-origin']]).toEqual([431, '*'])
  expect(JSON.parse(text).message).toContain('MAX_HEADER_BYTES')
  const small = await prepared.start({ maxHeaderBytes: 8_192 })
  expect((await ask(small.url, 9_000)).status).toBe(431)
})

test('100 headers are answered, and one more with a 431', async () => {
  const ask = (more: number) => {
    const headers = Object.fromEntries(Array.from({ length: more }, (_, i) => [`x-${i}`, '']))
    return send(gateway.url, '/t/j/DEMOSHOP', { headers })
  }
  // The client adds Host and Connection.
  expect((await ask(98)).status).toBe(200)
  for (const more of [99, 150, 2_000]) {
    const { status, headers, text } = await ask(more)
    expect([status, headers['access-control-allow-origin']]).toEqual([431, '*'])
    expect(JSON.parse(text).message).toBe('Expected at most 100 headers')
  }
})

test.each([
  ['POST /t/r?k=DEMOSHOP', 'Content-Length: 10\r\n'],
  ['POST /t/r?k=DEMOSHOP', 'Transfer-Encoding: chunked\r\n'],
  ['POST /t/%72?k=DEMOSHOP', 'Content-Length: 10\r\n'],
])('large heads share the memory of large bodies: %s, %s', async (request, header) => {
  const { url, port } = await prepared.start({ demo: true, bodyBudgetBytes: 100_000 })
  const cookie = 'x'.repeat(60_000)
  const { socket } = write(
    `${request} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nCookie: ${cookie}\r\n${header}\r\n`,
    port,
  )
  const ask = (peer: string) => send(url, '/livez', { peer, headers: { cookie } })
  await expect.poll(async () => (await ask('127.0.0.2')).status).toBe(503)
  const { headers, text } = await ask('127.0.0.3')
  expect(headers['retry-after']).toBe('2')
  expect(JSON.parse(text).message).toBe('Too many large requests are being received')
  const event = await send(url, '/t/r?k=DEMOSHOP', {
    method: 'POST',
    peer: '127.0.0.4',
    headers: { origin: 'http://localhost', cookie },
    body: '{}',
  })
  expect(event.status).toBe(503)
  expect((await send(url, '/livez')).status).toBe(200)
  socket.destroy()
  await expect.poll(async () => (await ask('127.0.0.2')).status).toBe(200)
})

test('a connection that never reads its answer is closed', async () => {
  const { socket, closed } = write('hello\r\n\r\n')
  socket.pause()
  await closed
})

const JSON_400 = /^HTTP\/1.1 400 [\s\S]*content-type: application\/json[\s\S]*{"message":"/i

test.each([
  ['two Hosts', 'GET /readyz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n'],
  ['two Hosts that differ in their case', 'GET /readyz HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n'],
  ['no Host', 'GET /readyz HTTP/1.1\r\n\r\n'],
  ['no Host, and a body', 'POST /t/r HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}'],
  ['a user in the address', 'GET http://a:b@c/readyz HTTP/1.1\r\nHost: a\r\n\r\n'],
  [
    'chunks in HTTP/1.0',
    'POST /t/r HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['an empty Host', 'GET /readyz HTTP/1.1\r\nHost:\r\n\r\n'],
  ['an invalid Host', 'GET /readyz HTTP/1.1\r\nHost: a b\r\n\r\n'],
])('%s: 400, JSON', async (_, bytes) => {
  const { received, socket } = write(bytes)
  await expect.poll(received).toMatch(JSON_400)
  socket.destroy()
})

test.each([
  ['HTTP/1.0 without a Host', 'GET /readyz HTTP/1.0\r\n\r\n'],
  ['an absolute address', 'GET http://a.example/readyz HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['OPTIONS *', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n'],
  [
    'an upgrade',
    'GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  ],
  [
    'an expectation',
    'POST /t/r HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\n{}',
  ],
  ['a long target', `GET /${'x'.repeat(12_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ['a target with control characters', 'GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['an unknown method', 'BREW /t/r HTTP/1.1\r\nHost: a\r\n\r\n'],
])('%s: an answer, and no 500', async (_, bytes) => {
  const { received, socket } = write(bytes)
  await expect.poll(received).toMatch(/^HTTP\/1.1 (2|3|4)\d\d /)
  socket.destroy()
})

test.each(['gzip', 'gzip, chunked', 'identity', 'chunked, chunked'])(
  'a body coded as %s is refused in JSON',
  async (coding) => {
    const { closed } = write(
      `POST /t/r HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`,
    )
    const received = await closed
    expect(received).toMatch(/^HTTP\/1.1 (400|501) [\s\S]*content-type: application\/json/)
    expect(JSON.parse(received.split('\r\n\r\n')[1] as string)).toHaveProperty('message')
  },
)

test('HTTP/1.0 without a Host, as some load balancers send it, is answered', async () => {
  const { received } = write('GET /readyz HTTP/1.0\r\n\r\n')
  await expect.poll(received).toMatch(/^HTTP\/1.1 200 /)
})

test.each([
  'bytes=0-0',
  'bytes=5-2',
  'bytes=-0',
  'bytes=-',
  'bytes=99999999999999999999-',
  'bytes=-99999999999999999999',
  'bytes=0-1,3-4',
  'bytes=a-b',
  'pages=1-2',
  'bytes',
  '',
  `bytes=${'0-1,'.repeat(2_000)}`,
])('Range %j is ignored, and the whole file is answered', async (range) => {
  for (const path of ['/live/index.html', '/live/page.js', '/t/j/DEMOSHOP'])
    for (const method of ['GET', 'HEAD']) {
      const answer = await send(gateway.url, path, { method, headers: { range } })
      expect(answer.status).toBe(200)
      expect(answer.headers).not.toHaveProperty('content-range')
      const length = Number(answer.headers['content-length'])
      expect(answer.bytes.length).toBe(method === 'HEAD' ? 0 : length)
      expect(length).toBeGreaterThan(0)
    }
})

test('a body that is refused before it is read does not keep the connection', async () => {
  const head =
    'POST /t/r?k=DEMOSHOP HTTP/1.1\r\nHost: a\r\nOrigin: http://localhost\r\nContent-Length: 9999999\r\n\r\n'
  const received = await write(`${head}{`).closed
  // Not the 408 of a request that takes too long.
  expect(received.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 413'])
})

test('a connection is kept if the rest of a refused body arrives', async () => {
  const { port } = await prepared.start({ demo: true })
  const head = (bytes: number) =>
    `POST /t/r?k=DEMOSHOP HTTP/1.1\r\nHost: a\r\nOrigin: http://localhost\r\nContent-Length: ${bytes}\r\n\r\n`
  const socket = connect({ port, host: '127.0.0.1' })
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.write(`${head(200_000)}${'x'.repeat(199_999)}`)
  await expect.poll(() => received).toMatch(/^HTTP\/1.1 413 /)
  socket.write('x')
  // Its body does not arrive, so it is closed, later than the first one would be.
  await write(`${head(200_000)}x`, port).closed
  socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')
  await expect.poll(() => received).toContain('{"status":"alive"}')
  socket.destroy()
})

test('bodies of unknown or large length share a budget; the answer comes before they are read', async () => {
  const own = await prepared.start({ bodyBudgetBytes: 8 * 2 ** 20 })
  own.customers.add({ trackingKey: 'OWNKEY12', origins: ['https://shop.example'] })
  const id = '0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e10'
  const target = `/t/r?k=OWNKEY12&id=${id}`
  const head = (headers: string) =>
    `POST /t/batch?k=OWNKEY12 HTTP/1.1\r\nHost: a\r\nOrigin: https://shop.example\r\n${headers}\r\n\r\n{`
  const held: Socket[] = []
  // One address may hold a quarter.
  for (let i = 0; i < 2; i++) {
    const { socket } = write(head('Content-Length: 1000000'), own.port)
    held.push(socket)
  }
  const refused = async () => {
    const body = 'x'.repeat(100_000)
    const origin = 'https://shop.example'
    const sent = { method: 'POST', headers: { origin }, body }
    const { status, headers, text } = await send(own.url, target, sent)
    return status === 503 && headers['retry-after'] && JSON.parse(text).id === id
  }
  await expect.poll(refused).toBeTruthy()
  const chunk = `${(100_000).toString(16)}\r\n${'x'.repeat(100_000)}\r\n`
  const chunked = head('Transfer-Encoding: chunked').slice(0, -1)
  const { received } = write(chunked + chunk, own.port)
  await expect.poll(received).toMatch(/^HTTP\/1.1 503 /)
  // Small bodies are accepted, and those of other addresses.
  const send1 = (peer: string, size: number) =>
    send(own.url, target, {
      method: 'POST',
      peer,
      headers: { origin: 'https://shop.example' },
      body: JSON.stringify({ x: 'x'.repeat(size) }),
    })
  expect((await send1('127.0.0.1', 1_000)).status).toBe(422)
  expect((await send1('127.0.0.2', 100_000)).status).toBe(422)
  // A body that is aborted releases its memory.
  for (const socket of held) socket.destroy()
  await expect.poll(async () => (await send1('127.0.0.1', 100_000)).status).toBe(422)
})

test('every body is counted in the budget, and a slow one ends after the deadline of a request', async () => {
  const own = await prepared.start({ bodyBudgetBytes: 8 * 2 ** 20, requestTimeoutMs: 4_000 })
  const restKey = 'REST-KEY-00000002'
  const origin = 'https://shop.example'
  own.customers.add({
    customerId: 'budget',
    trackingKey: 'OWNKEY13',
    origins: [origin],
    restKey,
  })
  const credentials = JSON.stringify({ customerId: 'budget', restKey })
  const json = { 'content-type': 'application/json' }
  const signIn = { method: 'POST', headers: json, body: credentials }
  const { headers } = await send(own.url, '/live/login', signIn)
  const cookie = `${headers['set-cookie']}`.split(';')[0] as string
  const keys = `k=${restKey}&u=budget`
  const body = `"${'x'.repeat(100_000)}"`
  const statuses = () =>
    Promise.all(
      [
        '/t/r?k=OWNKEY13',
        '/t/batch?k=OWNKEY13',
        `/api/v1/campaigns/create?${keys}`,
        `/api/v1/custom_events?${keys}`,
        '/campaigns/data/create?customer=budget',
      ].map(async (target) => {
        const sent = { method: 'POST', headers: { ...json, origin, cookie }, body }
        const { status, headers } = await send(own.url, target, sent)
        expect(headers['retry-after']).toBe(status === 503 ? '2' : undefined)
        return status
      }),
    )
  const slow = Array.from({ length: 2 }, () =>
    write(
      `POST /t/batch?k=OWNKEY13 HTTP/1.1\r\nHost: a\r\nOrigin: ${origin}\r\nContent-Length: 1000000\r\n\r\n{`,
      own.port,
    ),
  )
  await expect.poll(statuses, { timeout: 5_000 }).toEqual(Array(5).fill(503))
  // `write` continues to send, a byte at a time.
  for (const { closed } of slow) expect(await closed).toMatch(/^HTTP\/1.1 408 /)
  await expect.poll(statuses).toEqual(Array(5).fill(422))
})

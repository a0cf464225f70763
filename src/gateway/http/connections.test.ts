import type { RequestListener } from 'node:http'
import { expect, test } from 'vitest'
import {
  bodyOf,
  get,
  HOST,
  LARGE,
  open,
  startServer,
  statusesOf,
  until,
} from '../../test/connections.ts'
import { closeServer } from './httpServer.ts'

const ENDS: [string, string, number][] = [
  ['nothing', '', 408],
  ['half a head', 'GET / HT', 408],
  ['half a body', `POST /wait HTTP/1.1\r\n${HOST}Content-Length: 9\r\n\r\nx`, 408],
  ['bytes that are not HTTP', 'nonsense\r\n\r\n', 400],
  ['a TLS hello', '\x16\x03\x01\x00\xb8\x01\x00\x00\xb4\x03\x03', 400],
  ['headers without end', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}`, 431],
  ['a target without end', `GET /${'x'.repeat(20_000)}`, 431],
  ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n', 405],
  ['two Hosts', `GET / HTTP/1.1\r\n${HOST}hOST: b\r\n\r\n`, 400],
  ['two equal Hosts', `GET / HTTP/1.1\r\n${HOST}${HOST}\r\n`, 400],
  [
    'a Host that is longer than a name',
    `GET / HTTP/1.1\r\nHost: ${'a.'.repeat(150)}b\r\n\r\n`,
    400,
  ],
  ['an address with such a host', `GET http://${'a.'.repeat(150)}b/ HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['two lengths', `POST / HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`, 400],
  [
    'a length and chunks',
    `POST / HTTP/1.1\r\n${HOST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
    400,
  ],
  ['a coding other than chunked', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip\r\n\r\n`, 501],
  [
    'two codings',
    `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    501,
  ],
  [
    'chunks in HTTP/1.0',
    `POST / HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  ['a user in the address', `GET http://a:b@c/ HTTP/1.1\r\n${HOST}\r\n`, 400],
]
const PEERS = ['never closes', 'never reads', 'continues to send'] as const

test.each(PEERS)(
  'a client that %s after its refusal is disconnected a moment later',
  async (kind) => {
    // A listener that waits for the whole body, as ours do.
    const listener: RequestListener = (request, response) => {
      request.resume().on('end', () => response.end('late'))
    }
    // Long enough that a busy machine reads what was sent before.
    const timeouts = {
      headersTimeout: 1_500,
      requestTimeout: 1_500,
      connectionsCheckingInterval: 50,
    }
    const { port, accepted, count } = await startServer({}, listener, timeouts)
    const peers = ENDS.map(([name, text, status]) => ({ ...open(port), name, text, status }))
    for (const { socket, text } of peers) {
      if (kind === 'never reads') socket.pause()
      socket.write(text)
    }
    await until(() => accepted() === ENDS.length)
    const more = setInterval(() => {
      if (kind !== 'continues to send') return
      for (const { socket, status } of peers) if (status !== 408) socket.write('x'.repeat(1_000))
    }, 10)
    await until(() => count() === 0)
    clearInterval(more)
    if (kind === 'never reads') return
    await until(() => peers.every((peer) => peer.isOver()))
    for (const { name, received, status } of peers) {
      expect(statusesOf(received()), name).toEqual([`${status}`])
      expect(received(), name).toMatch(/^connection: close\r$/im)
      expect(bodyOf(received()), name).toEqual({ message: expect.any(String) })
    }
  },
)

test('HTTP/1.0 needs no Host', async () => {
  const { port } = await startServer()
  const peer = open(port)
  peer.socket.write('GET /old HTTP/1.0\r\n\r\n')
  await until(() => peer.isOver())
  expect(statusesOf(peer.received())).toEqual(['200'])
  expect(peer.received().endsWith('/old')).toBe(true)
})

test('invalid HTTP after a request is refused after the answer to it', async () => {
  let answer = () => {}
  const { port, count } = await startServer({}, (_, response) => {
    answer = () => response.end('{"good":1}')
  })
  const peer = open(port)
  peer.socket.write(`${get('/')}nonsense\r\n\r\n`)
  // The parser has seen all of it by the time another connection is served.
  const other = open(port)
  other.socket.write('nonsense\r\n\r\n')
  await until(() => other.isOver())
  expect(peer.received()).toBe('')
  answer()
  await until(() => peer.isOver())
  expect(statusesOf(peer.received())).toEqual(['200', '400'])
  await until(() => count() === 0)
})

test('an answer that has begun is not mixed with a refusal', async () => {
  const { port } = await startServer({}, (_, response) => void response.write('begun'), {
    headersTimeout: 300,
    requestTimeout: 300,
    connectionsCheckingInterval: 50,
  })
  const peer = open(port)
  peer.socket.write(`POST / HTTP/1.1\r\n${HOST}Content-Length: 9\r\n\r\nx`)
  await until(() => peer.isOver())
  expect(statusesOf(peer.received())).toEqual(['200'])
})

test.each([
  ['has sent nothing', ''],
  ['has sent half a head', 'GET / HT'],
  ['has had its answer', get('/')],
])('a new connection closes the one that has been idle for longest and %s', async (_, text) => {
  const { port, closed, count } = await startServer({ max: 3 })
  const [first, second, third] = [open(port), open(port), open(port)] as const
  await until(() => count() === 3)
  for (const { socket } of [second, first, third]) {
    const { bytesWritten } = socket
    if (text) socket.write(text)
    await until(() => socket.bytesWritten - bytesWritten === text.length)
    if (text === get('/'))
      await until(() => [second, first, third].find((p) => p.socket === socket)?.received())
  }
  const visitor = open(port)
  visitor.socket.write(get('/visit'))
  await until(() => visitor.received().endsWith('/visit'))
  expect(closed).toEqual(['idle'])
  await until(() => [first, second, third].some(({ isOver }) => isOver()))
  const oldest = text === get('/') ? second : [first, second, third].find(({ isOver }) => isOver())
  expect(oldest?.isOver()).toBe(true)
  expect(count()).toBe(3)
})

test('many idle connections do not block new ones', async () => {
  const { port, closed, count } = await startServer({ max: 50 })
  const idle = Array.from({ length: 500 }, () => open(port))
  await until(() => idle.filter(({ isOver }) => isOver()).length === 450)
  for (let i = 0; i < 20; i++) {
    const visitor = open(port)
    visitor.socket.write(get(`/${i}`))
    await until(() => visitor.received().endsWith(`/${i}`))
  }
  expect(count()).toBe(50)
  expect(new Set(closed)).toEqual(new Set(['idle']))
})

test('many connections that are about to end do not block new ones', async () => {
  const { port, count } = await startServer({ max: 100 })
  let isDone = false
  // Each is replaced when it ends: so many come as the server ends, however fast the machine is.
  const addGarbage = () => {
    const { socket } = open(port)
    socket.write('nonsense\r\n\r\n')
    socket.once('close', () => isDone || addGarbage())
  }
  for (let i = 0; i < 200; i++) addGarbage()
  await until(() => count() === 100)
  for (let i = 0; i < 20; i++) {
    const visitor = open(port)
    visitor.socket.write(get(`/${i}`))
    await until(() => visitor.isOver() || visitor.received().endsWith(`/${i}`))
    expect(visitor.received().endsWith(`/${i}`)).toBe(true)
  }
  isDone = true
})

test('a reset after a CONNECT, or after a refusal, ends only its connection', async () => {
  const { port, count } = await startServer()
  for (const text of ['CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 'nonsense\r\n\r\n', '']) {
    const peer = open(port)
    peer.socket.write(text)
    await until(() => count() === 1 && (peer.received() || !text))
    peer.socket.resetAndDestroy()
    await until(() => count() === 0)
  }
})

test('a connection that is being answered is not closed for a new one, which is refused', async () => {
  const waiting: (() => void)[] = []
  const { port, closed, count } = await startServer({ max: 2 }, (_, response) => {
    waiting.push(() => response.end('late'))
  })
  const busy = [open(port), open(port)]
  for (const { socket } of busy) socket.write(get('/'))
  await until(() => waiting.length === 2)
  const refused = open(port)
  await until(() => refused.isOver())
  expect(closed).toEqual(['full'])
  for (const answer of waiting) answer()
  await until(() => busy.every(({ received }) => received().endsWith('late')))
  // Now there is room again.
  const next = open(port)
  next.socket.write(get('/'))
  await until(() => waiting.length === 3)
  expect(count()).toBe(2)
  expect(closed).toEqual(['full', 'idle'])
})

test.each([
  ['sends its body slowly', `POST / HTTP/1.1\r\n${HOST}Content-Length: 9\r\n\r\nx`],
  ['does not read its answer', get('/large')],
])('if no connection is idle, one that %s makes room after some seconds', async (_, text) => {
  let begun = 0
  const { port, closed } = await startServer({ max: 2 }, (request, response) => {
    begun++
    if (request.url === '/large') response.end(LARGE)
    else request.resume().on('end', () => response.end(request.url))
  })
  const slow = [open(port), open(port)]
  for (const { socket } of slow) {
    socket.pause()
    socket.write(text)
  }
  await until(() => begun === 2)
  // The first connections find no room and try again, as a browser does.
  let visitor = open(port)
  await until(() => {
    if (visitor.isOver()) visitor = open(port)
    if (visitor.socket.bytesWritten === 0) visitor.socket.write(get('/visit'))
    return visitor.received().endsWith('/visit')
  })
  expect(closed.filter((reason) => reason === 'slow')).toHaveLength(1)
})

test('a connection that does not read its answer is closed', async () => {
  const { port, closed, count } = await startServer({ sendTimeoutMs: 50 }, (_, response) => {
    response.end(LARGE)
  })
  const peer = open(port)
  peer.socket.pause()
  peer.socket.write(get('/'))
  await until(() => count() === 1)
  await until(() => count() === 0)
  expect(closed).toEqual(['unread'])
})

test('a slow reader, and one that waits for a slow answer, are not closed', async () => {
  const { port, closed } = await startServer({ sendTimeoutMs: 2_500 }, async (_, response) => {
    response.flushHeaders()
    await new Promise((resolve) => setTimeout(resolve, 4_000))
    response.end(LARGE)
  })
  const peer = open(port)
  peer.socket.write(get('/'))
  const slowly = setInterval(() => {
    peer.socket.resume()
    setImmediate(() => peer.socket.pause())
  }, 20)
  await until(() => peer.received().length > LARGE.length)
  clearInterval(slowly)
  expect(closed).toEqual([])
})

test('a stop closes idle connections at once, and does not cut an answer that is being read', async () => {
  const { server, port, requests } = await startServer(
    {},
    ({ url }, response) => void response.end(url === '/large' ? LARGE : url),
  )
  const idle = open(port)
  idle.socket.write(get('/small'))
  await until(() => idle.received().endsWith('/small'))
  const reader = open(port)
  reader.socket.pause()
  reader.socket.write(get('/large'))
  await until(() => requests.length === 2)
  const closed = closeServer(server, 60_000)
  await until(idle.isOver)
  reader.socket.resume()
  await closed
  await until(reader.isOver)
  expect(reader.received().length).toBeGreaterThan(LARGE.length)
})

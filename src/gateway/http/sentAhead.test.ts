import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { get, HOST, LARGE, open, startServer, until } from '../../test/connections.ts'

/** As large as the headers of a client, so that one read of a socket brings fewer requests than may wait. */
const HEADERS = `${HOST}User-Agent: ${'x'.repeat(40)}\r\n`
const ahead = (path: string) => `GET ${path} HTTP/1.1\r\n${HEADERS}\r\n`

test('requests that were sent ahead are handled one at a time, answered in order, and all of them', async () => {
  let atOnce = 0
  let most = 0
  const { port, closed } = await startServer({}, async (request, response) => {
    most = Math.max(most, ++atOnce)
    let body = ''
    for await (const chunk of request) body += chunk
    atOnce--
    response.end(`${request.url}${body};`)
  })
  const peer = open(port)
  const count = 5_000
  const requests = Array.from({ length: count }, (_, i) =>
    i % 3
      ? ahead(`/${i}`)
      : `POST /${i} HTTP/1.1\r\n${HEADERS}Content-Length: ${`${i}`.length}\r\n\r\n${i}`,
  )
  peer.socket.write(requests.join(''))
  const last = `/${count - 1};`
  await until(() => peer.received().endsWith(last))
  const answered = peer.received().match(/\/\d+;?(?=;|HTTP|$)|\/\d+;/g)?.length
  expect(answered).toBe(count)
  const paths = [...peer.received().matchAll(/\r\n\r\n\/(\d+);/g)]
  expect(paths.map(([, path]) => path)).toEqual(
    requests.map((_, i) => (i % 3 ? `${i}` : `${i}${i}`)),
  )
  expect(most).toBe(1)
  expect(closed).toEqual([])
})

test.each([
  ['comes', () => {}],
  ['is not taken', (response: ServerResponse) => response.end(LARGE)],
])('while an answer %s, the socket is not read', async (_, answer) => {
  let seen = 0
  let read = () => 0
  const { port, closed } = await startServer({}, ({ socket }, response) => {
    seen++
    read = () => socket.bytesRead
    answer(response)
  })
  const { socket } = open(port)
  socket.pause()
  // More than LARGE is.
  socket.write(ahead('/').repeat(2 ** 19))
  await until(() => seen === 1)
  // Other connections are served again and again, so this one would have been read.
  for (let i = 0; i < 20; i++) {
    const other = open(port)
    other.socket.write('nonsense\r\n\r\n')
    await until(() => other.isOver())
  }
  expect(seen).toBe(1)
  expect(read()).toBeLessThanOrEqual(2 * 65_536)
  expect(socket.writableLength).toBeGreaterThan(0)
  expect(closed).toEqual([])
})

test('thousands of requests sent ahead do not block other connections', async () => {
  let answered = 0
  let before = 0
  const { port, count } = await startServer({}, ({ url }, response) => {
    if (url === '/visit') before = answered
    answered++
    response.end(url)
  })
  const [busy, visitor] = [open(port), open(port)]
  await until(() => count() === 2)
  busy.socket.write(ahead('/ahead').repeat(2_000))
  visitor.socket.write(get('/visit'))
  await until(() => answered === 2_001)
  expect(before).toBeLessThan(2_000)
})

test('all connections together hold a bounded number of requests', async () => {
  const { port, closed, requests, count } = await startServer({}, () => {})
  const honest = open(port)
  honest.socket.write(get('/'))
  await until(() => count() === 1)
  // Each brings some 2,000 in one read.
  for (let i = 0; i < 40; i++) open(port).socket.write(get('/').repeat(2_000))
  await until(() => closed.length === 40)
  expect(new Set(closed)).toEqual(new Set(['pipelined']))
  expect(count()).toBe(1)
  expect(honest.isOver()).toBe(false)
  // Each connection was closed at 1,000 requests, and the rest of its bytes was not parsed.
  expect(requests.length).toBeLessThan(40 * 1_010)
})

test('a chunked body sent ahead closes the connection, and is not kept in memory', async () => {
  const { port, closed, requests, count } = await startServer({}, () => {})
  const chunked = `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10_000)}`
  for (let i = 0; i < 20; i++) open(port).socket.write(get('/') + chunked)
  await until(() => closed.length === 20)
  expect(new Set(closed)).toEqual(new Set(['pipelined']))
  expect(count()).toBe(0)
  expect(requests.length).toBe(40)
  expect(requests.map(({ readableLength }) => readableLength)).toEqual(Array(40).fill(0))
})

test('a connection that ends releases the requests that it held', async () => {
  let begun = 0
  let answer: (() => void) | undefined
  const { port, closed, count } = await startServer({}, (_, response) => {
    begun++
    if (begun === 1) answer = () => response.end()
    else response.end()
  })
  const first = open(port)
  first.socket.write(ahead('/').repeat(2_000))
  await until(() => answer)
  first.socket.destroy()
  answer?.()
  await until(() => count() === 0)
  begun = 1
  open(port).socket.write(ahead('/').repeat(2_000))
  await until(() => begun === 2_001)
  expect(closed).toEqual([])
})

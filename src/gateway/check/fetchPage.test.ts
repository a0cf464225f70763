import type { lookup } from 'node:dns'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { createFetchPage, type FetchPolicy, isPublicAddress } from './fetchPage.ts'

/** Compresses a long body of zeros in milliseconds. */
const FAST = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    ;(server as Server & { closeAllConnections?: () => void }).closeAllConnections?.()
  }
})

async function listen(server: Server, host = '127.0.0.1'): Promise<string> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return `http://${host}:${(server.address() as AddressInfo).port}`
}

const serve = (listener: RequestListener) => listen(createServer(listener))

/** Sends a text to each client, and may be left by it before. */
const sendOnce = (answer: string): Server =>
  createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => socket.end(answer))
  })

const get = (url: string, policy: FetchPolicy = {}) => createFetchPage(policy)(url)

test.each([
  ['8.8.8.8', true],
  ['2606:4700::1111', true],
  ['127.0.0.1', false],
  ['127.8.9.10', false],
  ['10.0.0.1', false],
  ['172.16.0.1', false],
  ['192.168.1.1', false],
  ['169.254.169.254', false],
  ['100.64.0.1', false],
  ['100.100.100.200', false],
  ['192.0.0.192', false],
  ['0.0.0.0', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['::', false],
  ['::1', false],
  ['::ffff:127.0.0.1', false],
  ['::ffff:7f00:1', false],
  ['::ffff:10.0.0.1', false],
  ['::127.0.0.1', false],
  ['::7f00:1', false],
  ['4000::1', false],
  ['2606:4700::1111', true],
  ['fe80::1', false],
  ['fec0::1', false],
  ['fd00:ec2::254', false],
  ['64:ff9b::7f00:1', false],
  ['64:ff9b:1::7f00:1', false],
  ['2002:7f00:1::', false],
  ['2001::1', false],
  ['ff02::1', false],
  ['shop.example', false],
  ['', false],
])('%s is public: %s', (address, expected) => {
  expect(isPublicAddress(address)).toBe(expected)
})

test('a page comes with its status, its headers and its final address', async () => {
  const url = await serve((request, response) => {
    if (request.url === '/') {
      response.writeHead(302, { location: 'p?x=1' }).end('moved')
      return
    }
    response.writeHead(418, [
      ['content-security-policy', 'a 1'],
      ['content-security-policy', 'b 2'],
      ['X-Other', 'yes'],
    ] as never)
    response.end(`${request.headers['user-agent']}`)
  })
  const page = await get(`${url}/`)
  expect(page).toMatchObject({
    ok: true,
    url: `${url}/p?x=1`,
    status: 418,
    headers: { 'content-security-policy': 'a 1, b 2', 'x-other': 'yes' },
    redirects: [`${url}/`],
    isCut: false,
  })
  expect(page.ok && page.body.toString()).toMatch(/shoptrail\/\S+; check/)
})

test.each([
  ['br', brotliCompressSync],
  ['gzip', gzipSync],
])('a body is decompressed: %s', async (coding, compress) => {
  const url = await serve((_, response) =>
    response.writeHead(200, { 'content-encoding': coding }).end(compress(Buffer.from('păge'))),
  )
  const page = await get(url)
  expect(page.ok && page.body.toString()).toBe('păge')
})

test.each([
  ['gzip', gzipSync],
  ['br', (bytes: Buffer) => brotliCompressSync(bytes, FAST)],
])(
  'a %s body that grows a thousand times is cut, and the rest is not decompressed',
  async (coding, compress) => {
    const bomb = compress(Buffer.alloc(32 * 2 ** 20))
    const url = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': coding }).end(bomb),
    )
    const before = process.memoryUsage().arrayBuffers
    const page = await get(url, { maxBytes: 100_000 })
    expect(page).toMatchObject({ ok: true, isCut: true })
    expect(page.ok && page.body.length).toBe(100_000)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 2 ** 20)
  },
)

test('a body without an end is cut, and its connection is closed', async () => {
  let onClosed = () => {}
  const closed = new Promise<void>((resolve) => {
    onClosed = resolve
  })
  const url = await serve((_, response) => {
    response.on('close', onClosed)
    const write = () => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384, 'x')));
    }
    response.on('drain', write)
    write()
  })
  const page = await get(url, { maxBytes: 50_000 })
  expect(page).toMatchObject({ ok: true, isCut: true })
  expect(page.ok && page.body.length).toBe(50_000)
  await closed
})

test('a slow body ends with the time of the call, a slow head too', async () => {
  const url = await serve((request, response) => {
    if (request.url === '/body') response.writeHead(200).write('<p>')
  })
  for (const path of ['/body', '/head'])
    expect(await get(url + path, { timeoutMs: 100 })).toEqual({
      ok: false,
      url: url + path,
      reason: 'network',
      message: 'It did not answer in time',
    })
})

test('the time of a call ends it also if the garbage was collected before', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const url = await serve((_, response) => {
    response.writeHead(200).write('<p>')
    const timer = setInterval(() => {
      collect()
      response.write('<p>')
    }, 20)
    response.on('close', () => clearInterval(timer))
  })
  expect(await get(url, { timeoutMs: 300 })).toMatchObject({ message: 'It did not answer in time' })
})

test('all calls together have a time, too', async () => {
  const url = await serve(() => {})
  const fetchPage = createFetchPage({ totalMs: 100 })
  for (let i = 0; i < 2; i++)
    expect(await fetchPage(url)).toMatchObject({ message: 'It did not answer in time' })
})

test('all calls together have a number of requests', async () => {
  const url = await serve((_, response) => response.end())
  const fetchPage = createFetchPage({ maxRequests: 2 })
  await fetchPage(url)
  await fetchPage(url)
  expect(await fetchPage(url)).toMatchObject({ ok: false, message: 'More than 2 requests' })
})

test('redirects in a circle end', async () => {
  let asked = 0
  const url = await serve((_, response) => {
    asked++
    response.writeHead(307, { location: '/' }).end()
  })
  expect(await get(url, { maxRedirects: 3 })).toMatchObject({
    ok: false,
    message: 'It redirects more than 3 times',
  })
  expect(asked).toBe(4)
})

test('without redirects, a redirect is the answer', async () => {
  const url = await serve((_, response) => response.writeHead(301, { location: '/x' }).end())
  expect(await createFetchPage()(url, { maxRedirects: 0 })).toMatchObject({ status: 301 })
})

test.each([
  ['corrupt', { 'content-encoding': 'gzip' }, 'not gzip', /not compressed as/],
  ['corrupt', { 'content-encoding': 'br' }, 'not brotli at all, really', /not compressed as/],
  ['unknown', { 'content-encoding': 'zstd' }, 'x', /content-encoding is zstd/],
  ['ended early', { 'content-encoding': 'gzip' }, gzipSync('page').subarray(0, 15), /ended early/],
])('a body that can not be read, %s', async (_, headers, body, message) => {
  const url = await serve((_, response) => response.writeHead(200, headers).end(body))
  expect(await get(url)).toMatchObject({ ok: false, message: expect.stringMatching(message) })
})

test.each([
  [
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    'It answers 101',
  ],
  ['HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc', 'The answer ended early'],
  [`HTTP/1.1 200 OK\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`, 'The head of its answer is too large'],
  ['HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n', 'It is not an http or https'],
  ['HTTP/1.1 302 Found\r\nLocation: http://[\r\n\r\n', 'It is not an http or https'],
])('a hostile answer ends: %j', async (answer, message) => {
  const url = await listen(sendOnce(answer))
  expect(await get(url)).toMatchObject({ ok: false, message: expect.stringContaining(message) })
})

test.each([
  'HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n',
])('an empty answer: %j', async (answer) => {
  const url = await listen(sendOnce(answer))
  expect(await get(url)).toMatchObject({ ok: true, body: Buffer.alloc(0) })
})

test('an answer that is not HTTP, and a connection that is closed', async () => {
  const junk = await listen(createTcpServer((socket) => socket.end('220 mail ready\r\n')))
  expect(await get(junk)).toMatchObject({ ok: false, message: 'Its answer is not HTTP' })
  const closing = await listen(createTcpServer((socket) => socket.destroy()))
  expect(await get(closing)).toMatchObject({
    ok: false,
    message: 'The connection was closed without an answer',
  })
})

test('a port where nothing listens', async () => {
  const url = await serve(() => {})
  servers.pop()?.close()
  expect(await get(url)).toMatchObject({ message: 'Nothing listens at this address' })
})

test.each([
  'ftp://shop.example/',
  'file:///etc/passwd',
  'data:text/html,x',
  'shop.example',
  'http://user:secret@shop.example/',
])('%s is not fetched', async (url) => {
  expect(await get(url)).toMatchObject({ ok: false, reason: 'refused' })
})

/** A policy that allows only public addresses, with a table in place of DNS. */
function guarded(names: Readonly<Record<string, readonly string[]>> = {}): FetchPolicy {
  const find = (name: string, _options: object, done: (error: null, found: object[]) => void) =>
    done(
      null,
      (names[name] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  return { allowsAddress: isPublicAddress, lookup: find as unknown as typeof lookup }
}

test.each([
  'http://127.0.0.1:PORT/',
  'http://127.1:PORT/',
  'http://2130706433:PORT/',
  'http://0x7f.0.0.1:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://[::1]:PORT/',
  'http://0.0.0.0:PORT/',
  'http://one.example:PORT/',
  'http://mapped.example:PORT/',
  'http://two.example:PORT/',
])('a private address is not connected to: %s', async (pattern) => {
  let asked = 0
  const url = await serve((_, response) => {
    asked++
    response.end()
  })
  const names = {
    'one.example': ['127.0.0.1'],
    'mapped.example': ['::ffff:127.0.0.1'],
    'two.example': ['93.184.215.14', '127.0.0.1'],
  }
  const target = pattern.replace('PORT', new URL(url).port)
  expect(await get(target, guarded(names))).toMatchObject({
    ok: false,
    reason: 'refused',
    message: expect.stringMatching(
      /^It is at \S+, which is not an address of the public internet$/,
    ),
  })
  expect(asked).toBe(0)
})

test('localhost, looked up by the system, is not connected to', async () => {
  const url = await serve((_, response) => response.end())
  const target = url.replace('127.0.0.1', 'localhost')
  expect(await get(target, { allowsAddress: isPublicAddress })).toMatchObject({ reason: 'refused' })
})

test('the address that is checked is the one that is connected to: a second look-up changes nothing', async () => {
  const url = await serve((_, response) => response.end('here'))
  const { port } = new URL(url)
  let looked = 0
  const policy = guarded()
  const rebinding = ((_: string, _options: object, done: (e: null, found: object[]) => void) => {
    looked++
    done(null, [{ address: looked === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }])
  }) as unknown as typeof lookup
  const seen: string[] = []
  const allowsAddress = (address: string) => {
    seen.push(address)
    return true
  }
  const page = await get(`http://shop.example:${port}/`, {
    ...policy,
    allowsAddress,
    lookup: rebinding,
  })
  expect(page.ok && page.body.toString()).toBe('here')
  expect([looked, seen]).toEqual([1, ['127.0.0.1']])
})

test('a redirect to an address that is not allowed is not followed', async () => {
  let asked = 0
  const inner = await serve((_, response) => {
    asked++
    response.end('secret')
  })
  // The shop's own address is allowed here by name, so that the test needs no other machine.
  const policy: FetchPolicy = {
    ...guarded({ 'shop.example': ['127.0.0.2'] }),
    allowsAddress: (address) => address === '127.0.0.2' || isPublicAddress(address),
  }
  const shop = createServer((_, response) => response.writeHead(302, { location: inner }).end())
  const { port } = new URL(await listen(shop, '127.0.0.2'))
  expect(await get(`http://shop.example:${port}/`, policy)).toMatchObject({
    ok: false,
    reason: 'refused',
    url: `${inner}/`,
  })
  expect(asked).toBe(0)
})

test('a policy refuses addresses by their text, redirects too', async () => {
  const url = await serve((_, response) =>
    response.writeHead(302, { location: 'http://other.example/' }).end(),
  )
  const refuse = ({ hostname }: URL) => (hostname === '127.0.0.1' ? undefined : 'Not of this shop')
  expect(await get(url, { refuse })).toEqual({
    ok: false,
    reason: 'refused',
    url: 'http://other.example/',
    message: 'Not of this shop',
  })
})

import type { lookup } from 'node:dns'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { TooMany } from '../http/semaphore.ts'
import { createOwnCheck, type OwnCheck } from './ownCheck.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const GATEWAY = 'https://t.example'
const TAG = `<script async src="${GATEWAY}/t/j/KEY123"></script>`
const html: RequestListener = (_, response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end(TAG)

const checkOf = (shop: string, origins: readonly string[], isLocal = true): OwnCheck => ({
  customer: { customerId: 'C1', trackingKey: 'KEY123', config: {}, origins },
  shop,
  gateway: GATEWAY,
  isLocal,
})

/** In place of DNS: every name is this machine. */
const toLoopback = ((_: string, _options: object, done: (error: null, found: object[]) => void) =>
  done(null, [{ address: '127.0.0.1', family: 4 }])) as unknown as typeof lookup

test('an operator on this machine checks a shop on this machine', async () => {
  const shop = await serve(html)
  const result = await createOwnCheck()(checkOf(shop, ['loopback']))
  expect(result).toMatchObject({
    ok: true,
    report: {
      key: 'KEY123',
      gateway: GATEWAY,
      pages: [{ kind: 'home', status: 200 }],
      findings: [
        { level: 'ok', code: 'origin-ok' },
        { level: 'ok', code: 'tag-ok' },
      ],
    },
  })
})

test.each([
  ['another operator', ['loopback'], false, ''],
  ['a customer without loopback', ['https://shop.example'], true, ''],
  ['another path of an address that is not a URL', ['loopback'], true, 'shop'],
  ['a file', ['loopback'], true, 'file:///etc/passwd'],
  ['no origin', [], true, ''],
])('a page of this machine is refused: %s', async (_, origins, isLocal, address) => {
  let asked = 0
  const shop = await serve(() => asked++)
  const result = await createOwnCheck()(checkOf(address || shop, origins, isLocal))
  expect(result).toMatchObject({ ok: false, status: 422 })
  expect(asked).toBe(0)
})

test.each([true, false])(
  'an allowed name that resolves to this machine is not connected to, whoever asks: %s',
  async (isLocal) => {
    let asked = 0
    const { port } = new URL(await serve(() => asked++))
    const shop = `http://shop.example:${port}`
    const result = await createOwnCheck(toLoopback)(checkOf(shop, [shop, 'loopback'], isLocal))
    expect(result).toMatchObject({
      ok: true,
      report: { pages: [{ status: 0 }], findings: [{ level: 'error', code: 'page-unreachable' }] },
    })
    expect(asked).toBe(0)
  },
)

test('a redirect from the shop to another origin is not followed', async () => {
  let asked = 0
  const inner = await serve(() => asked++)
  const shop = await serve((_, response) => response.writeHead(302, { location: inner }).end())
  const result = await createOwnCheck()(checkOf(shop, [shop]))
  expect(result).toMatchObject({
    report: {
      findings: [
        {
          message: expect.stringContaining("is not one of the customer's origins"),
          fix: [`npx shoptrail customer set C1 --origin ${shop} --origin ${inner}`],
        },
      ],
    },
  })
  expect(asked).toBe(0)
})

test.each(['http://other.example/', 'http://www.other.example/', 'ftp://localhost/', 'http://['])(
  'a redirect to %s has no command that would allow it',
  async (location) => {
    const shop = await serve((_, response) => response.writeHead(302, { location }).end())
    const result = await createOwnCheck()(checkOf(shop, [shop]))
    expect(result).toMatchObject({
      report: { findings: [{ code: 'page-unreachable', fix: [] }] },
    })
  },
)

test('links of a page are followed only to origins of the customer', async () => {
  const asked: string[] = []
  const other = await serve((request) => asked.push(`other ${request.url}`))
  const shop = await serve((request, response) => {
    asked.push(`${request.url}`)
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<a href="/product/1">1</a><a href="${other}/cart">cart</a>`)
  })
  await createOwnCheck()(checkOf(shop, [shop]))
  expect(asked).toEqual(['/', '/product/1'])
})

test('one check of a customer runs at a time', async () => {
  const waiting: (() => void)[] = []
  let arrived = () => {}
  const first = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const shop = await serve((request, response) => {
    waiting.push(() => html(request, response))
    arrived()
  })
  const check = createOwnCheck()
  const running = check(checkOf(shop, ['loopback']))
  await first
  // One waits for it, and so many that the queue is full.
  const later = Array.from({ length: 12 }, () => check(checkOf(shop, ['loopback'])))
  const refused = later.slice(4)
  for (const one of refused) await expect(one).rejects.toBeInstanceOf(TooMany)
  expect(waiting).toHaveLength(1)
  for (let i = 0; i < 5; i++) {
    while (waiting.length === 0) await new Promise(setImmediate)
    waiting.shift()?.()
  }
  expect((await Promise.all([running, ...later.slice(0, 4)])).every(({ ok }) => ok)).toBe(true)
})

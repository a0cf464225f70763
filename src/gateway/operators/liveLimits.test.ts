import { randomUUID } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../../test/gateway.ts'
import type { Gateway } from '../index.ts'

/** The limits of live views, and views that are open and do not read. */
let prepared: Awaited<ReturnType<typeof prepareGateway>>

beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(() => prepared.end())

/** Customers of a gateway, each signed in. */
async function signIn({ customers, url }: Gateway, count: number) {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const { customer, restKey } = customers.add()
      const { customerId } = customer
      const { headers } = await send(url, '/live/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ customerId, restKey }),
      })
      return { customerId, cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '' }
    }),
  )
}
type Viewer = Awaited<ReturnType<typeof signIn>>[number]

const targetOf = ({ customerId }: Viewer) => `/live/events?customer=${customerId}`
const ask = ({ url }: Gateway, viewer: Viewer, method: 'GET' | 'HEAD') =>
  send(url, targetOf(viewer), { method, headers: { cookie: viewer.cookie } })
const head = (viewer: Viewer) =>
  `GET ${targetOf(viewer)} HTTP/1.1\r\nHost: a\r\nCookie: ${viewer.cookie}\r\n\r\n`

/** An open view. It reads nothing before `read` is called. */
async function open({ url }: Gateway, viewer: Viewer, lastEventId = 0) {
  const { hostname, port } = new URL(url)
  const headers = { cookie: viewer.cookie, 'last-event-id': `${lastEventId}` }
  const request = get({ hostname, port, path: targetOf(viewer), headers, agent: false })
  request.on('error', () => {})
  const response = await new Promise<IncomingMessage>((resolve) => request.on('response', resolve))
  expect(response.statusCode).toBe(200)
  response.on('error', () => {})
  return {
    stop: () => request.destroy(),
    /** Reads `count` events, or to the end. Returns their names and the last position. */
    async read(count = Number.POSITIVE_INFINITY) {
      const names: string[] = []
      let rest = ''
      let last = lastEventId
      const ended = new Promise<void>((resolve) => response.on('close', resolve))
      const enough = new Promise<void>((resolve) => {
        response.on('data', (chunk) => {
          const messages = (rest + chunk).split('\n\n')
          rest = messages.pop() ?? ''
          for (const message of messages) {
            const [, seq, data = ''] = /^event: event\nid: (\d+)\ndata: (.*)$/m.exec(message) ?? []
            if (!seq) continue
            names.push(JSON.parse(data).event)
            last = Number(seq)
          }
          if (names.length >= count) resolve()
        })
      })
      await Promise.race([ended, enough])
      return { names, last }
    },
  }
}

/** Resolves when another view of the customer would be accepted. */
async function untilFree(gateway: Gateway, viewer: Viewer): Promise<void> {
  while ((await ask(gateway, viewer, 'HEAD')).status !== 200)
    await new Promise((resolve) => setTimeout(resolve, 10))
}

test('one customer has ten views at most, and the others have theirs', async () => {
  const gateway = await prepared.start()
  const [shop, other] = (await signIn(gateway, 2)) as [Viewer, Viewer]
  const views = await Promise.all(Array.from({ length: 10 }, () => open(gateway, shop)))
  const refused = await ask(gateway, shop, 'GET')
  expect(refused).toMatchObject({
    status: 429,
    text: '{"message":"Too many live views of this shop are open"}',
  })
  expect(refused.headers['retry-after']).toBe('10')
  expect((await ask(gateway, shop, 'HEAD')).status).toBe(429)
  expect((await ask(gateway, other, 'HEAD')).status).toBe(200)
  ;(await open(gateway, other)).stop()
  views.pop()?.stop()
  await untilFree(gateway, shop)
  views.push(await open(gateway, shop))
  expect((await ask(gateway, shop, 'HEAD')).status).toBe(429)
  for (const view of views) view.stop()
})

test('all customers together have a limit', async () => {
  const gateway = await prepared.start({ live: { maxViews: 3, maxViewsOfCustomer: 2 } })
  const viewers = await signIn(gateway, 4)
  const views = await Promise.all(viewers.slice(1).map((viewer) => open(gateway, viewer)))
  const refused = await ask(gateway, viewers[0] as Viewer, 'GET')
  expect(refused).toMatchObject({
    status: 503,
    text: '{"message":"Too many live views are open"}',
  })
  expect(refused.headers['retry-after']).toBe('10')
  for (const view of views) view.stop()
  await untilFree(gateway, viewers[0] as Viewer)
})

test('a request that ends before its view begins does not count: HEAD, an aborted one, a pipelined one', async () => {
  const gateway = await prepared.start({ live: { maxViewsOfCustomer: 2 } })
  const [shop] = (await signIn(gateway, 1)) as [Viewer]
  for (let i = 0; i < 5; i++) expect((await ask(gateway, shop, 'HEAD')).status).toBe(200)
  for (let i = 0; i < 20; i++) {
    const socket = connect(gateway.port, '127.0.0.1')
    socket.on('error', () => {})
    await new Promise<void>((resolve) => socket.once('connect', resolve))
    // Closed, reset, and two on one connection.
    if (i % 3 === 0) socket.write(head(shop), () => socket.destroy())
    else if (i % 3 === 1) socket.write(head(shop), () => socket.resetAndDestroy())
    else {
      socket.write(head(shop) + head(shop))
      await new Promise<void>((resolve) => socket.once('data', () => resolve()))
      socket.destroy()
    }
  }
  await untilFree(gateway, shop)
  const views = [await open(gateway, shop), await open(gateway, shop)]
  expect((await ask(gateway, shop, 'HEAD')).status).toBe(429)
  for (const view of views) view.stop()
})

test('a view that does not read is closed, and continues after its last event', async () => {
  const gateway = await prepared.start({ live: { maxViewsOfCustomer: 1 }, sendTimeoutMs: 1_000 })
  const [shop] = (await signIn(gateway, 1)) as [Viewer]
  // More than the sockets of both ends hold, a few megabytes each.
  const payload = JSON.stringify({ search_term: 'x'.repeat(15_000) })
  const names = Array.from({ length: 1_500 }, (_, i) => `e${i}`)
  for (let i = 0; i < names.length; i += 100)
    await gateway.log.append(
      names.slice(i, i + 100).map((event) => ({
        customer: shop.customerId,
        id: randomUUID(),
        at: 1,
        receivedAt: 2,
        operation: 'search',
        event,
        did: null,
        bot: false,
        version: null,
        payload,
      })),
    )
  const { after } = await gateway.log.findTail(shop.customerId, names.length - 1)
  const first = await open(gateway, shop, after)
  await untilFree(gateway, shop)
  const before = await first.read()
  expect(before.names.length).toBeLessThan(names.length - 1)
  let { last } = before
  const seen = ['e0', ...before.names]
  // On a busy machine a slow reader may be closed as one that does not read. It connects again, as a browser does.
  while (seen.length < names.length) {
    await untilFree(gateway, shop)
    const view = await open(gateway, shop, last)
    const read = await view.read(names.length - seen.length)
    view.stop()
    last = read.last
    seen.push(...read.names)
  }
  expect(seen).toEqual(names)
})

import { createHmac } from 'node:crypto'
import { safeParse } from 'valibot'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { makeForwardEvent } from '../../test/forwardEvents.ts'
import { type Receiver, startReceiver, status } from '../../test/receiver.ts'
import type { Delivery, ForwardEvent } from './kind.ts'
import { TIMEOUT_MS } from './post.ts'
import { webhook } from './webhook.ts'

/** Secret, id, time, body and signature of the specification's own library. */
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const NEXT_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const NOW = Date.UTC(2026, 10, 29, 12)

let receiver: Receiver

beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(() => receiver.close())

const open = (
  settings: Partial<{ url: string; secret: string }> = {},
  destinationId = 'shop1',
  ownFetch = fetch,
) =>
  webhook.open(
    { url: `${receiver.url}/events`, secret: SECRET, ...settings },
    {
      ...{ destinationId, customer: 'acme', refundStatuses: () => [], folder: '' },
      ...{ fetch: ownFetch, now: () => NOW },
    },
  )

const send = (
  events: readonly ForwardEvent[],
  sender = open(),
  signal = new AbortController().signal,
): Promise<readonly Delivery[]> => sender.send(events, signal)

const events = (count: number): ForwardEvent[] =>
  Array.from({ length: count }, (_, i) => makeForwardEvent(i + 1))

const idsOf = (body: string): string[] =>
  (JSON.parse(body) as { events: { id: string }[] }).events.map(({ id }) => id)

const sign = (secret: string, content: string): string =>
  createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(content)
    .digest('base64')

test('sends a signed batch of the documented shape', async () => {
  const [event] = events(1) as [ForwardEvent]
  expect(await send([event, makeForwardEvent(2, { did: null })])).toEqual([
    { status: 'delivered' },
    { status: 'delivered' },
  ])
  const [{ path, headers, body }] = receiver.received as [(typeof receiver.received)[0]]
  expect(path).toBe('/events')
  expect(headers['content-type']).toBe('application/json')
  expect(JSON.parse(body)).toEqual({
    type: 'events',
    version: 1,
    customer: 'acme',
    events: [
      {
        id: event.id,
        at: event.at,
        receivedAt: event.receivedAt,
        operation: 'viewProduct',
        event: 'view_product',
        did: 'd1',
        payload: event.payload,
      },
      expect.objectContaining({ did: null }),
    ],
  })
  expect(headers['webhook-timestamp']).toBe(`${NOW / 1000}`)
  const content = `${headers['webhook-id']}.${NOW / 1000}.${body}`
  expect(headers['webhook-signature']).toBe(`v1,${sign(SECRET, content)}`)
})

test('signs as the library of the specification does', () => {
  expect(sign(SECRET, 'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}')).toBe(
    'g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  )
})

test('signs with each of several secrets', async () => {
  await send(events(1), open({ secret: `${NEXT_SECRET} ${SECRET}` }))
  const { headers, body } = receiver.received[0] as (typeof receiver.received)[0]
  const content = `${headers['webhook-id']}.${NOW / 1000}.${body}`
  expect(headers['webhook-signature']).toBe(
    `v1,${sign(NEXT_SECRET, content)} v1,${sign(SECRET, content)}`,
  )
})

test('repeats the id of a repeated batch, and no other', async () => {
  await send(events(2))
  await send(events(2))
  await send(events(3))
  await send(events(2), open({}, 'shop2'))
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(ids[1]).toBe(ids[0])
  expect(new Set(ids).size).toBe(3)
  expect(ids[0]).toMatch(/^msg_[\w-]{20,}$/)
})

test('divides a batch that is too large', async () => {
  const large = events(10).map((event) => ({
    ...event,
    payload: { ...event.payload, search_term: 'ă'.repeat(50_000) },
  }))
  expect(await send(large)).toEqual(large.map(() => ({ status: 'delivered' })))
  expect(receiver.received.flatMap(({ body }) => idsOf(body))).toEqual(large.map(({ id }) => id))
  for (const { body } of receiver.received) expect(body.length).toBeLessThan(512 * 1024)
})

test('finds the refused events of a batch by dividing it, in order', async () => {
  const all = events(100)
  const bad = new Set([all[3]?.id, all[98]?.id])
  const delivered: string[] = []
  receiver.answer(({ body }, response) => {
    const ids = idsOf(body)
    const isRefused = ids.some((id) => bad.has(id))
    if (!isRefused) delivered.push(...ids)
    response.writeHead(isRefused ? 422 : 200).end()
  })
  const results = await send(all)
  for (const [i, { id }] of all.entries())
    expect(results[i]).toEqual(
      bad.has(id)
        ? { status: 'refused', reason: 'The receiver refused it (HTTP 422)' }
        : { status: 'delivered' },
    )
  expect(delivered).toEqual(all.map(({ id }) => id).filter((id) => !bad.has(id)))
})

test('sends nothing after a failure', async () => {
  receiver.answer(({ body }, response) => {
    const ids = idsOf(body)
    response
      .writeHead(ids.length > 2 ? 400 : ids.includes(events(3)[2]?.id ?? '') ? 503 : 200)
      .end()
  })
  expect((await send(events(8))).map((result) => result.status)).toEqual([
    'delivered',
    'delivered',
    ...Array(6).fill('failed'),
  ])
})

describe('an answer', () => {
  test.each([
    [200, 'delivered'],
    [202, 'delivered'],
    [301, 'failed'],
    [307, 'failed'],
    [400, 'refused'],
    [401, 'failed'],
    [403, 'failed'],
    [404, 'failed'],
    [405, 'failed'],
    [408, 'failed'],
    [409, 'refused'],
    [410, 'failed'],
    [413, 'refused'],
    [422, 'refused'],
    [425, 'failed'],
    [429, 'failed'],
    [500, 'failed'],
    [503, 'failed'],
    [599, 'failed'],
  ])('%i means %s', async (code, expected) => {
    receiver.answer(status(code, { location: `${receiver.url}/elsewhere` }))
    const [result] = await send(events(1))
    expect(result?.status).toBe(expected)
    expect(receiver.received).toHaveLength(1)
    if (result?.status !== 'delivered') expect(result?.reason).toContain(`HTTP ${code}`)
  })

  test.each([
    ['7', 7_000],
    [new Date(NOW + 90_000).toUTCString(), 90_000],
    [new Date(NOW - 90_000).toUTCString(), 0],
    ['9999999999', 86_400_000],
    ['soon', 0],
  ])('with Retry-After %s asks to wait %i ms', async (header, retryAfterMs) => {
    for (const code of [429, 503]) {
      receiver.answer(status(code, { 'retry-after': header }))
      expect(await send(events(1))).toEqual([
        { status: 'failed', reason: `HTTP ${code}`, retryAfterMs },
      ])
    }
  })

  test('may be huge: only its beginning is read', async () => {
    let sent = 0
    let isClosed = false
    receiver.answer((_request, response) => {
      response.writeHead(200)
      response.on('close', () => {
        isClosed = true
      })
      const more = () => {
        while (!isClosed && response.write(Buffer.alloc(65_536))) sent += 65_536
      }
      response.on('drain', more)
      more()
    })
    expect(await send(events(1))).toEqual([{ status: 'delivered' }])
    await vi.waitFor(() => expect(isClosed).toBe(true), 10_000)
    expect(sent).toBeLessThan(32 * 2 ** 20)
  })
})

describe('without an answer', () => {
  test('a connection that is reset failed', async () => {
    receiver.answer((_request, _response, socket) => socket.resetAndDestroy())
    expect(await send(events(2))).toEqual(
      Array(2).fill({ status: 'failed', reason: 'It could not be reached (ECONNRESET)' }),
    )
  })

  test('a port where nothing listens failed', async () => {
    await receiver.close()
    expect(await send(events(1))).toEqual([
      { status: 'failed', reason: 'It could not be reached (ECONNREFUSED)' },
    ])
    receiver = await startReceiver()
  })

  test('a port that fetch blocks is named as the reason', async () => {
    expect(await send(events(1), open({ url: 'http://127.0.0.1:9/events' }))).toEqual([
      { status: 'failed', reason: 'It could not be reached (fetch blocks this port)' },
    ])
  })

  test('a receiver that hangs is left when the attempt is ended', async () => {
    receiver.answer(() => {})
    const attempt = new AbortController()
    const sent = send(events(1), open(), attempt.signal)
    await receiver.wait(1)
    attempt.abort()
    expect(await sent).toEqual([{ status: 'failed', reason: 'The attempt was ended' }])
    expect(await send(events(1), open(), attempt.signal)).toEqual(await sent)
  })

  test('a receiver that hangs, or drips its head, is left after 15 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      receiver.answer(
        (_request, _response, socket) => void socket.write('HTTP/1.1 200 OK\r\nx-a: '),
      )
      const sent = send(events(1))
      await receiver.wait(1)
      vi.advanceTimersByTime(TIMEOUT_MS)
      expect(await sent).toEqual([
        { status: 'failed', reason: 'It did not answer within 15 seconds' },
      ])
    } finally {
      vi.useRealTimers()
    }
  })

  test('a body that drips or breaks off after the status changes nothing', async () => {
    receiver.answer((_request, response, socket) => {
      response.writeHead(200, { 'content-length': '10' })
      response.write('a', () => socket.resetAndDestroy())
    })
    expect(await send(events(1))).toEqual([{ status: 'delivered' }])
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const sender = open({}, 'shop1', async (...request) => {
        const answer = await fetch(...request)
        // The timer for the body is set after this.
        setImmediate(() => vi.advanceTimersByTime(TIMEOUT_MS))
        return answer
      })
      receiver.answer((_request, response) => {
        response.writeHead(200, { 'content-length': '10' })
        response.write('a')
      })
      expect(await send(events(1), sender)).toEqual([{ status: 'delivered' }])
    } finally {
      vi.useRealTimers()
    }
  })

  test('nor does one that can not be unpacked', async () => {
    receiver.answer((_request, _response, socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\nxxxx', () => socket.end())
    })
    expect(await send(events(1))).toEqual([{ status: 'delivered' }])
  })
})

describe('settings', () => {
  const faultsOf = (value: unknown): string[] =>
    (safeParse(webhook.settings, value).issues ?? []).map(
      ({ path, message }) => `${path?.map(({ key }) => key).join('.') ?? ''}: ${message}`,
    )

  test.each([
    'https://shop.example/events?a=1',
    'http://127.0.0.1:8080/',
    'http://localhost/',
    'http://[::1]:1/',
  ])('take %s', (url) => expect(faultsOf({ url, secret: SECRET })).toEqual([]))

  test.each([
    [
      'http://shop.example/',
      'url: Expected an https address: http is allowed only to this machine',
    ],
    ['http://127.0.0.1.example/', 'url: Expected an https address: http is allowed'],
    ['ftp://shop.example/', 'url: Expected an https address of at most 8192 characters'],
    ['https://', 'url: Expected an https address'],
    ['https://a:b@shop.example/', 'url: Expected an address without a user name'],
    ['https://shop.example/#a', 'url: Expected an address without a fragment'],
    [7, 'url: Expected an https address'],
  ])('refuse the address %s', (url, expected) => {
    const faults = faultsOf({ url, secret: SECRET })
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain(expected)
  })

  test.each([
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'whsec_c2hvcnQ=',
    `whsec_${Buffer.alloc(65).toString('base64')}`,
    `whsec_${'*'.repeat(40)}`,
    '',
    Array(6).fill(SECRET).join(' '),
  ])('refuse the secret %j', (secret) => {
    const faults = faultsOf({ url: 'https://shop.example/', secret })
    expect(faults).toHaveLength(1)
    expect(faults[0]).toMatch(/^secret: Expected whsec_ and the base64/)
    if (secret) expect(faults[0]).not.toContain(secret)
  })

  test('tell every fault at once, and the name that was meant', () => {
    expect(faultsOf({ url: 'https://shop.example/', secrt: SECRET })).toEqual([
      'secret: It is missing',
      'secrt: There is no such setting. Known are url, secret. Did you mean secret?',
    ])
    expect(faultsOf(7)).toEqual([': Expected an object, received number'])
  })
})

test('is described by its origin, since a path can be a password', () => {
  expect(
    webhook.describe({ url: 'https://hooks.example:8443/T0/secret?k=1', secret: SECRET }),
  ).toBe('https://hooks.example:8443')
})

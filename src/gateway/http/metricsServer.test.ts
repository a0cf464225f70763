import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../../test/gateway.ts'
import { MAX_METRICS_CONNECTIONS } from './metricsServer.ts'

const TOKEN = 'a-token-of-24-characters'
let prepared: Awaited<ReturnType<typeof prepareGateway>>
beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(() => prepared.end())

test('without a setting metrics can not be read, not even from this machine', async () => {
  const gateway = await prepared.start()
  expect(gateway.metricsUrl).toBeUndefined()
  const answer = await send(gateway.url, '/metrics')
  expect(answer.status).toBe(404)
  expect(JSON.parse(answer.text)).toHaveProperty('message')
})

test('METRICS_PORT answers only metrics, and only on loopback', async () => {
  const gateway = await prepared.start({ metricsPort: 0, host: '0.0.0.0' })
  const url = gateway.metricsUrl as string
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/)
  const answer = await send(url, '/metrics')
  expect(answer.status).toBe(200)
  expect(answer.headers['content-type']).toContain('text/plain')
  expect(answer.text).toContain('events_total')
  const head = await send(url, '/metrics', { method: 'HEAD' })
  expect([head.status, head.text]).toEqual([200, ''])
  const post = await send(url, '/metrics', { method: 'POST' })
  expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD'])
  expect((await send(url, '/metrics?x=1')).status).toBe(200)
  for (const path of ['/', '/live/', '/t/j/DEMOSHOP', '/metrics/../x']) {
    const { status, text } = await send(url, path)
    expect([status, JSON.parse(text)]).toEqual([404, { message: expect.any(String) }])
  }
  expect((await send(`http://127.0.0.1:${gateway.port}`, '/metrics')).status).toBe(404)
  await gateway.close()
  await expect(send(url, '/metrics')).rejects.toThrow('ECONNREFUSED')
})

test('a page whose name was made to resolve to this machine can not read metrics', async () => {
  const url = (await prepared.start({ metricsPort: 0 })).metricsUrl as string
  const { port } = new URL(url)
  const statusWith = async (host: string) =>
    (await send(url, '/metrics', { headers: { host } })).status
  for (const host of ['evil.example', `evil.example:${port}`, 'localhost.evil.example'])
    expect(await statusWith(host)).toBe(403)
  for (const host of [`localhost:${port}`, `[::1]:${port}`, '127.0.0.1'])
    expect(await statusWith(host)).toBe(200)
})

/** Sends text over a connection of its own; answers all that came until it ended. */
function exchange(url: string, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    // A refused connection may end with a reset. It is closed too.
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
  })
}

test.each([
  ['slow', 'GET /metrics HTTP/1.1\r\n', 408],
  ['malformed', 'nonsense\r\n\r\n', 400],
  ['larger than a head may be', `GET /${'x'.repeat(70_000)} HTTP/1.1\r\n\r\n`, 431],
])(
  'a request to METRICS_PORT that is %s is answered as on the public port',
  async (_, text, status) => {
    const { metricsUrl } = await prepared.start({ metricsPort: 0, requestTimeoutMs: 300 })
    const answer = await exchange(metricsUrl as string, text)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(JSON.parse(answer.split('\r\n\r\n')[1] as string)).toHaveProperty('message')
  },
)

test('METRICS_PORT accepts only a few connections', async () => {
  const { metricsUrl } = await prepared.start({ metricsPort: 0 })
  const url = metricsUrl as string
  const idle = Array.from({ length: 2 * MAX_METRICS_CONNECTIONS }, () =>
    connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {}),
  )
  await Promise.all(idle.map((socket) => once(socket, 'connect')))
  const { text } = await send(url, '/metrics')
  const evicted = /^connections_closed_total\{\w+="idle"\} (\d+)/m.exec(text)?.[1]
  expect(Number(evicted)).toBeGreaterThanOrEqual(MAX_METRICS_CONNECTIONS)
  for (const socket of idle) socket.destroy()
})

test('a metrics port in use fails the start, which closes everything', async () => {
  const first = await prepared.start({ metricsPort: 0 })
  const metricsPort = Number(new URL(first.metricsUrl as string).port)
  await expect(prepared.start({ metricsPort })).rejects.toThrow('EADDRINUSE')
  await first.close()
  expect((await prepared.start({ metricsPort })).metricsUrl).toContain(`:${metricsPort}/`)
})

test('with a token the public port answers metrics too', async () => {
  const gateway = await prepared.start({ metricsToken: TOKEN })
  const ask = (authorization?: string) =>
    send(gateway.url, '/metrics', { headers: authorization ? { authorization } : {} })
  for (const wrong of [
    undefined,
    TOKEN,
    `Basic ${TOKEN}`,
    `Bearer ${TOKEN}x`,
    'Bearer',
    'Bearer  ',
  ]) {
    const { status, headers, text } = await ask(wrong)
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer'])
    expect(text).not.toContain(TOKEN)
  }
  expect((await ask(`Bearer ${TOKEN}`)).text).toContain('events_total')
  expect((await ask(`bearer ${TOKEN}`)).status).toBe(200)
})

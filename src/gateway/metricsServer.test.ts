import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../test/gateway.ts'

const TOKEN = 'a-token-of-24-characters'
let prepared: Awaited<ReturnType<typeof prepareGateway>>
beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(() => prepared.end())

test('without a setting nobody reads metrics, on this machine neither', async () => {
  const gateway = await prepared.start()
  expect(gateway.metricsUrl).toBeUndefined()
  const answer = await send(gateway.url, '/metrics')
  expect(answer.status).toBe(404)
  expect(JSON.parse(answer.text)).toHaveProperty('message')
})

test('a port of its own answers them, bound to loopback, and nothing else', async () => {
  const gateway = await prepared.start({ metricsPort: 0, host: '0.0.0.0' })
  const url = gateway.metricsUrl as string
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/)
  const answer = await send(url, '/metrics')
  expect(answer.status).toBe(200)
  expect(answer.headers['content-type']).toContain('text/plain')
  expect(answer.text).toContain('events_total')
  const head = await send(url, '/metrics', { method: 'HEAD' })
  expect([head.status, head.text]).toEqual([200, ''])
  expect((await send(url, '/metrics', { method: 'POST' })).status).toBe(405)
  for (const path of ['/', '/live/', '/t/j/DEMOSHOP', '/metrics/../x']) {
    const { status, text } = await send(url, path)
    expect([status, JSON.parse(text)]).toEqual([404, { message: expect.any(String) }])
  }
  expect((await send(`http://127.0.0.1:${gateway.port}`, '/metrics')).status).toBe(404)
  await gateway.close()
  await expect(send(url, '/metrics')).rejects.toThrow('ECONNREFUSED')
})

test('a taken metrics port is told at the start, which lets go of everything', async () => {
  const first = await prepared.start({ metricsPort: 0 })
  const metricsPort = Number(new URL(first.metricsUrl as string).port)
  await expect(prepared.start({ metricsPort })).rejects.toThrow('EADDRINUSE')
  await first.close()
  expect((await prepared.start({ metricsPort })).metricsUrl).toContain(`:${metricsPort}/`)
})

test('with a token the public port answers them too', async () => {
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

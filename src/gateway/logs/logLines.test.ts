import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { runCommand } from '../../test/command.ts'
import { type GatewayProcess, layOutGateway, send, startProcess } from '../../test/gateway.ts'

const SECRET = 'ana@shop.example'
const ORIGIN = 'https://log.example'

let folder: string
let gateway: GatewayProcess
let customer: string
let key: string
let restKey: string
beforeAll(async () => {
  folder = layOutGateway()
  const DATA_DIR = `${folder}/data`
  const added = runCommand(['customer', 'add', '--origin', ORIGIN], {
    DATA_DIR,
    PORT: '8787',
  }).stdout
  const fieldOf = (name: string) => new RegExp(`${name} +(\\S+)`).exec(added)?.[1] as string
  customer = fieldOf('customerId')
  key = fieldOf('trackingKey')
  restKey = fieldOf('restKey')
  gateway = await startProcess(folder, {
    LOG_REQUESTS: 'on',
    ADDRESS_EVENTS_PER_SECOND: '1',
    ADDRESS_EVENTS_BURST: '50',
  })
})
afterAll(() => {
  gateway.process.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

const linesOf = (message: string): Record<string, unknown>[] =>
  gateway
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === message)

/** What the log says of a refusal, without the fields of each line. */
const refusals = () =>
  linesOf('Refused').map(({ level, time, pid, hostname, msg, ...fields }) => fields)

const post = (query: string, body: unknown, origin: string = ORIGIN) =>
  send(gateway.url, `/t/r?${query}`, {
    method: 'POST',
    headers: { origin, 'user-agent': 'UA/1', 'x-forwarded-for': '203.0.113.7' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
const EVENT = { did: 'd-1', event: 'view_homepage', url: `${ORIGIN}/${SECRET}?e=${SECRET}` }

test('each refused event has a line with its reason, and no text of the sender', async () => {
  const before = refusals().length
  const wrong = 'x'.repeat(52)
  await post('k=NOSUCHKEY', EVENT)
  await post(`k=${key}`, EVENT, 'https://other.example')
  await post(`k=${key}&api_key=${wrong}`, EVENT)
  await post(`k=${key}`, '{nonsense')
  await post(`k=${key}`, { ...EVENT, event: 'search', search_term: 7 })
  await post(`k=${key}&consent=denied`, EVENT)
  await post(`k=${key}`, EVENT)
  await send(gateway.url, `/api/v1/custom_events?k=${restKey}&u=${customer}`, {
    method: 'POST',
    body: JSON.stringify({ email: SECRET }),
  })
  await vi.waitFor(() => expect(refusals().length - before).toBe(7), { timeout: 10_000 })
  expect(refusals().slice(before)).toEqual([
    { status: 404, reason: 'unknown_key' },
    { customer, status: 403, reason: 'origin' },
    { customer, status: 401, reason: 'wrong_key', path: 'api_key' },
    { customer, status: 400, reason: 'unreadable', call: '/t/r' },
    { customer, status: 422, reason: 'refused', operation: 'search', path: 'search_term' },
    { customer, status: 422, reason: 'no_consent', call: '/t/r' },
    expect.objectContaining({ customer, status: 422, reason: 'refused' }),
  ])
  for (const secret of [SECRET, restKey, wrong, 'NOSUCHKEY', '203.0.113.7', 'other.example'])
    expect(gateway.output()).not.toContain(secret)
})

test('a flood has a few lines and one with the number of the others', async () => {
  const counts = () =>
    linesOf('Further ones were refused, without a line each').reduce(
      (sum, { leftOut }) => sum + Number(leftOut),
      0,
    )
  const lines = () => refusals().filter(({ reason }) => reason === 'address_events').length
  const before = counts() + lines()
  const floods = Array.from({ length: 100 }, () => post(`k=${key}`, EVENT))
  const limited = (await Promise.all(floods)).filter(({ status }) => status === 429).length
  expect(limited).toBeGreaterThan(10)
  await vi.waitFor(() => expect(counts() + lines() - before).toBe(limited), { timeout: 10_000 })
  expect(lines()).toBeLessThan(limited)
})

test('a request has a line without its query and key, if they are asked for', async () => {
  await send(gateway.url, `/t/j/${key}?v=${SECRET}`)
  const line = () => linesOf('Request').find(({ path }) => path === '/t/j/*')
  await vi.waitFor(() => expect(line()).toBeDefined(), { timeout: 10_000 })
  expect(line()).toMatchObject({ method: 'GET', status: 200 })
  expect(line()?.bytes).toBeGreaterThan(200)
  expect(line()?.ms).toBeGreaterThanOrEqual(0)
  expect(gateway.output()).not.toContain(SECRET)
  for (const path of ['/st/t/j', '/T/j']) {
    await send(gateway.url, `${path}/${key}`)
    await vi.waitFor(() =>
      expect(linesOf('Request').at(-1)).toMatchObject({ path: `${path.toLowerCase()}/*` }),
    )
  }
  expect(gateway.output()).not.toContain(key)
  const quiet = await startProcess(folder, { PORT: '0' })
  await send(quiet.url, '/livez')
  await quiet.end('SIGTERM')
  expect(quiet.output()).not.toContain('/livez')
})

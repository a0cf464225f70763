import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { CheckReport, SetupTexts } from '../../contract/setup.ts'
import { type Answer, prepareGateway, send } from '../../test/gateway.ts'
import type { Gateway } from '../index.ts'

/** The data of the set up page, over real sockets, with a real shop. */
let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
/** Cookies of an operator who may see the shop. */
let cookie = ''
const errors: unknown[] = []

/** A shop on this machine. Its pages are held back while `isSlow`. */
const waiting: ServerResponse[] = []
let isSlow = false
let asked = 0
const shop = createServer((_, response) => {
  asked++
  if (isSlow) waiting.push(response)
  else answerPage(response)
})
const answerPage = (response: ServerResponse) =>
  response
    .writeHead(200, { 'content-type': 'text/html' })
    .end(`<!doctype html><script async src="${gateway.url}/t/j/DEMOSHOP"></script>`)
const shopUrl = () => `http://localhost:${(shop.address() as AddressInfo).port}/`

beforeAll(async () => {
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve))
  prepared = await prepareGateway()
  gateway = await prepared.start({ demo: true, onError: (error) => errors.push(error) })
  const { restKey } = gateway.customers.add({
    customerId: 'shop',
    origins: ['https://shop.example', 'loopback'],
  })
  gateway.customers.add({ customerId: 'other' })
  const answer = await post('/live/login', { customerId: 'shop', restKey }, REMOTE)
  cookie = answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
})
afterAll(async () => {
  shop.close()
  await prepared.end()
})

/** An operator on another machine. */
const REMOTE = { host: 't.shop.example' }
const SHOP = 'https://shop.example/'

const post = (target: string, body: unknown, headers: Record<string, string> = {}) =>
  send(gateway.url, target, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
const check = (body: unknown, query = 'customer=shop', headers = {}) =>
  post(`/setup/data/check?${query}`, body, { ...REMOTE, cookie, ...headers })
const snippet = (query: string, headers: Record<string, string> = { cookie }) =>
  send(gateway.url, `/setup/data/snippet?${query}`, { headers: { ...REMOTE, ...headers } })
const checkDemo = (address: string) => post('/setup/data/check?customer=demo', { shop: address })
const jsonOf = <T>({ text }: Answer): T => JSON.parse(text)

test('the texts are those of the customer’s key, at the address that the operator asked for', async () => {
  const answer = await snippet(`customer=shop&shop=${encodeURIComponent(SHOP)}`)
  expect(answer.status).toBe(200)
  expect(answer.headers['cache-control']).toBe('no-store')
  const { trackingKey } = gateway.customers.find('shop') ?? {}
  expect(jsonOf<SetupTexts>(answer)).toMatchObject({
    tag: `<script async src="http://t.shop.example/t/j/${trackingKey}"></script>`,
    origin: { origin: 'https://shop.example', isAllowed: true, command: null },
  })
})

test('for an address that the customer does not allow, there is the command that allows it', async () => {
  const texts = jsonOf<SetupTexts>(await snippet('customer=shop&shop=https://new.example/a'))
  expect(texts.origin.isAllowed).toBe(false)
  expect(texts.origin.command).toContain('customer set shop')
  expect(texts.origin.command).toContain('--origin https://new.example')
})

test('a check reads the shop, and its texts are for the same key', async () => {
  const answer = await checkDemo(shopUrl())
  expect(answer.status).toBe(200)
  const { report, texts } = jsonOf<{ report: CheckReport; texts: SetupTexts }>(answer)
  expect(report.pages[0]).toEqual({ kind: 'home', url: shopUrl(), status: 200 })
  expect(report.findings.map(({ code }) => code)).toContain('tag-ok')
  expect(texts.tag).toContain('/t/j/DEMOSHOP"')
})

test.each([
  ['an origin that the customer does not allow', 'https://elsewhere.example/'],
  ['a port that the customer does not allow', 'https://shop.example:8443/'],
  ['this machine, for an operator elsewhere', 'http://localhost:1/'],
  ['the metadata of a cloud', 'http://169.254.169.254/latest/'],
])('%s is not asked', async (_, address) => {
  const before = asked
  const answer = await check({ shop: address })
  expect(answer.status).toBe(422)
  expect((await check({ shop: shopUrl() })).status).toBe(422)
  expect(asked).toBe(before)
})

test('one check of a customer runs at a time; another waits, and is refused in the end', async () => {
  isSlow = true
  const checks = Array.from({ length: 8 }, () => checkDemo(shopUrl()))
  const first = await Promise.race(checks)
  expect(first.status).toBe(429)
  expect(first.headers['retry-after']).toBe('1')
  // The refusal may come before the shop has been asked.
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  isSlow = false
  for (const response of waiting.splice(0)) answerPage(response)
  const statuses = (await Promise.all(checks)).map(({ status }) => status)
  expect(statuses).toContain(200)
})

test('both need a sign-in for the customer, and are impossible from a form of another page', async () => {
  const query = `shop=${encodeURIComponent(SHOP)}`
  // The demo is open on this machine, and only there.
  for (const customer of ['other', 'demo', 'nobody']) {
    expect((await snippet(`customer=${customer}&${query}`)).status).toBe(403)
    expect((await check({ shop: SHOP }, `customer=${customer}`)).status).toBe(403)
  }
  expect((await snippet(`customer=shop&${query}`, {})).status).toBe(401)
  expect((await check({ shop: SHOP }, 'customer=shop', { cookie: 'shoptrail=no' })).status).toBe(
    401,
  )
  for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
    expect((await check({ shop: SHOP }, 'customer=shop', { 'content-type': type })).status).toBe(
      415,
    )
  expect((await send(gateway.url, '/setup/data/check')).status).toBe(405)
})

test.each([
  ['no address', {}, 422],
  ['an empty address', { shop: '' }, 422],
  ['another scheme', { shop: 'file:///etc/passwd' }, 422],
  ['no text', { shop: ['https://shop.example/'] }, 422],
  ['a long address', { shop: `${SHOP}${'a'.repeat(2_000)}` }, 422],
  ['nothing', 'null', 422],
  ['a broken body', '{"shop":', 400],
  ['a large body', { shop: SHOP, more: 'a'.repeat(5_000) }, 413],
])('%s is refused', async (_, body, status) => {
  expect((await check(body)).status).toBe(status)
})

test('an address that is none has no texts', async () => {
  for (const query of ['', '&shop=', '&shop=shop', '&shop=javascript:alert(1)'])
    expect((await snippet(`customer=shop${query}`)).status).toBe(422)
})

test('no question has caused an error', () => {
  expect(errors).toEqual([])
})

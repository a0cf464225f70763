import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KeySettings } from '../../contract/settings.ts'
import { type Answer, prepareGateway, type Sent, send } from '../../test/gateway.ts'
import type { Gateway } from '../index.ts'
import { type Accepted, makeDidCookie } from './didCookie.ts'

const DID = '11111111-2222-4333-8444-555555555555'
const COOKIE = `track.did=${DID}; Path=/; Max-Age=34560000; Secure; SameSite=Lax`
const SHARED = COOKIE.replace('Path=/', 'Path=/; Domain=shop.example')
const SHOP: Accepted = {
  did: DID,
  origin: 'https://shop.example',
  asked: 'https://shop.example',
  domain: null,
}
const IN_SUBDOMAIN = { origin: 'https://www.shop.example', asked: 'https://www.shop.example' }
const ON: KeySettings = { firstParty: true }
const BOTH: KeySettings = { firstParty: true, cookieDomain: 'auto' }

test.each<[string, KeySettings, Partial<Accepted>, string | undefined]>([
  ['in first-party mode', ON, {}, COOKIE],
  ['by default', {}, {}, undefined],
  ['with only cookieDomain', { cookieDomain: 'auto' }, {}, undefined],
  ['without a did', ON, { did: undefined }, undefined],
  ['a proxy that speaks http to the gateway', ON, { asked: 'http://shop.example' }, COOKIE],
  ['on another port', ON, { asked: 'https://shop.example:8443' }, undefined],
  ['on a subdomain', ON, { asked: 'https://t.shop.example' }, undefined],
  ['on another host', ON, { asked: 'https://gateway.example' }, undefined],
  ['on the machine', ON, { origin: 'http://localhost:1', asked: 'http://localhost:1' }, COOKIE],
  ['an opaque origin', ON, { origin: 'null' }, undefined],
  ['no origin', ON, { origin: null }, undefined],
  ['no origin and no host', ON, { origin: '', asked: '' }, undefined],
  ['another scheme', ON, { origin: 'ftp://shop.example' }, undefined],
  ['a long origin', ON, { origin: `https://${'x'.repeat(300)}` }, undefined],
  ['an adopted did', ON, { did: 'old_visitor.42' }, COOKIE.replace(DID, '=old_visitor.42')],
  ...['short', 'x'.repeat(65), 'a b c d e', 'abcdefgh;', 'abcdefgh\r\nx: y', '=abcdefgh', ''].map(
    (did): [string, KeySettings, Partial<Accepted>, undefined] => [
      `the did ${JSON.stringify(did)}`,
      ON,
      { did },
      undefined,
    ],
  ),
  ['the domain of a subdomain', BOTH, { ...IN_SUBDOMAIN, domain: 'shop.example' }, SHARED],
  ['the host as the domain', BOTH, { domain: 'shop.example' }, SHARED],
  ['no domain', BOTH, IN_SUBDOMAIN, COOKIE],
  ['a domain without the setting', ON, { ...IN_SUBDOMAIN, domain: 'shop.example' }, COOKIE],
  ...[
    'example',
    'other.example',
    'op.example',
    'x.www.shop.example',
    '.shop.example',
    'shop.example.',
    'shop.example; HttpOnly',
    'SHOP.example',
    '',
  ].map((domain): [string, KeySettings, Partial<Accepted>, undefined] => [
    `the domain ${JSON.stringify(domain)}`,
    BOTH,
    { ...IN_SUBDOMAIN, domain },
    undefined,
  ]),
])('the cookie: %s', (_, config, accepted, expected) => {
  expect(makeDidCookie({ config }, { ...SHOP, ...accepted })).toBe(expected)
})

const prepared = await prepareGateway()
let gateway: Gateway
let proxied: Gateway
let restKey: string
beforeAll(async () => {
  gateway = await prepared.start()
  const origins = ['https://shop.example', 'https://www.shop.example']
  const add = (trackingKey: string, config: KeySettings) =>
    gateway.customers.add({ trackingKey, origins, config, ignored: ['127.0.0.9'] })
  restKey = add('FIRSTKEY', BOTH).restKey
  add('PLAINKEY', {})
  add('REQUIRED', { ...ON, consent: 'required' })
  add('COOKLESS', { ...ON, consent: 'cookieless' })
  proxied = await prepared.start({
    trustedProxies: ['127.0.0.1'],
    publicUrl: 'https://gateway.example',
  })
})
afterAll(() => prepared.end())

const PAYLOAD = { did: DID, event: 'view_homepage', url: 'https://shop.example/' }
const HEADERS = { host: 'shop.example', origin: 'https://shop.example', 'user-agent': 'test' }

const one = (query: string, payload: object = PAYLOAD, sent: Sent = {}, url = gateway.url) =>
  send(url, `/t/r?k=${query}`, {
    method: 'POST',
    ...sent,
    headers: { ...HEADERS, ...sent.headers },
    body: JSON.stringify(payload),
  })
const batch = (query: string, payloads: readonly (object | undefined)[], more: object = {}) =>
  send(gateway.url, `/t/batch?k=${query}`, {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify({
      events: payloads.map((payload, i) => ({
        id: `0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e${10 + i}`,
        payload,
        ...more,
      })),
    }),
  })
const cookiesOf = ({ headers }: Answer) => headers['set-cookie']
const OTHER = 'old_visitor.42'

test('an accepted event of a page gets the cookie, and the answer is as open as ever', async () => {
  const answer = await one('FIRSTKEY')
  expect(answer.status).toBe(200)
  expect(cookiesOf(answer)).toEqual([COOKIE])
  expect(answer.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'cache-control': 'no-store',
  })
  expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
})

test('the page names the domain', async () => {
  const headers = { host: 'www.shop.example', origin: 'https://www.shop.example' }
  const answer = await one('FIRSTKEY&domain=shop.example', PAYLOAD, { headers })
  expect(cookiesOf(answer)).toEqual([SHARED])
})

test('a batch gets the did of its last event', async () => {
  const payloads = [PAYLOAD, { ...PAYLOAD, did: OTHER }, undefined]
  expect(cookiesOf(await batch('FIRSTKEY', payloads))).toEqual([COOKIE.replace(DID, `=${OTHER}`)])
  expect(cookiesOf(await batch('FIRSTKEY', [...payloads, {}, PAYLOAD, {}]))).toEqual([COOKIE])
})

test.each<[string, () => Promise<Answer>, number]>([
  ['another key', () => one('PLAINKEY'), 200],
  ['another host', () => one('FIRSTKEY', PAYLOAD, { headers: { host: 't.shop.example' } }), 200],
  ['an invalid event', () => one('FIRSTKEY', { did: DID }), 422],
  ['an unknown key', () => one('NOTHING1'), 404],
  [
    'a page that is not allowed',
    () => one('FIRSTKEY', PAYLOAD, { headers: { origin: 'https://x.example', host: 'x.example' } }),
    403,
  ],
  ['an ignored address', () => one('FIRSTKEY', PAYLOAD, { peer: '127.0.0.9' }), 200],
  ['a server', () => one(`FIRSTKEY&api_key=${restKey}`), 200],
  ['a refused consent', () => one('REQUIRED&consent=denied'), 422],
  ['no consent', () => one('REQUIRED', { ...PAYLOAD, did: undefined }), 422],
  ['a cookieless event', () => one('COOKLESS', { ...PAYLOAD, did: undefined }), 200],
  ['a cookieless event with a did', () => one('COOKLESS&consent=denied'), 200],
  ['a cookieless batch', () => batch('COOKLESS', [PAYLOAD], { consent: 'denied' }), 200],
  ['a question', () => batch('FIRSTKEY', [undefined]), 200],
  ['a batch without a valid event', () => batch('FIRSTKEY', [{}]), 200],
])('no cookie: %s', async (_, ask, status) => {
  const answer = await ask()
  expect(answer.status).toBe(status)
  expect(cookiesOf(answer)).toBeUndefined()
})

test('after consent there is a cookie', async () => {
  for (const key of ['REQUIRED', 'COOKLESS']) expect(cookiesOf(await one(key))).toEqual([COOKIE])
})

test('X-Forwarded-Host counts only from a trusted proxy, and PUBLIC_URL does not count', async () => {
  const headers = { host: '10.0.0.1:8787', 'x-forwarded-host': 'shop.example' }
  expect(cookiesOf(await one('FIRSTKEY', PAYLOAD, { headers }))).toBeUndefined()
  expect(cookiesOf(await one('FIRSTKEY', PAYLOAD, { headers }, proxied.url))).toEqual([COOKIE])
  const other = { headers: { 'x-forwarded-host': 'other.example' } }
  expect(cookiesOf(await one('FIRSTKEY', PAYLOAD, other, proxied.url))).toBeUndefined()
})

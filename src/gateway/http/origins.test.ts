import { expect, test } from 'vitest'
import { allowsOrigin, findShopOrigin, readOrigin } from './origins.ts'

test.each([
  ['https://shop.example', 'https://shop.example'],
  ['HTTPS://Shop.example/', 'https://shop.example'],
  ['https://shop.example:443', 'https://shop.example'],
  ['http://shop.example:8080', 'http://shop.example:8080'],
  ['https://bücher.example', 'https://xn--bcher-kva.example'],
  ['loopback', 'loopback'],
  ['null', 'null'],
  ['https://*.shop.example', 'https://*.shop.example'],
  ['HTTP://*.Shop.Example:8080/', 'http://*.shop.example:8080'],
  ['https://*.shop.example:443', 'https://*.shop.example'],
  ['https://*.bücher.example', 'https://*.xn--bcher-kva.example'],
])('%s is the origin %s', (text, origin) => {
  expect(readOrigin(text)).toEqual({ ok: true, origin })
})

const ORIGIN = 'expected a scheme and a host, such as https://shop.example'
const STAR = 'expected a * only in place of whole subdomains, such as https://*.shop.example'
const DOMAIN =
  'expected a * in front of a whole domain, with two names or more behind it, such as https://*.shop.example'
const NAME = 'expected a name behind the *, since an address has no subdomains'

test.each([
  ['shop.example', ORIGIN],
  ['https://shop.example/path', ORIGIN],
  ['https://shop.example/?a', ORIGIN],
  ['https://me@shop.example', ORIGIN],
  ['https://:me@shop.example', ORIGIN],
  ['ftp://shop.example', ORIGIN],
  ['NULL', ORIGIN],
  ['', ORIGIN],
  ['https://%2a.com', ORIGIN],
  ['https://＊.com', ORIGIN],
  [`https://${'a.'.repeat(200)}example`, ORIGIN],
  ['*', STAR],
  ['https://*', STAR],
  ['https://*.', STAR],
  ['*.shop.example', STAR],
  ['*://a.shop.example', STAR],
  ['https://*shop.example', STAR],
  ['https://shop.*', STAR],
  ['https://a.*.shop.example', STAR],
  ['https://*.*.shop.example', STAR],
  ['https://*.shop.example:*', STAR],
  ['https://*..shop.example', STAR],
  ['https://*.%2A.com', STAR],
  ['https://*.shop.example/a', STAR],
  ['https://*.shop.example/*', STAR],
  ['https://*.me@shop.example', STAR],
  ['https://me@*.shop.example', STAR],
  ['ftp://*.shop.example', STAR],
  ['https://*.com', DOMAIN],
  ['https://*.com.', DOMAIN],
  ['https://*.localhost', DOMAIN],
  ['https://*.shop.example.', DOMAIN],
  ['https://*.127.0.0.1', NAME],
  ['https://*.0x7f.1', NAME],
  ['https://*.[::1]', NAME],
])('%s is not an origin: %s', (text, message) => {
  expect(readOrigin(text)).toEqual({ ok: false, message })
})

const SHOPS = 'https://*.shop.example'
const PORT = 'https://*.shop.example:8443'
const IDN = 'https://*.xn--bcher-kva.example'

test.each([
  ['https://shop.example', 'https://shop.example', true],
  ['https://shop.example', 'https://SHOP.example', false],
  ['https://shop.example', 'https://shop.example.', false],
  ['https://shop.example', 'https://a.shop.example', false],
  ['loopback', 'http://localhost', true],
  ['loopback', 'http://shop.localhost:65535', true],
  ['loopback', 'loopback', false],
  ['loopback', 'null', false],
  ['loopback', 'http://shop.example', false],
  ['loopback', `http://${'a.'.repeat(200)}localhost`, false],
  ['null', 'null', true],
  ['null', 'https://null', false],
  [SHOPS, 'https://a.shop.example', true],
  [SHOPS, 'https://a-1.b_2.c.shop.example', true],
  [SHOPS, 'https://xn--bcher-kva.shop.example', true],
  [SHOPS, 'https://shop.example', false],
  [SHOPS, 'https://.shop.example', false],
  [SHOPS, 'https://*.shop.example', false],
  [SHOPS, 'https://evil-shop.example', false],
  [SHOPS, 'https://evilshop.example', false],
  [SHOPS, 'https://shop.example.evil', false],
  [SHOPS, 'https://a.shop.example.evil', false],
  [SHOPS, 'https://evil/.shop.example', false],
  [SHOPS, 'https://evil#.shop.example', false],
  [SHOPS, 'https://evil?.shop.example', false],
  [SHOPS, 'https://evil\\.shop.example', false],
  [SHOPS, 'https://evil:1.shop.example', false],
  [SHOPS, 'https://evil .shop.example', false],
  [SHOPS, 'https://evil\n.shop.example', false],
  [SHOPS, 'https://me@a.shop.example', false],
  [SHOPS, 'https://a..shop.example', false],
  [SHOPS, 'https://a.shop.example.', false],
  [SHOPS, 'https://a.shop.example/', false],
  [SHOPS, 'https://a.shop.example:444', false],
  [SHOPS, 'https://a.shop.example:443', false],
  [SHOPS, 'http://a.shop.example', false],
  [SHOPS, 'HTTPS://a.shop.example', false],
  [SHOPS, 'https://A.shop.example', false],
  [SHOPS, 'https://bücher.shop.example', false],
  [SHOPS, 'null', false],
  [SHOPS, '', false],
  [SHOPS, `https://${'a.'.repeat(200)}shop.example`, false],
  [PORT, 'https://a.shop.example:8443', true],
  [PORT, 'https://a.shop.example', false],
  [IDN, 'https://a.xn--bcher-kva.example', true],
  [IDN, 'https://a.bücher.example', false],
])('%s allows %s: %s', (entry, origin, isAllowed) => {
  expect(allowsOrigin(['https://other.example', entry], origin)).toBe(isAllowed)
})

test('the shop is the first origin that can be opened', () => {
  expect(findShopOrigin(['loopback', 'null', SHOPS, 'https://b.shop.example'])).toBe(
    'https://b.shop.example',
  )
  expect(findShopOrigin(['loopback'])).toBeUndefined()
})

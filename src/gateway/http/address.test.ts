import { expect, test } from 'vitest'
import { createAddresses, isLocal, networkOf, readAddress } from './address.ts'

const request = (headers: Record<string, string> = {}, url = 'http://t.example/t/r') =>
  new Request(url, { headers })

test.each<[string, readonly string[], string, string | undefined, string]>([
  ['no proxy is trusted', [], '198.51.100.7', '8.8.8.8', '198.51.100.7'],
  ['the peer is not the trusted proxy', ['10.0.0.2'], '10.0.0.3', '8.8.8.8', '10.0.0.3'],
  ['one trusted hop', ['10.0.0.2'], '10.0.0.2', '8.8.8.8, 198.51.100.7', '198.51.100.7'],
  [
    'two trusted hops',
    ['10.0.0.0/8'],
    '10.0.0.2',
    '8.8.8.8, 198.51.100.7, 10.9.9.9',
    '198.51.100.7',
  ],
  ['only trusted ones', ['10.0.0.0/8'], '10.0.0.2', '10.1.1.1, 10.2.2.2', '10.1.1.1'],
  ['no header', ['10.0.0.2'], '10.0.0.2', undefined, '10.0.0.2'],
  ['an empty header', ['10.0.0.2'], '10.0.0.2', '', '10.0.0.2'],
  ['an empty entry', ['10.0.0.2'], '10.0.0.2', '198.51.100.7, ', '198.51.100.7'],
  ['junk', ['10.0.0.2'], '10.0.0.2', '999.1.1.1', '10.0.0.2'],
  ['entries left of an invalid one', ['10.0.0.2'], '10.0.0.2', '8.8.8.8, unknown', '10.0.0.2'],
  ['a port', ['10.0.0.2'], '10.0.0.2', '198.51.100.9:5123', '198.51.100.9'],
  ['IPv6', ['10.0.0.2'], '10.0.0.2', '2001:DB8::7', '2001:db8::7'],
  ['IPv6 with a port', ['10.0.0.2'], '10.0.0.2', '[2001:db8::7]:443', '2001:db8::7'],
  ['IPv4 inside IPv6', ['10.0.0.2'], '::ffff:10.0.0.2', '::ffff:198.51.100.7', '198.51.100.7'],
  ['IPv4 inside IPv6, no proxy', [], '::ffff:198.51.100.7', undefined, '198.51.100.7'],
  [
    'more proxies than are read',
    ['10.0.0.0/8'],
    '10.0.0.2',
    `198.51.100.7${', 10.0.0.3'.repeat(100)}`,
    '10.0.0.3',
  ],
  ['a trusted network of IPv6', ['fd00::/8'], 'fd12::1', '198.51.100.7', '198.51.100.7'],
])('the visitor’s address: %s', (_, trusted, peer, header, expected) => {
  const headers = header === undefined ? {} : { 'x-forwarded-for': header }
  expect(createAddresses(trusted).visitor(request(headers), peer)).toBe(expected)
})

test('other headers do not change the address', () => {
  const headers = { 'x-client-ip': '6.6.6.6', 'x-real-ip': '6.6.6.6', forwarded: 'for=6.6.6.6' }
  expect(createAddresses(['10.0.0.2']).visitor(request(headers), '10.0.0.2')).toBe('10.0.0.2')
})

test('an invalid trusted proxy is refused', () => {
  expect(() => createAddresses(['somewhere'])).toThrow(TypeError)
})

test.each<[string, Record<string, string>, string, string]>([
  ['no headers', {}, '198.51.100.7', 'http://t.example:8787'],
  [
    'a stranger’s headers',
    { 'x-forwarded-proto': 'https' },
    '198.51.100.7',
    'http://t.example:8787',
  ],
  [
    'a trusted proxy’s scheme',
    { 'x-forwarded-proto': 'https' },
    '10.0.0.2',
    'https://t.example:8787',
  ],
  [
    'a trusted proxy’s host',
    { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'public.example' },
    '10.0.0.2',
    'https://public.example',
  ],
  [
    'entries of the client, before those of the proxy',
    { 'x-forwarded-proto': 'http, https', 'x-forwarded-host': 'evil.example, public.example' },
    '10.0.0.2',
    'https://public.example',
  ],
  [
    'an empty last entry',
    { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example, ' },
    '10.0.0.2',
    'https://t.example:8787',
  ],
  [
    'a host that is longer than a name',
    { 'x-forwarded-host': `${'a.'.repeat(150)}example` },
    '10.0.0.2',
    'http://t.example:8787',
  ],
  ['nonsense', { 'x-forwarded-host': 'a b' }, '10.0.0.2', 'http://t.example:8787'],
  // Many proxies forward these headers from the client.
  ...[
    'javascript',
    'file',
    'ftp',
    'wss',
    'blob:https',
    'data',
    'x',
    '//',
    'https://evil.example/?',
  ].map((scheme): [string, Record<string, string>, string, string] => [
    `the scheme ${scheme}`,
    { 'x-forwarded-proto': scheme },
    '10.0.0.2',
    'http://t.example:8787',
  ]),
  ...['user:pass@public.example', 'public.example/path?x#y', 'public.example\\x'].map(
    (host): [string, Record<string, string>, string, string] => [
      `the host ${host}`,
      { 'x-forwarded-host': host },
      '10.0.0.2',
      'http://public.example',
    ],
  ),
])('the gateway’s own address: %s', (_, headers, peer, expected) => {
  const asked = request(headers, 'http://t.example:8787/t/j/ABC123')
  expect(createAddresses(['10.0.0.2']).base(asked, peer)).toBe(expected)
  expect(createAddresses(['10.0.0.2'], 'https://set.example').base(asked, peer)).toBe(
    'https://set.example',
  )
})

test.each(['', 'x', '1', '0x7f.1', '127.1', '1.2.3', '1.2.3.4.5', ':::', '[1.2.3.4', '1.2.3.4:x'])(
  'not an address: %s',
  (text) => {
    expect(readAddress(text)).toBeUndefined()
  },
)

test.each<[string, string, Record<string, string>, boolean]>([
  ['127.0.0.1', 'http://localhost:8787/', {}, true],
  ['::1', 'http://[::1]:8787/', {}, true],
  ['::ffff:127.0.0.1', 'http://127.0.0.1/', {}, true],
  ['127.0.0.1', 'http://shop.localhost/', {}, true],
  ['127.0.0.1', 'http://rebound.example/', {}, false],
  ['127.0.0.1', 'http://localhost.evil.example/', {}, false],
  ['192.168.1.5', 'http://localhost/', {}, false],
  ['127.0.0.1', 'http://localhost/', { 'x-forwarded-for': '1.1.1.1' }, false],
  ['127.0.0.1', 'http://localhost/', { forwarded: 'for=1.1.1.1' }, false],
  ['127.0.0.1', 'http://localhost/', { via: '1.1 proxy' }, false],
])('local: %s %s %j: %s', (peer, url, headers, expected) => {
  expect(isLocal(request(headers, url), peer)).toBe(expected)
})

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', ''],
])('limits count %s by %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

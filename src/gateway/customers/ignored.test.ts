import { expect, test } from 'vitest'
import { createIsIgnored, readIgnored } from './ignored.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:DB8:0:0::7', '2001:db8::7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::ffff:cb00:7107', '203.0.113.7'],
  ['203.0.113.7/24', '203.0.113.0/24'],
  ['203.0.113.7/32', '203.0.113.7/32'],
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['::ffff:203.0.113.7/120', '203.0.113.0/24'],
  ['2001:db8:1:2:3::/48', '2001:db8:1::/48'],
  ['2001:db8::7/128', '2001:db8::7/128'],
])('%s is %s', (text, entry) => {
  expect(readIgnored(text)).toEqual({ ok: true, entry })
})

const ADDRESS =
  'expected an address or a network, such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/48'

test.each([
  ['', ADDRESS],
  ['office.example', ADDRESS],
  ['203.0.113', ADDRESS],
  ['203.0.113.256', ADDRESS],
  ['203.0.113.07', ADDRESS],
  ['0xcb.0.113.7', ADDRESS],
  ['3405803783', ADDRESS],
  ['203.0.113.7:80', ADDRESS],
  ['203.0.113.*', ADDRESS],
  ['203.0.113.7/', ADDRESS],
  ['203.0.113.7/x', ADDRESS],
  ['203.0.113.7/-1', ADDRESS],
  ['203.0.113.7/255.255.255.0', ADDRESS],
  ['203.0.113.1-203.0.113.9', ADDRESS],
  [' 203.0.113.7', ADDRESS],
  ['[2001:db8::7]', ADDRESS],
  ['fe80::1%eth0', ADDRESS],
  ['2001:db8:::7', ADDRESS],
  ['203.0.113.7/33', 'expected a network of /8 to /32'],
  ['0.0.0.0/0', 'expected a network of /8 to /32'],
  ['::ffff:203.0.113.7/24', 'expected a network of /8 to /32'],
  ['2001:db8::/129', 'expected a network of /16 to /128'],
  ['::/0', 'expected a network of /16 to /128'],
])('%s is invalid: %s', (text, message) => {
  expect(readIgnored(text)).toEqual({ ok: false, message })
})

test.each([
  ['203.0.113.7', true],
  ['::ffff:203.0.113.7', true],
  ['203.0.113.8', false],
  ['198.51.100.255', true],
  ['198.51.101.0', false],
  ['2001:db8:1:ffff::1', true],
  ['2001:db8:2::1', false],
  ['unknown', false],
  ['', false],
])('%s is ignored: %s', (address, isIgnored) => {
  const isOne = createIsIgnored(['203.0.113.7', '198.51.100.0/24', '2001:db8:1::/48'])
  expect(isOne(address)).toBe(isIgnored)
  expect(createIsIgnored([])(address)).toBe(false)
})

import { expect, test } from 'vitest'
import { isAddressForm, isLocalAddress, keepAddress } from './keptAddresses.ts'

test.each([
  ['203.0.113.7', '203.0.113.0'],
  ['203.0.113.0', '203.0.113.0'],
  ['255.255.255.255', '255.255.255.0'],
  ['127.0.0.1', '127.0.0.0'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::'],
  ['2001:DB8:1::7', '2001:db8:1::'],
  ['2001:db8::7', '2001:db8::'],
  ['::1', '::'],
  ['fe80::1%eth0', 'fe80::'],
  // IPv4 inside IPv6.
  ['::ffff:203.0.113.7', '203.0.113.0'],
  ['::FFFF:cb00:7107', '203.0.113.0'],
  ['0:0:0:0:0:ffff:cb00:7107', '203.0.113.0'],
  ['64:ff9b::203.0.113.7', '64:ff9b::'],
  ['::203.0.113.7', '203.0.113.0'],
  ['2002:cb00:7107:1::1', '2002:cb00:7100::'],
  // As a proxy writes them.
  ['203.0.113.7:4711', '203.0.113.0'],
  ['[2001:db8:1::7]:4711', '2001:db8:1::'],
  ['[2001:db8:1::7]', '2001:db8:1::'],
  // What is not an address may contain one.
  ['203.0.113.7, 10.0.0.1', '0.0.0.0'],
  [' 203.0.113.7', '0.0.0.0'],
  ['203.0.113.07', '0.0.0.0'],
  ['203.0.113.7/32', '0.0.0.0'],
  ['203.0.113', '0.0.0.0'],
  ['3405803783', '0.0.0.0'],
  ['0xcb007107', '0.0.0.0'],
  ['unknown', '0.0.0.0'],
  ['', '0.0.0.0'],
])('%s is %s when it is short, 0.0.0.0 when it is not kept', (text, short) => {
  expect(keepAddress(text, 'short')).toBe(short)
  expect(keepAddress(short, 'short')).toBe(short)
  expect(keepAddress(text, 'none')).toBe('0.0.0.0')
  expect(keepAddress(text, 'whole')).toBe(text)
})

test.each([
  ['10.1.2.3', true],
  ['172.16.0.1', true],
  ['192.168.1.1', true],
  ['127.0.0.1', true],
  ['169.254.1.1', true],
  ['fd00::1', true],
  ['fe80::1', true],
  ['::1', true],
  ['::ffff:10.1.2.3', true],
  ['203.0.113.7', false],
  ['198.51.100.1', false],
  ['100.64.0.1', false],
  ['2606:4700::1', false],
  ['2002:0a01:0203::1', false],
  ['somewhere', false],
])('%s is local: %s', (address, isLocal) => {
  expect(isLocalAddress(address)).toBe(isLocal)
})

test.each(['Whole', '', 'short ', null, undefined, 0])('%j is no form of an address', (value) => {
  expect(isAddressForm(value)).toBe(false)
})

import { expect, test } from 'vitest'
import { allowsOrigin, readOrigin } from './origins.ts'

test.each([
  ['https://shop.example', 'https://shop.example'],
  ['HTTPS://Shop.Example/', 'https://shop.example'],
  ['https://shop.example:443', 'https://shop.example'],
  ['http://shop.example:8080', 'http://shop.example:8080'],
  ['https://bücher.example', 'https://xn--bcher-kva.example'],
  ['loopback', 'loopback'],
  ['shop.example', undefined],
  ['https://shop.example/path', undefined],
  ['https://shop.example/?a', undefined],
  ['https://me@shop.example', undefined],
  ['https://:me@shop.example', undefined],
  ['https://*.shop.example', undefined],
  ['ftp://shop.example', undefined],
  ['*', undefined],
  ['null', undefined],
  ['', undefined],
])('%s is the origin %s', (text, origin) => {
  expect(readOrigin(text)).toBe(origin)
})

test.each([
  ['http://localhost', true],
  ['http://shop.localhost:65535', true],
  ['http://shop.example', false],
  [`http://${'a.'.repeat(200)}localhost`, false],
])('loopback allows %s: %s', (origin, isAllowed) => {
  expect(allowsOrigin(['loopback'], origin)).toBe(isAllowed)
})

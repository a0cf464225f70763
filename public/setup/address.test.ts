import { expect, test } from 'vitest'
import { hashOf, readAddress, shopOf, withInspector } from './address.ts'

test.each([
  ['shop.example', 'https://shop.example/'],
  [' https://shop.example/de/?a=1#top ', 'https://shop.example/de/?a=1'],
  ['http://localhost:8080/shop/', 'http://localhost:8080/shop/'],
  ['HTTPS://Shop.Example', 'https://shop.example/'],
  ['localhost:8080', 'http://localhost:8080/'],
  ['127.0.0.1:8080/shop', 'http://127.0.0.1:8080/shop'],
  ['[::1]:8080', 'http://[::1]:8080/'],
  ['localhost.example', 'https://localhost.example/'],
  ['https:/shop.example', 'https://shop.example/'],
  ['http:shop.example', 'http://shop.example/'],
  ['//shop.example/de', 'https://shop.example/de'],
  ['bücher.example:8443', 'https://xn--bcher-kva.example:8443/'],
  ['https://ann:secret@shop.example/', 'https://shop.example/'],
  ['', undefined],
  ['  ', undefined],
  ['javascript:alert(1)', undefined],
  ['javascript://shop.example/%0aalert(1)', undefined],
  ['ftp://shop.example', undefined],
  ['two words', undefined],
  [`https://${'a'.repeat(300)}.example/`, undefined],
  [`https://shop.example/${'a'.repeat(2_000)}`, undefined],
])('%j is read as %j', (text, address) => {
  expect(readAddress(text)).toBe(address)
})

test('the address of this page keeps the address of the shop', () => {
  const shop = 'https://shop.example/a?b=c&d=ü'
  expect(shopOf(hashOf(shop))).toBe(new URL(shop).href)
  expect(shopOf('')).toBeUndefined()
  expect(shopOf('#view')).toBeUndefined()
  expect(shopOf('#shop=javascript%3Aalert(1)')).toBeUndefined()
})

test('the inspector is opened by a parameter beside those that are there', () => {
  expect(withInspector('https://shop.example/p?id=12')).toBe(
    'https://shop.example/p?id=12&track_debug=1',
  )
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pagePath, pathOfUrl, shownOrigin } from './pagePath.ts'

test.each([
  ['/', '/'],
  ['', '/'],
  ['/p/12', '/p/12'],
  ['/products/blue-mug-with-a-handle-300-ml.html', '/products/blue-mug-with-a-handle-300-ml.html'],
  ['/c%C4%83ni/alb%C4%83', '/căni/albă'],
  ['/p/12?token=abc#x', '/p/12'],
  ['/cart;jsessionid=0123456789ABCDEF0123', '/cart'],
  ['/account/jane@mail.example', '/account/*'],
  ['/account/jane%40mail.example/edit', '/account/*/edit'],
  ['/account/jane%2540mail.example', '/account/*'],
  ['/order/100200300', '/order/*'],
  ['/order/10-02-003', '/order/*'],
  ['/call/+40 721 234 567', '/call/*'],
  ['/reset/4f9a3b2c1d0e8f7a', '/reset/*'],
  ['/u/7c9f2f4e-1d0b-4a53-9f6e-2f6d3b0c8a11', '/u/*'],
  ['/x/eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9', '/x/*'],
  ['/x/abcdefghijklmnopqrstuvwxyzab', '/x/*'],
  ['/%E4', '/*'],
  ['/a\u202eb/\u0007', '/*/*'],
  ['/a//b/', '/a//b/'],
  ['//evil.example/x', '/evil.example/x'],
])('the path %j is counted as %j', (path, expected) => {
  expect(pagePath(path)).toBe(expected)
})

test('a long path ends with …', () => {
  const shown = pagePath(`/${'part/'.repeat(1_000)}`)
  expect(shown).toMatch(/^\/part\/.*\/…$/)
  expect(shown.length).toBeLessThan(125)
  expect(pagePath(`/${'a-'.repeat(2_000)}`)).toBe('/…')
})

test('anything is a path of bounded length, without an address or a long number', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), (text) => {
      const path = pagePath(text)
      expect(path.length).toBeLessThan(125)
      expect(path).toMatch(/^\//)
      expect(path).not.toMatch(/[@?#\p{C}]|\d{6}/u)
      expect(pagePath(path)).toBe(path)
    }),
  )
})

test.each([
  ['https://shop.example/p/12?x=1', '/p/12'],
  ['https://jane:word@shop.example/p', '/p'],
  ['HTTPS://shop.example', '/'],
  ['javascript:alert(1)', ''],
  ['/p/12', ''],
  [12, ''],
  [`https://shop.example/${'x'.repeat(9_000)}`, ''],
])('the page of the URL %j is %j', (url, expected) => {
  expect(pathOfUrl(url)).toBe(expected)
})

test.each([
  ['https://shop.example', 'https://shop.example'],
  ['http://localhost:3000', 'http://localhost:3000'],
  ['http://[::1]:80', 'http://[::1]:80'],
  ['capacitor://localhost', 'capacitor://localhost'],
  ['null', 'null'],
  ['https://jane@shop.example', ''],
  ['https://shop.example/path', ''],
  ['https://shop.example <script>', ''],
  [`https://${'a'.repeat(200)}.example`, ''],
  ['', ''],
])('the Origin %j is counted as %j', (origin, expected) => {
  expect(shownOrigin(origin)).toBe(expected)
})

import { expect, test } from 'vitest'
import { isExcluded } from './isExcluded.ts'

test.each([
  [['/account'], '/account', true],
  [['/account'], '/account?x=1#y', true],
  [['/account'], '/accounts', false],
  [['/account'], '/account/', false],
  [['/account*'], '/account/orders/7', true],
  [['/account/*'], '/account', false],
  [['/*/checkout'], '/de/checkout', true],
  [['/a', '/b'], '/b', true],
  ['/a,/b', '/b', true],
  [['/a.b(c)'], '/a.b(c)', true],
  [['/a.b'], '/axb', false],
  [['/A'], '/a', false],
  [['/über uns'], '/%C3%BCber%20uns', true],
  [['/%C3%BCber*'], '/%C3%BCber%20uns', true],
  [['/*'], '/%ZZ', true],
  [['/x'], '/%ZZ', false],
  [[], '/', false],
  [undefined, '/', false],
])('%j excludes %s: %s', (paths, path, expected) => {
  expect(isExcluded(paths, `https://shop.example${path}`)).toBe(expected)
})

// @vitest-environment happy-dom

import { expect, test } from 'vitest'
import { printValue } from './printValue.ts'

const circle: { name: string; self?: object } = { name: 'a' }
circle.self = circle

test.each<[string, unknown, string]>([
  ['a text', 'mug', '"mug"'],
  ['nothing', undefined, 'undefined'],
  ['a symbol', Symbol('x'), 'Symbol(x)'],
  ['an empty object', {}, '{}'],
  ['an empty list', [], '[]'],
  [
    'a payload',
    { event: 'search', tags: ['a', 1] },
    '{\n  "event": "search",\n  "tags": [\n    "a",\n    1\n  ]\n}',
  ],
  [
    'an element',
    { at: Object.assign(document.createElement('b'), { id: 'x' }) },
    '{\n  "at": <b id="x">\n}',
  ],
  [
    'a field that is undefined',
    { a: undefined, b: [undefined] },
    '{\n  "b": [\n    undefined\n  ]\n}',
  ],
  ['a function', { call() {} }, '{\n  "call": (a function)\n}'],
  ['a circle', circle, '{\n  "name": "a",\n  "self": (an object around it)\n}'],
  ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{\n  "a": 1\n}'],
])('%s', (_, value, text) => {
  expect(printValue(value)).toBe(text)
})

test('a getter is not called', () => {
  let calls = 0
  const value = {
    get price() {
      return ++calls
    },
  }
  expect(printValue(value)).toBe('{\n  "price": (a getter)\n}')
  expect(calls).toBe(0)
})

test('a proxy that throws is unreadable', () => {
  const value = new Proxy(
    {},
    {
      ownKeys() {
        throw new Error('mine')
      },
    },
  )
  expect(printValue(value)).toBe('(unreadable)')
})

test('long and deep values are cut', () => {
  expect(printValue('x'.repeat(500))).toBe(`"${'x'.repeat(300)}… (500 characters)"`)
  expect(printValue(Array.from({ length: 1_000 }, (_, i) => i))).toContain('… 960 more')
  let deep: object = {}
  for (let i = 0; i < 100; i++) deep = { deep }
  expect(printValue(deep)).toContain('…')
  const wide = (depth: number): object =>
    Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `field${i}`,
        depth ? wide(depth - 1) : 'x'.repeat(300),
      ]),
    )
  expect(printValue(wide(2)).length).toBeLessThan(20_000)
  expect(printValue(window).length).toBeLessThan(20_000)
})

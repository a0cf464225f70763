import { expect, test } from 'vitest'
import { decode } from './vectors.ts'

test.each([
  ['a repetition', { $repeat: ['ab', 3] }, 'ababab'],
  ['a repetition of a token', { $repeat: [{ $concat: ['a', 'b'] }, 2] }, 'abab'],
  ['a concatenation', { $concat: ['<', { $repeat: ['x', 2] }, '>'] }, '<xx>'],
  ['NaN', { $js: 'NaN' }, Number.NaN],
  ['minus zero', { $js: '-0' }, -0],
  ['undefined in a list', [{ $js: 'undefined' }, null], [undefined, null]],
  ['tokens at any depth', { a: [{ b: { $js: 'Infinity' } }] }, { a: [{ b: Infinity }] }],
  ['plain values', { a: [1, 'x', null, true, {}] }, { a: [1, 'x', null, true, {}] }],
])('decodes %s', (_name, given, expected) => {
  expect(decode(given)).toStrictEqual(expected)
})

test('a key __proto__ becomes an own property', () => {
  const decoded = decode(JSON.parse('{"__proto__":{"did":"x"}}'))
  expect(Object.keys(decoded as object)).toEqual(['__proto__'])
})

test.each([
  ['code', { $js: 'process.exit()' }],
  ['a name of a prototype', { $js: 'constructor' }],
  ['an unknown token', { $eval: '1' }],
  ['a repetition of nothing', { $repeat: 'x' }],
])('refuses %s', (_name, given) => {
  expect(() => decode(given)).toThrow('No such token')
})

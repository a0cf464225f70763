import { expect, test } from 'vitest'
import { changesOf, readPatch } from './patch.ts'

test.each([
  ['{"a": 1}', { ok: true, patch: { a: 1 } }],
  ['  ', { ok: true, patch: null }],
  ['[1]', { ok: false, fault: 'Expected an object: { … }' }],
  ['null', { ok: false, fault: 'Expected an object: { … }' }],
  ['7', { ok: false, fault: 'Expected an object: { … }' }],
])('a patch is read from %j', (text, read) => expect(readPatch(text)).toEqual(read))

test('a text that is not JSON is a fault', () =>
  expect(readPatch("{'a': 1}")).toMatchObject({
    ok: false,
    fault: expect.stringMatching(/^This is not JSON: /),
  }))

test('the fields that differ are listed, those of objects by their paths', () =>
  expect(
    changesOf(
      { same: 1, variation: { id: '1', sku: 'a' }, gone: null, list: [1] },
      { same: 1, variation: { id: '1', sku: 'b' }, added: 'x', list: [1, 2] },
    ),
  ).toEqual([
    { name: 'variation.sku', from: '"a"', to: '"b"' },
    { name: 'gone', from: 'null', to: undefined },
    { name: 'list', from: '[1]', to: '[1,2]' },
    { name: 'added', from: undefined, to: '"x"' },
  ]))

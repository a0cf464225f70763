import { expect, test } from 'vitest'
import { readBodyOf } from '../../test/readBody.ts'
import { readJson } from './body.ts'

const MAX_BYTES = 2 ** 20

const read = (body: string) => {
  const request = new Request('http://a.example/', {
    method: 'POST',
    body,
    headers: { 'content-length': `${Buffer.byteLength(body)}` },
  })
  return readJson(request, readBodyOf(request), MAX_BYTES)
}

const PADDING = `"${'x'.repeat(4_096)}"`
/** Lists nested in one another, around a text. */
const nest = (levels: number, inside = '1') => '['.repeat(levels) + inside + ']'.repeat(levels)
const nestObjects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

test.each([
  ['the most levels', nest(64, PADDING)],
  ['the most levels, of objects', `${nestObjects(64)}${' '.repeat(4_096)}`],
  ['many lists side by side', `[${PADDING},${Array(400).fill('[]').join()}]`],
  ['many objects side by side', `[${PADDING},${Array(300).fill('{"a":{}}').join()}]`],
  ['the most values', `[${PADDING},${Array(997).fill('1').join()}]`],
  ['commas in a text', `["${','.repeat(5_000)}"]`],
  ['brackets in a text', `["${'[{'.repeat(5_000)}"]`],
  ['brackets after quotes in a text', `["${'\\"[{'.repeat(5_000)}"]`],
  ['brackets after a text that ends in a backslash', `["\\\\",${PADDING},"${'['.repeat(100)}"]`],
  ['texts between brackets', `[${PADDING},${Array(300).fill('["]","\\\\\\"["]').join()}]`],
  ['a short text that nests deeply', nest(2_000)],
])('%s: read', async (_, body) => {
  expect(await read(body)).toEqual({
    ok: true,
    json: JSON.parse(body),
    bytes: Buffer.byteLength(body),
  })
})

test.each([
  ['one level more', nest(65, PADDING)],
  ['one level more, of objects', `${nestObjects(65)}${' '.repeat(4_096)}`],
  ['one level more, of both', `[${PADDING},${nest(32, nestObjects(32))}]`],
  ['the deepest', nest(MAX_BYTES / 2 - 1)],
  ['lists that are not closed', '['.repeat(MAX_BYTES)],
  ['nesting after a text that ends in a backslash', `["\\\\",${PADDING},${nest(64)}]`],
  ['nesting after many lists', `[${PADDING},${Array(300).fill('[]').join()},${nest(64)}]`],
])('%s: 400 with the reason', async (_, body) => {
  expect(await read(body)).toEqual({
    ok: false,
    status: 400,
    message: 'Expected a body of at most 64 levels of lists and objects',
  })
})

test.each([
  ['a text without an end', `[${PADDING},"${'['.repeat(100)}`],
  ['a quote that is escaped', `["${'x'.repeat(5_000)}\\"`],
  ['only backslashes', `"${'\\'.repeat(10_000)}`],
  ['closed too often', `${']'.repeat(5_000)}${'['.repeat(500)}`],
])('%s: not JSON', async (_, body) => {
  expect(await read(body)).toMatchObject({ status: 400, message: 'The body is not JSON' })
})

test.each([
  ['numbers', `[${PADDING},${Array(999).fill('1').join()}]`],
  [
    'a mebibyte of objects',
    `[${Array(Math.floor(MAX_BYTES / 3) - 1)
      .fill('{}')
      .join()}]`,
  ],
  [
    'a mebibyte of lists',
    `[${Array(Math.floor(MAX_BYTES / 3) - 1)
      .fill('[]')
      .join()}]`,
  ],
  ['keys', `{${Array.from({ length: 20_000 }, (_, i) => `"${i}":0`).join()}}`],
  ['texts with half a surrogate pair', `[${Array(20_000).fill('"\\ud800"').join()}]`],
  ['a text that is not JSON', ','.repeat(5_000)],
])('too many values are refused before they are parsed: %s', async (_, body) => {
  expect(await read(body)).toEqual({
    ok: false,
    status: 413,
    message: 'Expected a body of at most 1000 values',
  })
})

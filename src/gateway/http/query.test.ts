import { expect, test } from 'vitest'
import { readQuery } from './query.ts'

test.each([
  ['/t/r?k=a&id=b', 'k', 'a'],
  ['/t/r?k=a&id=b', 'id', 'b'],
  ['http://shop.example/t/r?id=b%20c+d%26', 'id', 'b c d&'],
  ['/t/r?k=a&k=b', 'k', 'a'],
  ['/t/r?kk=a&k=b', 'k', 'b'],
  ['/t/r?a=k=1&k=b?c=d', 'k', 'b?c=d'],
  ['/t/r?k=', 'k', ''],
  ['/t/r?k=%E4', 'k', '\ufffd'],
  ['/t/r?', 'k', null],
  ['/t/k=a', 'k', null],
  ['/t/r?x=1', 'k', null],
])('%s: %s is %j', (url, name, value) => {
  expect(readQuery(url)(name)).toBe(value)
})

test('parameters that are not read are not decoded', () => {
  const decoded: string[] = []
  const original = globalThis.URLSearchParams
  globalThis.URLSearchParams = class extends original {
    constructor(init?: string) {
      super(init)
      decoded.push(`${init}`)
    }
  } as typeof original
  try {
    expect(readQuery(`/t/r?${'%E4=%E4&'.repeat(2_000)}k=a%20b`)('k')).toBe('a b')
  } finally {
    globalThis.URLSearchParams = original
  }
  expect(decoded).toEqual(['v=a%20b'])
})

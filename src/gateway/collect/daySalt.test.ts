import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { UUID } from '../../contract/index.ts'
import { makeDayDid } from './daySalt.ts'

const SALT = Buffer.alloc(32, 7)

test('it is the HMAC of the parts, with the version and the variant of a UUID 8', () => {
  const did = makeDayDid(SALT, ['shop', '203.0.113.0', 'Firefox'])
  expect(did).toMatch(UUID)
  expect(did).toMatch(/^.{14}8.{4}[89ab]/)
  const hash = createHmac('sha256', SALT).update('["shop","203.0.113.0","Firefox"]').digest('hex')
  const digits = did.replaceAll('-', '')
  const fixed = [12, 16]
  expect([...digits].filter((_, at) => !fixed.includes(at))).toEqual(
    [...hash.slice(0, 32)].filter((_, at) => !fixed.includes(at)),
  )
})

test('equal parts give the same id under one salt, and another one under the next', () => {
  const parts = ['shop', '203.0.113.0', 'Firefox']
  expect(makeDayDid(SALT, parts)).toBe(makeDayDid(Buffer.from(SALT), [...parts]))
  expect(makeDayDid(Buffer.alloc(32, 8), parts)).not.toBe(makeDayDid(SALT, parts))
})

test('every list of parts has an id of its own', () => {
  const lists = [
    ['a', 'b', 'c'],
    ['ab', '', 'c'],
    ['a', 'b,c'],
    ['a,b', 'c'],
    ['a","b', 'c'],
    ['a', 'b', 'c', ''],
    ['a', 'b', 'c\0'],
    ['a', 'b', 'C'],
    ['a', 'b', '\ud800'],
    ['a', 'b', '\ud801'],
    ['a', 'b', '\ufffd'],
    [],
    [''],
  ]
  const ids = lists.map((parts) => makeDayDid(SALT, parts))
  expect(new Set(ids).size).toBe(lists.length)
})

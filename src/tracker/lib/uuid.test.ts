import { expect, test } from 'vitest'
import { UUID } from '../../contract/uuid.ts'
import { uuid4, uuid7 } from './uuid.ts'

/** The ms since 1970 that a version 7 UUID contains. */
const timeOf = (id: string) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

test('version and variant', () => {
  for (let i = 0; i < 200; i++) {
    expect(uuid4()).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    expect(uuid7(Date.now())).toMatch(
      /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
    )
  }
})

test('every other digit is random', () => {
  const ids = Array.from({ length: 400 }, uuid4)
  for (let place = 0; place < 36; place++) {
    const seen = new Set(ids.map((id) => id[place]))
    const possible = { 8: 1, 13: 1, 18: 1, 23: 1, 14: 1, 19: 4 }[place] ?? 16
    expect([place, seen.size]).toEqual([place, possible])
  }
})

test('ids are unique', () => {
  const at = Date.now()
  expect(new Set(Array.from({ length: 20_000 }, uuid4)).size).toBe(20_000)
  expect(new Set(Array.from({ length: 20_000 }, () => uuid7(at))).size).toBe(20_000)
})

test('version 7 sorts by call: within a ms, over time, and while the clock steps back', () => {
  const start = Date.now() + 1_000_000
  const moments = [
    start,
    start,
    start,
    start + 5,
    start - 86_400_000,
    start - 1,
    start + 6,
    start + 9,
  ]
  const ids = moments.map(uuid7)
  expect([...ids].sort()).toEqual(ids)
  expect(timeOf(ids[0] as string)).toBe(start)
  // When the clock has caught up, ids have its time again.
  expect(timeOf(ids[7] as string)).toBe(start + 9)
})

test('a clock long before 2001 or after 4000 makes a UUID too', () => {
  expect(uuid7(0)).toMatch(UUID)
  expect(uuid7(99_999_999_999_999)).toMatch(UUID)
})

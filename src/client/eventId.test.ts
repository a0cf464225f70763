import { expect, test } from 'vitest'
import { UUID } from '../contract/index.ts'
import { createEventId } from './eventId.ts'

test('an id is a UUID of version 7 that contains its time', () => {
  const id = createEventId()(0x0192_3456_789a)
  expect(id).toMatch(UUID)
  expect(id).toMatch(/^01923456-789a-7...-[89ab]/)
})

test('ids sort in the order of the calls, also in one millisecond and if the clock steps back', () => {
  const next = createEventId()
  const at = [
    ...Array<number>(10_000).fill(1_800_000_000_000),
    1_799_999_999_000,
    ...Array<number>(10).fill(1_800_000_000_001),
    1_800_000_060_000,
  ]
  const ids = at.map(next)
  expect(new Set(ids).size).toBe(ids.length)
  expect([...ids].sort()).toEqual(ids)
  for (const id of ids) expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-/)
})

test('two clients do not make the same id', () => {
  expect(createEventId()(1_800_000_000_000)).not.toBe(createEventId()(1_800_000_000_000))
})

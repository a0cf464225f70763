import { expect, test } from 'vitest'
import { decodeExpired, decodeRemoved, encodeRemoved } from './removedMessage.ts'

const EVENT = { seq: 1, id: '0197a5b0-0000-7000-8000-000000000001' }

test('erased events survive their message', () => {
  // A move gives events that were erased before it negative positions.
  const events = [EVENT, { ...EVENT, seq: -1 }]
  expect(decodeRemoved(Buffer.from(encodeRemoved(events)))).toEqual(events)
})

test.each([
  '',
  'null',
  '{}',
  '[1]',
  '[[1, 5]]',
  `[["1", "${EVENT.id}"]]`,
  `[[1.5, "${EVENT.id}"]]`,
])('data that is not that of erased events is refused: %s', (data) => {
  expect(() => decodeRemoved(Buffer.from(data))).toThrow(Error)
})

test.each(['', 'null', '1.5', '-1', '"1"', '[1]'])('a wrong position is refused: %s', (data) => {
  expect(() => decodeExpired(Buffer.from(data))).toThrow(Error)
})

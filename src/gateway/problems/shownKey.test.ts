import { expect, test } from 'vitest'
import { makeRestKey, makeTrackingKey } from '../customers/keys.ts'
import { shownKey } from './shownKey.ts'

test.each([
  ['OLDKEY12', 'OLDKEY12'],
  ['old-key_12', 'old-key_12'],
  ['A'.repeat(15), 'A'.repeat(15)],
  ['A'.repeat(16), 'AAAA…'],
  ['', ''],
  ['jane@mail.example', ''],
  ['a b', ''],
  ['A'.repeat(257), ''],
])('the key %j is counted as %j', (key, expected) => {
  expect(shownKey(key)).toBe(expected)
})

test('a generated tracking key is shown, a REST key is not', () => {
  const [trackingKey, restKey] = [makeTrackingKey(), makeRestKey()]
  expect(shownKey(trackingKey)).toBe(trackingKey)
  expect(shownKey(restKey)).toHaveLength(5)
})

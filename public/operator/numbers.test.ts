import { expect, test } from 'vitest'
import { counted, nameOf } from './numbers.ts'

test.each([
  [0, 'devices'],
  [1, 'device'],
  [2, 'devices'],
])('%i %s', (count, name) => {
  expect(nameOf(count, 'device')).toBe(name)
})

test('a count with its noun', () => {
  expect(counted(1, 'visitor')).toBe('1 visitor')
  expect(counted(1200, 'visitor')).toBe('1,200 visitors')
})

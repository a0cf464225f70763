import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isLongerThan, lengthOf } from './characters.ts'

const pieces = fc.constantFrom('a', 'é', '字', '😀', '\ud800', '\udc00', '\udc00\ud800', '')

test('a code point is one character, and so is an unpaired surrogate', () => {
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), fc.nat(30), (all, max) => {
      const text = all.join('')
      expect(lengthOf(text)).toBe([...text].length)
      expect(isLongerThan(text, max)).toBe([...text].length > max)
    }),
  )
})

test('isLongerThan reads only as much of a text as it needs', () => {
  const read: string[] = []
  const text = {
    length: 1_000_000,
    slice(from: number, to: number) {
      read.push('a'.repeat(to - from))
      return read[0]
    },
  } as unknown as string
  expect(isLongerThan(text, 1_000_000)).toBe(false)
  expect(read).toEqual([])
  expect(isLongerThan(text, 10)).toBe(true)
  expect(read).toEqual(['a'.repeat(22)])
})

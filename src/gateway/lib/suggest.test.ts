import { expect, test } from 'vitest'
import { suggest } from './suggest.ts'

test.each([
  ['customers', ' Did you mean customer?'],
  ['cusotmer', ' Did you mean customer?'],
  ['strat', ' Did you mean start?'],
  ['sta', ' Did you mean start?'],
  ['frobnicate', ''],
  ['', ''],
])('%s: %s', (typed, expected) => {
  expect(suggest(typed, ['start', 'customer'])).toBe(expected)
})

test('a short word is not suggested for a different one', () => {
  expect(suggest('x', ['id', 'yes'])).toBe('')
})

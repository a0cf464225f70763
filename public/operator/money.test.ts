import { expect, test } from 'vitest'
import { money } from './money.ts'

test.each([
  ['1234.50', 'EUR', '€1,234.50'],
  ['-5.00', 'EUR', '-€5.00'],
  ['0.00', 'RON', 'RON\u00a00.00'],
  ['1200', 'JPY', '¥1,200'],
  ['0.125', 'KWD', 'KWD\u00a00.125'],
  // More digits than a double has.
  ['90071992547409.93', 'EUR', '€90,071,992,547,409.93'],
  ['12,50', 'EUR', '12,50 EUR'],
  ['', '', ''],
  ['1.00', 'euros', '1.00 euros'],
])('%s %s is shown as %s', (amount, currency, text) => {
  expect(money(amount, currency)).toBe(text)
})

test('an axis shortens large amounts', () => {
  expect(['0', '950', '1200', '2500000'].map((one) => money(one, 'EUR', true))).toEqual([
    ...['€0', '€950', '€1.2K', '€2.5M'],
  ])
})

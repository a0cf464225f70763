import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readVectors } from '../test/vectors.ts'
import { fractionDigitsOf, isMoney, MAX_MONEY_CHARACTERS, moneyText, readMoney } from './money.ts'

type Input = { readonly value: unknown; readonly digits: number }
type Expected = { readonly text: string; readonly minor: number } | null

const vectors = readVectors<Input, Expected>(new URL('./fixtures/money.json', import.meta.url))

test.each(vectors.map(({ id, kind, input, expected }) => [id, kind, input, expected] as const))(
  '%s: %s',
  (_id, _kind, { value, digits }, expected) => {
    expect(readMoney(value, digits)).toEqual(expected ?? undefined)
  },
)

test.each<unknown>([
  undefined,
  null,
  true,
  1n,
  Symbol('1'),
  [],
  ['1'],
  {},
  { valueOf: () => 1 },
  Object(1),
  () => 1,
])('%s is not an amount', (value) => {
  expect(isMoney(value)).toBe(false)
  expect(readMoney(value, 2)).toBeUndefined()
})

test.each([
  ['EUR', 2],
  ['RON', 2],
  ['RSD', 2],
  ['HUF', 2],
  ['ALL', 2],
  ['IQD', 3],
  ['KWD', 3],
  ['TND', 3],
  ['JPY', 0],
  ['KRW', 0],
  ['CLP', 0],
  ['ISK', 0],
  ['CLF', 4],
  ['constructor', 2],
])('%s has %i fraction digits by ISO 4217', (currency, digits) => {
  expect(fractionDigitsOf(currency)).toBe(digits)
})

test.each([
  [0, 2, '0.00'],
  [-0, 2, '0.00'],
  [5, 2, '0.05'],
  [-5, 2, '-0.05'],
  [123_450, 2, '1234.50'],
  [-7, 0, '-7'],
  [7, 3, '0.007'],
  [12_345, 4, '1.2345'],
  [-(2 ** 53 - 1), 2, '-90071992547409.91'],
  [10n ** 20n + 1n, 2, '1000000000000000000.01'],
  [-(10n ** 20n), 0, '-100000000000000000000'],
] as const)('moneyText of %s with %i digits is %s', (minor, digits, text) => {
  expect(moneyText(minor, digits)).toBe(text)
})

const digitCounts = fc.integer({ min: 0, max: 4 })
const minors = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -1_000_000, max: 1_000_000 }),
  fc.constantFrom(0, 2 ** 53 - 1, 1 - 2 ** 53),
)

test('each amount is read as it was written, with and without commas and zeros', () => {
  fc.assert(
    fc.property(minors, digitCounts, fc.nat(6), fc.boolean(), (minor, digits, zeros, commas) => {
      const text = moneyText(minor, digits)
      const [whole = '', fraction = ''] = text.split('.')
      const grouped = commas ? whole.replace(/\B(?=(\d{3})+$)/g, ',') : whole
      const end = fraction + '0'.repeat(zeros)
      const written = end ? `${grouped}.${end}` : grouped
      const isAmbiguous = digits === 3 && !end && /^-?\d+,\d+$/.test(grouped)
      const expected = isAmbiguous ? undefined : { text, minor: minor || 0 }
      expect(readMoney(written, digits)).toEqual(expected)
    }),
    { numRuns: 2_000 },
  )
})

test('a number is read as the decimal that JSON writes for it, or not at all', () => {
  let read = 0
  fc.assert(
    fc.property(
      fc.oneof(
        fc.double({ noNaN: true }),
        fc.integer({ min: -9_999_999, max: 9_999_999 }).map((cents) => cents / 100),
        fc.maxSafeInteger().map((cents) => cents / 100),
      ),
      (number) => {
        const money = readMoney(number, 2)
        if (!money) return
        read++
        expect(Number(money.text)).toBe(number || 0)
        // No other amount is the same number.
        for (const other of [money.minor - 1, money.minor + 1])
          expect(Number(moneyText(other, 2))).not.toBe(number)
      },
    ),
    { numRuns: 2_000 },
  )
  expect(read).toBeGreaterThan(500)
})

/** By hand, sign after sign: an optional minus, digits in groups, a point and digits; spaces at the ends. */
function isWritten(spaced: string): boolean {
  const text = spaced.replace(/^ +| +$/g, '')
  const unsigned = text.startsWith('-') ? text.slice(1) : text
  const [whole = '', fraction, ...more] = unsigned.split('.')
  const isDigits = (part: string) =>
    part !== '' && [...part].every((sign) => '0123456789'.includes(sign))
  if (more.length || (fraction !== undefined && !isDigits(fraction))) return false
  const [first = '', ...groups] = whole.split(',')
  if (!groups.length) return isDigits(first)
  return (
    isDigits(first) &&
    first.length <= 3 &&
    !first.startsWith('0') &&
    groups.every((group) => isDigits(group) && group.length === 3)
  )
}

test('texts of the signs of amounts: agrees with the reference', () => {
  const seen = new Set<boolean>()
  const signs = fc.constantFrom(...'0123456789', '1', '000', ',', ',', '.', '-', ' ', '+', 'e', '€')
  fc.assert(
    fc.property(fc.array(signs, { maxLength: 9 }), (given) => {
      const text = given.join('')
      seen.add(isWritten(text))
      expect(isMoney(text), text).toBe(isWritten(text))
    }),
    { numRuns: 5_000 },
  )
  expect(seen.size).toBe(2)
})

test('a long text is refused before it is read', () => {
  expect(isMoney('0'.repeat(MAX_MONEY_CHARACTERS))).toBe(true)
  expect(isMoney('0'.repeat(MAX_MONEY_CHARACTERS + 1))).toBe(false)
  expect(isMoney('1,000'.repeat(1_000_000))).toBe(false)
})

/*
 * Amounts of money: a decimal text with the fraction digits of its currency, and the same as an integer of minor units.
 * No arithmetic on fractions happens anywhere, since 0.1 + 0.2 is not 0.3 in a JSON number.
 */

/** An amount as it is stored. */
export type Money = {
  /** All fraction digits of the currency: `1234.50`, `-5.00`, of a currency without any `1234`. */
  readonly text: string
  /** Minor units, such as cents, from -(2^53-1) to 2^53-1. */
  readonly minor: number
}

/** The longest text of an amount, characters. The largest amount with thousands commas and six zeros has 30. */
export const MAX_MONEY_CHARACTERS = 40

/**
 * A number from this many minor units on may be another one than the sender meant: a JSON number keeps 15 digits
 * (DBL_DIG of IEEE 754 binary64).
 */
const INEXACT_MINOR = 10 ** 15

/** The currencies whose number of fraction digits is not 2 (ISO 4217, list one). */
const FRACTION_DIGITS: ReadonlyMap<string, number> = new Map([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'
    .split(' ')
    .map((code) => [code, 0] as const),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3] as const),
  ...'CLF UYW'.split(' ').map((code) => [code, 4] as const),
])

/**
 * The number of fraction digits of a currency by ISO 4217, 0 to 4. Not from `Intl`, which has other numbers for some
 * currencies (0 for HUF, which has 2), and may change them with an update of the runtime.
 *
 * @param currency The code, upper-case: `EUR`.
 */
export const fractionDigitsOf = (currency: string): number => FRACTION_DIGITS.get(currency) ?? 2

/** Sign, whole part without or with thousands commas, fraction. */
const FORM = /^(-?)(\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d+))?$/

/**
 * Reads an amount exactly, or not at all. Accepted are a number, and text with an optional minus, thousands commas in
 * the right places, and a point before the fraction, with or without white space at its ends. Refused are:
 *
 * - a decimal comma (`12,50`), and `1,234` in a currency of three digits, where the comma may be either;
 * - more fraction digits than the currency has, unless they are zeros;
 * - more than 2^53-1 minor units, or 10^15-1 if it is a number, whose digits behind these may be lost;
 * - NaN and infinity; spaces inside, signs of currencies, exponents.
 *
 * @param digits Fraction digits of the currency, 0 to 4.
 */
export function readMoney(value: unknown, digits: number): Money | undefined {
  const [, sign, whole = '', fraction = ''] = match(value) ?? []
  if (!whole) return undefined
  if (digits === 3 && !fraction && /^\d+,\d+$/.test(whole)) return undefined
  if (/[1-9]/.test(fraction.slice(digits))) return undefined
  const units = whole.replaceAll(',', '') + fraction.slice(0, digits).padEnd(digits, '0')
  const minor = Number(units)
  if (!(typeof value === 'number' ? minor < INEXACT_MINOR : Number.isSafeInteger(minor)))
    return undefined
  const signed = sign && minor ? -minor : minor
  return { text: moneyText(signed, digits), minor: signed }
}

/** Whether a value has the form of an amount, in some currency. */
export const isMoney = (value: unknown): value is number | string => !!match(value)

function match(value: unknown): RegExpExecArray | null {
  const text = typeof value === 'number' ? `${value}` : value
  return typeof text === 'string' && text.length <= MAX_MONEY_CHARACTERS
    ? FORM.exec(text.trim())
    : null
}

/**
 * Minor units as the decimal text of an amount.
 *
 * @param minor An integer. Sums of many amounts may need a bigint.
 * @param digits Fraction digits of the currency, 0 to 4.
 */
export function moneyText(minor: number | bigint, digits: number): string {
  const units = `${minor < 0 ? -minor : minor}`.padStart(digits + 1, '0')
  const at = units.length - digits
  return `${minor < 0 ? '-' : ''}${units.slice(0, at)}${digits ? '.' : ''}${units.slice(at)}`
}

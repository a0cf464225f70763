import { type GenericSchema, optional } from 'valibot'
import { isWellFormed } from './characters.ts'
import {
  email,
  isBounded,
  MAX_SHORT_CHARACTERS,
  MAX_TEXT_CHARACTERS,
  rule,
  tagOf,
} from './fields.ts'
import { elementsOf, schemaOf } from './lists.ts'
import { isMoney } from './money.ts'

/*
 * The rules of fields that only a shop's server sends. Forms and queries carry everything as text, and some senders
 * give a number where others give text, so these rules convert (docs/decisions.md, "Orders and subscribers").
 */

/**
 * A quantity as text. A JavaScript number keeps 15 digits, so nine before the point and six after it stay exact. Zeros
 * may follow them.
 */
const QUANTITY = /^\s*\d{1,9}(?:\.\d{1,6}0*)?\s*$/
const MAX_QUANTITY = 999_999_999

/** Text as it is, and a whole number as its digits. Undefined for every other value. */
const asText = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value
  return Number.isSafeInteger(value) ? `${value}` : undefined
}

const isId = (value: unknown): boolean => {
  const text = asText(value)
  return isBounded(text, MAX_SHORT_CHARACTERS) && !!text.trim() && isWellFormed(text)
}

const ID = `text of 1 to ${MAX_SHORT_CHARACTERS} characters, not blank, or a whole number`

/** Text of at most 128 characters that is not blank, or a whole number. Without white space at its ends. */
export const idText = rule<string | number, string>(isId, ID, (value) => `${value}`.trim())

const isEmail = (value: unknown): boolean =>
  isBounded(value) && !email['~run']({ value: value.trim() } as never, {}).issues

/** An e-mail address. White space at its ends is removed. */
export const trimmedEmail = rule<string>(isEmail, 'email', (value) => value.trim())

/**
 * Text of at most 2048 characters, or a number, which becomes text: PHP's JSON_NUMERIC_CHECK makes numbers of texts such
 * as the SKU `12.5`. A whole number above 2^53-1 has lost digits.
 */
const anyText = rule<string | number, string>(
  (value) => isBounded(asText(value)) || (Number.isFinite(value) && !Number.isInteger(value)),
  `text of at most ${MAX_TEXT_CHARACTERS} characters`,
  String,
)

/** An amount in the form that `readMoney` reads. It stays as it was given, since the currency is not known here. */
export const amount = rule<number | string>(isMoney, 'an amount such as 1234.5 or 1,234.50')

/** A quantity, which may have a fraction, such as a weight. Text of a decimal number is converted. */
export const quantity = rule<number | string, number>(
  (value) =>
    typeof value === 'string'
      ? isBounded(value) && QUANTITY.test(value)
      : typeof value === 'number' && value >= 0 && value <= MAX_QUANTITY,
  `a number from 0 to ${MAX_QUANTITY}, with at most 6 decimals if it is text`,
  Number,
)

const isDate = (value: unknown): boolean => {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(value)) return false
  const at = new Date(`${value}T00:00:00Z`)
  return !Number.isNaN(+at) && at.toISOString().startsWith(value)
}

/** The day of a date, also of one that a database gives with its midnight. */
const dayOf = (value: unknown): unknown =>
  isBounded(value) ? value.trim().replace(/ 00:00:00$/, '') : value

/** What MySQL gives for a date that was never set. */
const NO_DAY = '0000-00-00'

/** A date of the calendar, which becomes `YYYY-MM-DD`. The date of zeros is none. */
const date = rule<string, string | undefined>(
  (value) => dayOf(value) === NO_DAY || isDate(dayOf(value)),
  'a date as YYYY-MM-DD',
  (value) => (dayOf(value) === NO_DAY ? undefined : (dayOf(value) as string)),
)

/** Eleven digits of seconds reach to the year 5138. Thirteen are milliseconds, sent by mistake. */
const SECONDS = /^\d{1,11}$/

/** Seconds since 1970, or a date of the calendar. It becomes text. */
const time = rule<string | number, string>(
  (value) => {
    const text = asText(value)?.trim() ?? ''
    return SECONDS.test(text) || isDate(text)
  },
  'seconds since 1970, or a date as YYYY-MM-DD',
  (value) => `${value}`.trim(),
)

/**
 * A field that may be missing, null, blank text, or false, which many functions of PHP return for what there is not:
 * then the payload does not have it. A form has `0` for false, so a `0` that the schema refuses is the same.
 */
const optionalOf = <I, O>(schema: GenericSchema<I, O>) =>
  optional({
    '~run': (...[dataset, config]: Parameters<(typeof schema)['~run']>) => {
      const { value } = dataset
      const none = { typed: true, value: undefined }
      if (isAbsent(value) || value === false) return none
      const checked = schema['~run'](dataset, config)
      return checked.issues && value === '0' ? none : checked
    },
  } as unknown as GenericSchema<I | null | undefined, O | undefined>)

/** Without false, which an attribute may be. */
const isAbsent = (value: unknown): boolean =>
  (value ?? undefined) === undefined || (typeof value === 'string' && !value.trim())

export const optionalEmail = optionalOf(trimmedEmail)
export const optionalText = optionalOf(anyText)
export const optionalAmount = optionalOf(amount)
export const optionalDate = optionalOf(date)
export const optionalTime = optionalOf(time)

/**
 * A list of short texts, or one text in which commas separate them, or one whole number. Blank and repeated ones are
 * left out.
 *
 * @param max The most in a list.
 */
export const optionalTexts = (max: number) =>
  optionalOf(
    schemaOf<string | readonly (string | number)[], string[] | undefined>((value) => {
      const what = `a list of at most ${max} texts, or one text of at most ${MAX_TEXT_CHARACTERS} characters with commas`
      const text = asText(value)
      const given = isBounded(text)
        ? text.split(',').map((one) => ['', one] as const)
        : elementsOf(value, max)
      if (!given || given.length > max) return { issues: [{ path: '', message: what }] }
      const kept = given.filter(([, one]) => !isAbsent(one))
      const wrong = kept.find(([, one]) => !isId(one))
      if (wrong) return { issues: [{ path: wrong[0], message: ID }] }
      const texts = new Set(kept.map(([, one]) => `${one}`.trim()))
      return { value: texts.size ? [...texts] : undefined }
    }),
  )

/** The most attributes of a subscriber. */
export const MAX_ATTRIBUTES = 100

type Attribute = string | number | boolean

const isAttribute = (value: unknown): value is Attribute =>
  isBounded(value) ||
  typeof value === 'boolean' ||
  (typeof value === 'number' && Number.isFinite(value))

/**
 * An object of names that the shop chooses, in the order of the names, so that equal attributes are equal as JSON. Null
 * and blank values are left out. An empty list is an empty object, since PHP encodes one so.
 */
export const optionalAttributes = optionalOf(
  schemaOf<
    { readonly [name: string]: Attribute | null | undefined },
    { [name: string]: Attribute } | undefined
  >((value) => {
    if (elementsOf(value, 0)) return { value: undefined }
    const names = tagOf(value) === 'Object' ? Object.keys(value as object) : undefined
    const isNamed = (name: string) =>
      isBounded(name, MAX_SHORT_CHARACTERS) && !!name.trim() && name !== '__proto__'
    if (!names || names.length > MAX_ATTRIBUTES || !names.every(isNamed))
      return {
        issues: [
          {
            path: '',
            message: `an object of at most ${MAX_ATTRIBUTES} names, each of 1 to ${MAX_SHORT_CHARACTERS} characters, with text, numbers, true or false`,
          },
        ],
      }
    const attributes: { [name: string]: Attribute } = Object.create(null)
    for (const name of names.sort()) {
      const given = (value as { readonly [name: string]: unknown })[name]
      if (isAbsent(given)) continue
      if (!isAttribute(given))
        return {
          issues: [
            {
              path: name,
              message: `text of at most ${MAX_TEXT_CHARACTERS} characters, a number, true or false`,
            },
          ],
        }
      attributes[name] = given
    }
    return { value: Object.keys(attributes).length ? attributes : undefined }
  }),
)

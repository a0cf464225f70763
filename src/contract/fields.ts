import { custom, type GenericSchema, type NullishSchema } from 'valibot'

/**
 * The leaves of every schema: one rule a name, written once for tracker, client and gateway.
 *
 * They are `custom()` checks because valibot's own string, number and e-mail actions cost the visitor
 * about 500 bytes more and refuse everyday addresses (`o'brien@shop.example`).
 */

type Issue = { readonly received: unknown }

/** "Expected …, received …": what was expected and what came, a long value cut at 80 characters. */
export const expected = (what: string) => (issue: Issue) =>
  `Expected ${what}, received ${String(issue.received).slice(0, 80)}`

const isText = (value: unknown): value is string => typeof value === 'string'

/** Code points, not UTF-16 units: an emoji is one character (decisions.md, "Lengths count"). */
export const lengthOf = (text: string): number =>
  text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, '_').length

/** Present, a string, and not only white space. */
export const text = custom<string>(
  (value) => isText(value) && !!value.trim(),
  expected('text that is not blank'),
)

/** A string that may be empty: the names and the phone of setEmail. */
export const anyText = custom<string>(isText, expected('text'))

/**
 * A string, `null` or absent. `null` is left off by `check`, so neither reaches the wire. To types it
 * is valibot's `nullish(anyText)`; one check does the same for the script at 80 bytes less.
 */
export const optionalText = custom(
  (value) => value === null || value === undefined || isText(value),
  expected('text'),
) as GenericSchema as NullishSchema<typeof anyText, undefined>

/** An address of http or https by the WHATWG URL standard, no white space or control character at its ends. */
export const url = custom<string>((value) => {
  if (!isText(value) || /^[\s\p{Cc}]|[\s\p{Cc}]$/u.test(value)) return false
  try {
    return /^https?:$/.test(new URL(value).protocol)
  } catch {
    return false
  }
}, expected('an http or https address'))

/**
 * The one e-mail rule of the project: a dot-atom local part of at most 64 characters, one @, a domain
 * of two labels or more, 254 characters in all, letters of any script. The look-aheads bound the
 * length first, so that no input makes the rest slow.
 */
const ATOM = "[\\p{L}\\p{M}\\p{N}!#$%&'*+/=?^_`{|}~-]+"
const LABEL = '[\\p{L}\\p{N}]([\\p{L}\\p{M}\\p{N}-]*[\\p{L}\\p{M}\\p{N}])?'
const EMAIL = new RegExp(
  `^(?=.{1,254}$)(?=[^@]{1,64}@)${ATOM}(\\.${ATOM})*@(${LABEL}\\.)+${LABEL}$`,
  'u',
)

export const email = custom<string>(
  (value) => isText(value) && EMAIL.test(value),
  expected('an e-mail address'),
)

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0

/** An integer from 1 to 2^53-1, as a number. */
export const count = custom<number>(isCount, expected('a whole number from 1'))

/**
 * product_id of a product line: an integer from 1 to 2^53-1; a string of ASCII digits is converted
 * ("007" is 7). Whatever would change the id on its way ("12.0", "1e3", past 2^53-1) is invalid.
 */
export const lineProductId = converted(
  custom<number | `${number}`>(
    (value) => isCount(isText(value) && /^\d+$/.test(value) ? +value : value),
    expected('a whole number from 1'),
  ),
  Number,
)

/** A leaf that converts what it accepts, for valibot's `pipe` and `transform` (130 bytes of the script). */
export function converted<I, O>(
  leaf: GenericSchema<I>,
  convert: (value: I) => O,
): GenericSchema<I, O> {
  return {
    ...(leaf as GenericSchema as GenericSchema<I, O>),
    '~run'(dataset, config) {
      const checked = leaf['~run'](dataset, config)
      if (!checked.issues) checked.value = convert(checked.value as I) as never
      return checked as never
    },
  }
}

import { type GenericSchema, type NullishSchema, unknown } from 'valibot'

/**
 * The leaves of every schema: one rule a name, written once for tracker, client and gateway.
 */

/** What kind of value came, without showing it: `Array`, `Null`, `String`. */
export const tagOf = (value: unknown): string => ({}).toString.call(value).slice(8, -1)

const isText = (value: unknown): value is string => typeof value === 'string'

/** What came, as a person reads it: `"mug"`, `7`, `undefined`, `Array`; a long one cut at 80 characters. */
const show = (value: unknown): string =>
  isText(value)
    ? `"${value}"`.slice(0, 80)
    : /^[ofs]/.test(typeof value)
      ? tagOf(value)
      : `${value}`

/** "Expected …, received …", for schemas that are not rules. */
export const expected =
  (what: string) =>
  ({ input }: { readonly input: unknown }): string =>
    `Expected ${what}, received ${show(input)}`

/**
 * A rule of our own as a schema: valibot's `unknown`, narrowed. valibot's `custom`, `pipe` and
 * `transform` do the same and cost the script 500 bytes more, mostly for messages that no rule uses,
 * since each has its own words.
 *
 * @param convert What becomes of a value that passes. Default: it stays as it is.
 */
export const rule = <I, O = I>(
  is: (value: unknown) => boolean,
  what: string,
  convert?: (value: I) => O,
): GenericSchema<I, O> =>
  ({
    ...unknown(),
    '~run'(dataset: { value?: unknown; typed?: boolean; issues?: object[] }) {
      const input = dataset.value
      if (is(input)) {
        dataset.typed = true
        if (convert) dataset.value = convert(input as I)
      } else dataset.issues = [{ input, message: expected(what)({ input }) }]
      return dataset
    },
  }) as unknown as GenericSchema<I, O>

/** Code points, not UTF-16 units: an emoji is one character (decisions.md, "Lengths count"). */
export const lengthOf = (text: string): number =>
  text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, '_').length

/** Present, a string, and not only white space. */
export const text = rule<string>(
  (value) => isText(value) && !!value.trim(),
  'text that is not blank',
)

/** A string that may be empty: the names and the phone of setEmail. */
export const anyText = rule<string>(isText, 'text')

/**
 * A string, `null` or absent. `null` is left off by `check`, so neither reaches the wire. To types it
 * is valibot's `nullish(anyText)`; one check does the same for the script at 80 bytes less.
 */
export const optionalText = rule(
  (value) => value === null || value === undefined || isText(value),
  'text',
) as GenericSchema as NullishSchema<typeof anyText, undefined>

/** An address of http or https by the WHATWG URL standard, no white space or control character at its ends. */
export const url = rule<string>((value) => {
  if (!isText(value) || /^[\s\p{Cc}]|[\s\p{Cc}]$/u.test(value)) return false
  try {
    return /^https?:$/.test(new URL(value).protocol)
  } catch {
    return false
  }
}, 'an http or https address')

/**
 * The one e-mail rule of the project: a dot-atom local part of at most 64 characters, one @, a domain
 * of two labels or more, 254 characters in all, letters of any script. The look-aheads bound the
 * length first, so that no input makes the rest slow.
 */
const ATOM = "[\\p{L}\\p{M}\\p{N}!#$%&'*+/=?^_`{|}~-]+"
const LABEL = '[\\p{L}\\p{N}]([\\p{L}\\p{M}\\p{N}-]*[\\p{L}\\p{M}\\p{N}])?'
/** Made when it is first asked: the letters of all scripts take a slow phone 20 ms. */
let pattern: RegExp | undefined

export const email = rule<string>((value) => {
  pattern ??= new RegExp(
    `^(?=.{1,254}$)(?=[^@]{1,64}@)${ATOM}(\\.${ATOM})*@(${LABEL}\\.)+${LABEL}$`,
    'u',
  )
  return isText(value) && pattern.test(value)
}, 'an e-mail address')

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0

/** An integer from 1 to 2^53-1, as a number. */
export const count = rule<number>(isCount, 'a whole number from 1')

/**
 * product_id of a product line: an integer from 1 to 2^53-1; a string of ASCII digits is converted
 * ("007" is 7). Whatever would change the id on its way ("12.0", "1e3", past 2^53-1) is invalid.
 */
export const lineProductId = rule<number | `${number}`, number>(
  (value) => isCount(isText(value) && /^\d+$/.test(value) ? +value : value),
  'a whole number from 1',
  Number,
)

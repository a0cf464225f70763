import { type GenericSchema, type NullishSchema, picklist } from 'valibot'
import { isLongerThan } from './characters.ts'

/*
 * The rules of single fields, for script, client and gateway. Each checks the length of a text first, because anybody
 * can send long ones to the gateway.
 */

/** The longest URL, characters. */
export const MAX_URL_CHARACTERS = 8192
/** The longest host of a URL, characters, as written and in its ASCII form: the limit of DNS (RFC 1035, 2.3.4). */
export const MAX_HOST_CHARACTERS = 253
/** The longest text of most other fields, characters. */
export const MAX_TEXT_CHARACTERS = 2048
/** The longest event name and device id, characters. */
export const MAX_SHORT_CHARACTERS = 128

/** The built-in type of a value: `Object`, `Array`, `Null`, `String`. */
export const tagOf = (value: unknown): string => ({}).toString.call(value).slice(8, -1)

const isText = (value: unknown): value is string => typeof value === 'string'

/**
 * A schema of one rule: only the method that `check` and valibot's objects call. valibot's `custom`, `pipe` and
 * `transform` do the same, but would add 600 bytes to the script, mostly for default messages.
 *
 * @param what The short name of the rule, the issue's message. `describeIssue.ts` has the full text.
 * @param convert Converts a value that passes. Default: the value stays as it is.
 */
/* @__NO_SIDE_EFFECTS__ */
export const rule = <I, O = I>(
  is: (value: unknown) => boolean,
  what: string,
  convert?: (value: I) => O,
): GenericSchema<I, O> =>
  ({
    '~run': ({ value }: { value?: unknown }) =>
      is(value)
        ? { typed: true, value: convert ? convert(value as I) : value }
        : { issues: [{ message: what }] },
  }) as unknown as GenericSchema<I, O>

/** Whether a value is a text of at most `maxCharacters` characters. Default 2048. */
export const isBounded = (value: unknown, maxCharacters = MAX_TEXT_CHARACTERS): value is string =>
  isText(value) && !isLongerThan(value, maxCharacters)

/* @__NO_SIDE_EFFECTS__ */
const textOf = (maxCharacters: number) =>
  rule<string>(
    (value) => isBounded(value, maxCharacters) && !!value.trim(),
    `text 1-${maxCharacters}`,
  )

/** A string of at most 2048 characters that is not blank. */
export const text = textOf(MAX_TEXT_CHARACTERS)

/** A string of at most 128 characters that is not blank: an event name or a device id. Reports group by them. */
export const shortText = textOf(MAX_SHORT_CHARACTERS)

/** A string that may be empty: the names and the phone number of setEmail. */
export const anyText = rule<string>((value) => isBounded(value), 'text')

/** Typed as valibot's `nullish`, which would add 80 bytes to the script. */
type OptionalText = NullishSchema<typeof anyText, undefined>

/** A string, `null` or absent. `check` drops `null`, so it is never sent. */
export const optionalText = rule(
  (value) => isBounded(value ?? ''),
  'text',
) as GenericSchema as OptionalText

/** The first 1024 (MAX_AGENT_CHARACTERS) characters. With the flag `u` no surrogate pair is cut in half. */
const cutAgent = (agent: string) =>
  agent.length <= 1024 ? agent : (agent.match(/^.{0,1024}/su)?.[0] as string)

/** The user agent. A long one is cut, not refused, because nobody chooses it. */
export const agent = rule<string>(
  (value) => isText(value) && !!cutAgent(value).trim(),
  'text that is not blank',
  cutAgent,
)

/** The user agent as a page sends it: some browsers hide it from pages. The gateway cuts it. */
export const optionalAgent = rule(
  (value) => isText(value ?? ''),
  'text',
) as GenericSchema as OptionalText

/** Whether the URL parser accepts a URL (https://url.spec.whatwg.org), with a host of bounded length. */
const canParse = (value: string) => {
  try {
    return new URL(value).hostname.length <= MAX_HOST_CHARACTERS
  } catch {
    return false
  }
}

/** An http or https URL without white space or control characters at its ends. */
export const pageUrl = rule<string>(
  (value) =>
    isBounded(value, MAX_URL_CHARACTERS) &&
    // Two patterns: one with both the flags `i` and `u` takes longer to compile.
    /^https?:/i.test(value) &&
    /[^\s\p{Cc}]$/u.test(value) &&
    canParse(value),
  'url',
)

/** A URL whose host the parser takes as it is: most URLs. */
const PLAIN_HOST = /^https?:\/\/[a-z\d.-]{1,253}(?::\d+)?(?:[/?#]|$)/i
/** Without an object for the result, where the platform can do that (browsers since 2024). */
const canParsePlain = (value: string) =>
  (URL as { canParse?: (url: string) => boolean }).canParse?.(value) ?? canParse(value)
const AT_EDGE = /[\s\p{Cc}]/u

/**
 * The same rule for the gateway, where anybody can send URLs: it measures the host before it calls the parser, which
 * needs quadratic time to convert a long host to ASCII (punycode, RFC 3492). It finds the host as the parser does:
 * after any number of slashes and the last @, without tabs and line breaks, percent-decoded, and without invisible
 * characters such as the soft hyphen.
 */
export const url = rule<string>((value) => {
  if (!isBounded(value, MAX_URL_CHARACTERS)) return false
  if (AT_EDGE.test(value.slice(0, 1) + value.slice(-1))) return false
  if (PLAIN_HOST.test(value)) return canParsePlain(value)
  const [, host] =
    /^https?:[/\\]*(?:[^/\\?#]*@)?([^/\\?#:]*)/i.exec(value.replace(/[\t\n\r]/g, '')) ?? []
  try {
    return (
      isBounded(host && decodeURIComponent(host).replace(/\p{DI}/gu, ''), MAX_HOST_CHARACTERS) &&
      canParse(value)
    )
  } catch {
    return false
  }
}, 'url')

/**
 * An e-mail address: a dot-atom (RFC 5322, 3.2.3) of at most 64 characters, an @, and a domain of at least two labels,
 * at most 254 characters in all, letters of any script. The look-aheads check the lengths first. The rest matches a
 * text in one way only, so it takes linear time.
 */
const EMAIL =
  "^(?=.{1,254}$)(?=[^@]{1,64}@)(?!\\.)(\\.?[\\p{L}\\p{M}\\p{N}!#$%&'*+/=?^_`{|}~-])+@([\\p{L}\\p{N}](-*[\\p{L}\\p{M}\\p{N}])*(\\.(?!$)|$)){2,}$"

/** The pattern is compiled only when it is used: `\p{L}` takes 20 ms on a slow phone. */
export const email = rule<string>(
  (value) => isText(value) && new RegExp(EMAIL, 'u').test(value),
  'email',
)

/* @__NO_SIDE_EFFECTS__ */
export const oneOf = <const T extends readonly (string | number)[]>(options: T) =>
  picklist(options, options.join(' or '))

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0

/** A number: an integer from 1 to 2^53-1. */
export const count = rule<number>(isCount, 'whole number')

/**
 * product_id of a product line: an integer from 1 to 2^53-1. A string of ASCII digits is converted ("007" becomes 7).
 * Strings that a conversion would change ("12.0", "1e3", more than 2^53-1) are invalid.
 */
export const lineProductId = rule<number | `${number}`, number>(
  (value) => isCount(isBounded(value) && /^\d+$/.test(value) ? +value : value),
  'digits',
  Number,
)

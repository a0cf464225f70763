import { type GenericSchema, type NullishSchema, unknown } from 'valibot'
import { isLongerThan } from './characters.ts'

/**
 * The leaves of every schema: one rule a name, written once for tracker, client and gateway. Each bounds
 * the length of a text before it looks at it otherwise, since strangers send to the gateway.
 */

/** The longest address, characters. */
export const MAX_URL_CHARACTERS = 8192
/** The longest host of an address, characters, as it is written and in its ASCII form: that of DNS. */
export const MAX_HOST_CHARACTERS = 253
/** The longest text of every other field, characters. */
export const MAX_TEXT_CHARACTERS = 2048
/** The longest name of an event, and id of a device, characters. */
export const MAX_SHORT_CHARACTERS = 128

/** What kind of value came, without showing it: `Array`, `Null`, `String`. */
export const tagOf = (value: unknown): string => ({}).toString.call(value).slice(8, -1)

const isText = (value: unknown): value is string => typeof value === 'string'

/**
 * A rule of our own as a schema: valibot's `unknown`, narrowed. valibot's `custom`, `pipe` and
 * `transform` do the same and cost the script 500 bytes more, mostly for messages that no rule uses,
 * since each has its own words.
 *
 * @param what The short name of what is expected; `words.ts` has it in full.
 * @param convert What becomes of a value that passes. Default: it stays as it is.
 */
/* @__NO_SIDE_EFFECTS__ */
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
      } else dataset.issues = [{ message: what }]
      return dataset
    },
  }) as unknown as GenericSchema<I, O>

/** Whether a value is a text of at most so many characters. */
export const isBounded = (value: unknown, maxCharacters = MAX_TEXT_CHARACTERS): value is string =>
  isText(value) && !isLongerThan(value, maxCharacters)

/* @__NO_SIDE_EFFECTS__ */
const textOf = (maxCharacters: number) =>
  rule<string>(
    (value) => isBounded(value, maxCharacters) && !!value.trim(),
    `text 1-${maxCharacters}`,
  )

/** Present, a string, and not only white space. */
export const text = textOf(MAX_TEXT_CHARACTERS)

/** The same for what events are counted by: their name, and the id of the device. */
export const shortText = textOf(MAX_SHORT_CHARACTERS)

/** A string that may be empty: the names and the phone of setEmail. */
export const anyText = rule<string>((value) => isBounded(value), 'text')

/** To types it is valibot's `nullish`; one check does the same for the script at 80 bytes less. */
type OptionalText = NullishSchema<typeof anyText, undefined>

/** A string, `null` or absent. `null` is left off by `check`, so neither reaches the wire. */
export const optionalText = rule(
  (value) => isBounded(value ?? ''),
  'text',
) as GenericSchema as OptionalText

/** What is kept of a user agent, characters. */
export const MAX_AGENT_CHARACTERS = 1024
/** So many of its first characters; no half of a surrogate pair ends them. */
const cutAgent = (agent: string) => agent.match(/^.{0,1024}/su)?.[0] as string

/** The user agent. Never refused for its length but cut, since nobody chooses it. */
export const agent = rule<string>(
  (value) => isText(value) && !!cutAgent(value).trim(),
  'text that is not blank',
  cutAgent,
)

/** The same, or `null`, or absent, where a browser keeps it from its pages. The gateway cuts it. */
export const optionalAgent = rule(
  (value) => isText(value ?? ''),
  'text',
) as GenericSchema as OptionalText

/** Whether the platform's parser takes an address (https://url.spec.whatwg.org). */
const isParsed = (value: string) => {
  try {
    return new URL(value).hostname.length <= MAX_HOST_CHARACTERS
  } catch {
    return false
  }
}

/** An address of http or https, no white space or control character at its ends. */
export const pageUrl = rule<string>(
  (value) =>
    isBounded(value, MAX_URL_CHARACTERS) &&
    // Two patterns: one that knows both every script and no case is slow to make.
    /^https?:/i.test(value) &&
    /[^\s\p{Cc}]$/u.test(value) &&
    isParsed(value),
  'url',
)

/**
 * The same where strangers send it: the host is measured before the parser sees it, since its ASCII form
 * (punycode, RFC 3492) takes the square of its length. It is found as the parser finds it: behind any
 * number of slashes and the last @, without tabs and line breaks, which may stand in the scheme too;
 * percent-encoded characters and those that are invisible, such as the soft hyphen, are counted as the
 * parser takes them.
 */
export const url = rule<string>((value) => {
  if (!isBounded(value, MAX_URL_CHARACTERS) || /^[\s\p{Cc}]|[\s\p{Cc}]$/u.test(value)) return false
  const [, host] =
    /^https?:[/\\]*(?:[^/\\?#]*@)?([^/\\?#:]*)/i.exec(value.replace(/[\t\n\r]/g, '')) ?? []
  try {
    return (
      isBounded(host && decodeURIComponent(host).replace(/\p{DI}/gu, ''), MAX_HOST_CHARACTERS) &&
      isParsed(value)
    )
  } catch {
    return false
  }
}, 'url')

/**
 * The one e-mail rule of the project: a dot-atom local part of at most 64 characters, one @, a domain
 * of two labels or more, 254 characters in all, letters of any script. The look-aheads bound the
 * length first; after them a text can be read in one way only, so that none is slow.
 */
const EMAIL =
  "^(?=.{1,254}$)(?=[^@]{1,64}@)(?!\\.)(\\.?[\\p{L}\\p{M}\\p{N}!#$%&'*+/=?^_`{|}~-])+@([\\p{L}\\p{N}](-*[\\p{L}\\p{M}\\p{N}])*(\\.(?!$)|$)){2,}$"

/** Its pattern is made when it is first asked: the letters of all scripts take a slow phone 20 ms. */
export const email = rule<string>(
  (value) => isText(value) && new RegExp(EMAIL, 'u').test(value),
  'email',
)

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0

/** An integer from 1 to 2^53-1, as a number. */
export const count = rule<number>(isCount, 'whole number')

/**
 * product_id of a product line: an integer from 1 to 2^53-1; a string of ASCII digits is converted
 * ("007" is 7). Whatever would change the id on its way ("12.0", "1e3", past 2^53-1) is invalid.
 */
export const lineProductId = rule<number | `${number}`, number>(
  (value) => isCount(isBounded(value) && /^\d+$/.test(value) ? +value : value),
  'digits',
  Number,
)

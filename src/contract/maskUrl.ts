import { isLongerThan } from './characters.ts'
import { MAX_URL_CHARACTERS } from './fields.ts'

/*
 * Secrets and e-mail addresses in URLs. The script masks them before an event leaves the page, and the gateway masks
 * them again, because anybody can send events.
 */

/**
 * Names of parameters whose values are secrets or e-mail addresses. Short words must be the whole name (`code`, not
 * `discount_code`), distinctive ones may be part of it (`access_token`, `user[email]`).
 */
const SECRET =
  /^(access|auth|code|hash|jwt|key|otp|pass|pin|pwd|sid|sig|ticket)$|api_?key|(access|auth|login|order|otp|reset)_?(code|key)|authori[sz]|bearer|credential|e-?mail|passw(or)?d|secret|sess(ion|id)|signature|token/i

/** A parameter that is percent-encoded this often is masked without looking into it. */
const MAX_TIMES = 5

/** The set of names in a list separated by commas, also as they are after encoding and `unescape`. */
export const namesToMask = (names: string): ReadonlySet<string> =>
  new Set(`${names},${unescape(encodeURI(names))}`.split(','))

/**
 * Removes user and password from a URL, and replaces the values of query and fragment parameters by `***` if they are
 * secrets or e-mail addresses: by the parameter's name, by an @, or because the decoded parameter contains such a
 * parameter (a URL as a value).
 *
 * Decodes with `unescape`, which every browser has (ECMAScript, annex B). Unlike `decodeURIComponent` it does not throw
 * at a stray %, which would hide the rest of the URL. It decodes non-ASCII text wrongly, but the result is only
 * searched and not used.
 *
 * @param more Further names of parameters to mask.
 * @param times How often the URL was decoded already, plus one. Default 1.
 */
export const maskUrl = (url: string, more: ReadonlySet<string>, times = 1): string =>
  url.replace(
    // Separators in a row are one match, since each match costs a call. A ? ends every name, so that the time is
    // linear. It ends a value if a name follows: ?next=/a?token=b.
    /^(\w+:[/\\]*)[^/\\?#]*@|([?&#;]+(?:([^=&#;?]+)=)?)(?:[^&#;?]|\?(?![^=&#;?]+=))*/g,
    (whole, scheme, start, name) => {
      const plain = unescape(whole)
      return (
        scheme ??
        (SECRET.test(name) ||
        more.has(name) ||
        /@/.test(whole) ||
        (plain !== whole && (times === MAX_TIMES || maskUrl(plain, more, times + 1) !== plain))
          ? `${start}***`
          : whole)
      )
    },
  )

/** Removes the fragment of a URL that is too long, then its query. */
export const shortenUrl = (url: string): string => {
  for (const mark of '#?')
    if (isLongerThan(url, MAX_URL_CHARACTERS)) [url = ''] = url.split(mark, 1)
  return url
}

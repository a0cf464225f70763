/**
 * Names of query and fragment parameters whose values are secrets or e-mail addresses: the short words
 * alone (`code`, but not `discount_code`), the telling ones anywhere (`access_token`, `user[email]`).
 */
const SECRET =
  /^(access|auth|code|hash|jwt|key|otp|pass|pin|pwd|sid|sig|ticket)$|api_?key|(access|auth|login|order|otp|reset)_?(code|key)|authori[sz]|bearer|credential|e-?mail|passw(or)?d|secret|sess(ion|id)|signature|token/i

/** A parameter encoded as often as this is masked unread. */
const MAX_TIMES = 5

/** Names of parameters, separated by commas, as they may stand in an address once `unescape` has read it. */
export const namesToMask = (names: string): ReadonlySet<string> =>
  new Set(`${names},${unescape(encodeURI(names))}`.split(','))

/**
 * An address without what must not leave the page: user and password, and in its query and fragment
 * the values of parameters that carry secrets or e-mail addresses: by name, by an @, or because the
 * decoded parameter carries some (an address that is itself a value). Such a value becomes `***`.
 *
 * Decoded by `unescape`, which every browser has (ECMAScript, annex B) and which throws at no stray %: one must
 * not hide the rest, and thousands of exceptions take milliseconds. It reads bytes, so what is not ASCII
 * comes out wrong, but nothing of it is shown.
 *
 * @param more Further names of parameters to mask.
 * @param times How often the address was decoded already. Default: never.
 */
export const maskUrl = (url: string, more: ReadonlySet<string>, times = 1): string =>
  url.replace(
    // Each ? ends a name, so that the time is linear, and a value where a name follows: ?next=/a?token=b.
    /^(\w+:[/\\]*)[^/\\?#]*@|([?&#;](?:([^=&#;?]+)=)?)(?:[^&#;?]|\?(?![^=&#;?]+=))*/g,
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

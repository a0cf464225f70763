import { attempt } from './attempt.ts'

/**
 * Names of query and fragment parameters whose values are secrets or e-mail addresses: the short words
 * alone (`code`, but not `discount_code`), the telling ones anywhere (`access_token`, `user[email]`).
 */
const SECRET =
  /^(access|auth|code|hash|jwt|key|otp|pass|pin|pwd|sid|sig|ticket)$|api_?key|(access|auth|login|order|otp|reset)_?(code|key)|authori[sz]|bearer|credential|e-?mail|passw(or)?d|secret|sess(ion|id)|signature|token/i

/** Where a stray % stands in it, so much as can be: it must not hide the rest. */
const decode = (text: string): string =>
  attempt(() => decodeURIComponent(text)) ?? text.replace(/%[0-7][\da-f]/gi, decodeURIComponent)

/**
 * An address without what must not leave the page: user and password, and in its query and fragment
 * the values of parameters that carry secrets or e-mail addresses (by name, by an @ in the value, or
 * inside an address that is itself a value). Such a value becomes `***`.
 *
 * @param more Further names of parameters to mask. Default none.
 */
export const maskUrl = (url: string, more: readonly string[] = []): string =>
  url
    .replace(/^(\w+:\/\/)[^/?#]*@/, '$1')
    // Each ? ends a name, so that the time is linear, and a value where a name follows: ?next=/a?token=b.
    .replace(
      /([?&#;]([^=&#;?]+)=)([^&#;?]*(\?(?![^=&#;?]+=)[^&#;?]*)*)/g,
      (whole, start, name, value) => {
        const plain = decode(value)
        return SECRET.test(decode(name)) ||
          more.includes(decode(name)) ||
          /@|%40/.test(plain) ||
          (plain !== value && maskUrl(plain, more) !== plain)
          ? `${start}***`
          : whole
      },
    )
    // And what has no name but is an address.
    .replace(/([?&#;])[^=&#;?]*(@|%40)[^=&#;?]*(?=[&#;?]|$)/g, '$1***')

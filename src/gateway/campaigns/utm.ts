import { toUSVString } from 'node:util'
import type { Campaign } from '../../contract/index.ts'

/** The utm values of an address. They are compared as they are: case-sensitive, not trimmed. */
export type Utm = Campaign['tracking']

/**
 * The longest address that is read, UTF-16 units: 8,192 characters, the limit of the contract, of at most two units
 * each. Earlier versions have stored longer ones.
 */
const MAX_URL_LENGTH = 16_384

/**
 * The utm values of an address. Undefined if it has none, or is longer than the contract allows.
 *
 * Only the query counts, and the first value of a repeated parameter, like `URLSearchParams.get` (`+` is a space, `%2B`
 * a plus). A missing value is empty. An address with only some of the three is a visit too, but of a campaign that this
 * gateway does not know.
 *
 * @param url A valid address of http or https. Its host is not parsed again: the time for that grows with the square of
 *   its length (punycode, RFC 3492).
 */
export function utmOf(url: unknown): Utm | undefined {
  if (typeof url !== 'string' || url.length > MAX_URL_LENGTH) return undefined
  const search = searchOf(url)
  if (!search) return undefined
  const query = new URLSearchParams(search)
  const utm = {
    utm_campaign: query.get('utm_campaign') ?? '',
    utm_medium: query.get('utm_medium') ?? '',
    utm_source: query.get('utm_source') ?? '',
  }
  return utm.utm_campaign || utm.utm_medium || utm.utm_source ? utm : undefined
}

/**
 * The query with its `?`, as the parser of the URL standard finds it: it removes tabs and line breaks first, and the
 * fragment starts at the first `#`. (https://url.spec.whatwg.org/#url-parsing)
 */
function searchOf(url: string): string | undefined {
  // Most addresses have no query.
  if (!url.includes('?')) return undefined
  const search = /^https?:[^?#]*(\?[^#]*)/i.exec(url.replace(/[\t\n\r]/g, ''))?.[1]
  // Encoded as the parser does it. URLSearchParams of node decodes other characters wrongly after an invalid `%`.
  return search?.replace(/[^\x21-\x7e]+/g, (text) => encodeURIComponent(toUSVString(text)))
}

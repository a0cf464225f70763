import { toUSVString } from 'node:util'
import type { Campaign } from '../../contract/index.ts'

/** The utm values of an address, as they are compared: exact case, nothing trimmed. */
export type Utm = Campaign['tracking']

/**
 * The longest address that is read, UTF-16 units: the contract's 8,192 characters, each of two units at most.
 * The log may hold longer ones, stored before the contract had a bound.
 */
const MAX_URL_LENGTH = 16_384

/**
 * What an address says about the campaign that it was reached from; undefined where it says nothing, and
 * where it is longer than the contract allows.
 *
 * Only the query counts, and of a repeated parameter the first value, as `URLSearchParams.get` has it
 * (`+` is a space, `%2B` a plus). A value that is missing is empty: an address with some of the three is
 * a visit too, from a campaign that this gateway does not know.
 *
 * @param url A valid address of http or https. Its host is not read again: parsing one takes the square of
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
 * The query with its `?`, where the URL standard's parser finds it: it drops tabs and line breaks first, and
 * everything from the first `#` on is the fragment. (https://url.spec.whatwg.org/#url-parsing)
 */
function searchOf(url: string): string | undefined {
  // Most addresses end here.
  if (!url.includes('?')) return undefined
  const search = /^https?:[^?#]*(\?[^#]*)/i.exec(url.replace(/[\t\n\r]/g, ''))?.[1]
  // As the parser writes it: node's URLSearchParams decodes other characters wrongly beside a stray `%`.
  return search?.replace(/[^\x21-\x7e]+/g, (text) => encodeURIComponent(toUSVString(text)))
}

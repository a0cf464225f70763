import type { Campaign } from '../contract/index.ts'

/** The utm values of an address, as they are compared: exact case, nothing trimmed. */
export type Utm = Campaign['tracking']

/**
 * What an address says about the campaign that it was reached from; undefined where it says nothing.
 *
 * Only the query counts, and of a repeated parameter the first value, as `URLSearchParams.get` has it
 * (`+` is a space, `%2B` a plus). A value that is missing is empty: an address with some of the three is
 * a visit too, from a campaign that this gateway does not know.
 */
export function utmOf(url: unknown): Utm | undefined {
  // Most addresses end here: to parse one costs more than all the rest of this.
  if (typeof url !== 'string' || !url.includes('?') || !URL.canParse(url)) return undefined
  const query = new URL(url).searchParams
  const utm = {
    utm_campaign: query.get('utm_campaign') ?? '',
    utm_medium: query.get('utm_medium') ?? '',
    utm_source: query.get('utm_source') ?? '',
  }
  return utm.utm_campaign || utm.utm_medium || utm.utm_source ? utm : undefined
}

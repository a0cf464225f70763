import { UUID } from '../../contract/index.ts'
import type { Customer } from '../customers/customers.ts'
import { MAX_HOST_LENGTH } from '../http/origins.ts'

/** 400 days, the longest that browsers keep a cookie (https://developer.chrome.com/blog/cookie-max-age-expires). */
const MAX_AGE_SECONDS = 34_560_000

/** A request with an event that was accepted. */
export type Accepted = {
  /** The did of the event. Undefined if it has none of the page: without consent, or if a server sent it. */
  readonly did: string | undefined
  /** The header Origin. */
  readonly origin: string | null
  /** The address of the gateway as the visitor asked for it, such as `https://shop.example`. */
  readonly asked: string
  /** The domain that the page has found for `cookieDomain`. */
  readonly domain: string | null
}

/**
 * The header Set-Cookie with which the gateway keeps a device id in first-party mode. A script can read the cookie, since
 * it needs the id.
 *
 * @returns undefined if there must be no cookie: the key is not in first-party mode, the page is of another host than
 * the one it asks, or the id has other characters than the script's.
 */
export function makeDidCookie(
  { config }: Pick<Customer, 'config'>,
  { did, origin, asked, domain }: Accepted,
): string | undefined {
  if (!config.firstParty || did === undefined) return undefined
  const host = hostOf(asked)
  if (!host || hostOf(origin ?? '') !== host) return undefined
  // docs/decisions.md, "Adopted device ids".
  const value = UUID.test(did) ? did : /^[\w.-]{8,64}$/.test(did) && `=${did}`
  const isOfDomain = domain !== null && config.cookieDomain === 'auto'
  if (!value || (isOfDomain && !isInDomain(host, domain))) return undefined
  const scope = isOfDomain ? `; Domain=${domain}` : ''
  return `track.did=${value}; Path=/${scope}; Max-Age=${MAX_AGE_SECONDS}; Secure; SameSite=Lax`
}

/** Host and port of an origin. Undefined for other texts, such as `null`. */
function hostOf(origin: string): string | undefined {
  if (origin.length > 'https://'.length + MAX_HOST_LENGTH) return undefined
  try {
    const { protocol, host } = new URL(origin)
    return /^https?:$/.test(protocol) ? host : undefined
  } catch {
    return undefined
  }
}

/** Whether a host is this domain or one below it. Browsers refuse cookies of public suffixes such as co.uk. */
const isInDomain = (host: string, domain: string): boolean =>
  /^[a-z\d-]+(\.[a-z\d-]+)+$/.test(domain) && `.${host.replace(/:\d+$/, '')}`.endsWith(`.${domain}`)

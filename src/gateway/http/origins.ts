/** Entry of a customer's list of origins: every origin of the machine on which the browser runs. */
export const LOOPBACK_ORIGINS = 'loopback'
/** Browsers send this for pages without an origin: sandboxed frames, files. As an entry of the list it allows them. */
const OPAQUE_ORIGIN = 'null'

/**
 * A domain name of 253 characters (RFC 1035, 2.3.4, as text) and a port. A longer text is not passed to the URL parser,
 * whose time for names that are not ASCII grows with the square of the length.
 */
export const MAX_HOST_LENGTH = 253 + ':65535'.length
const MAX_ORIGIN_LENGTH = 'https://'.length + MAX_HOST_LENGTH

/** Whether a host name always means the machine itself: localhost, 127.0.0.0/8, [::1]. */
export const isLoopbackHost = (hostname: string): boolean =>
  /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)

/** An entry of a customer's list, or why a text is not one. */
export type ReadOrigin =
  | { readonly ok: true; readonly origin: string }
  | { readonly ok: false; readonly message: string }

/** A pattern such as `https://*.shop.example`: its scheme, and the domain after the star. */
const PATTERN = /^(https?:\/\/)\*\.(?=[^.])(.+)$/i

/**
 * Reads an entry of a customer's list as an operator types it: `loopback`, `null`, an origin (`HTTPS://Shop.example/`
 * becomes `https://shop.example`), or an origin with a star for all subdomains.
 */
export function readOrigin(text: string): ReadOrigin {
  if (text === LOOPBACK_ORIGINS || text === OPAQUE_ORIGIN) return { ok: true, origin: text }
  if (text.includes('*')) return readPattern(text)
  const url = readBare(text)
  return url
    ? { ok: true, origin: url.origin }
    : wrong('a scheme and a host, such as https://shop.example')
}

function readPattern(text: string): ReadOrigin {
  const [, scheme = '', rest = ''] = PATTERN.exec(text) ?? []
  const url = rest.includes('*') ? undefined : readBare(scheme + rest)
  if (!url) return wrong('a * only in place of whole subdomains, such as https://*.shop.example')
  const { protocol, hostname, host } = url
  const labels = hostname.split('.')
  // If the last label is a number, the parser has made an IPv4 address of the host.
  if (/^\[|\.\d+$/.test(hostname))
    return wrong('a name behind the *, since an address has no subdomains')
  if (labels.length < 2 || labels.includes(''))
    return wrong(
      'a * in front of a whole domain, with two names or more behind it, such as https://*.shop.example',
    )
  return { ok: true, origin: `${protocol}//*.${host}` }
}

const wrong = (expected: string): ReadOrigin => ({ ok: false, message: `expected ${expected}` })

/** The URL of a text that is an origin without path, query or user. */
function readBare(text: string): URL | undefined {
  if (text.length > MAX_ORIGIN_LENGTH + 1) return undefined
  try {
    const url = new URL(text)
    const { protocol, host, pathname, search, hash, username, password } = url
    // The parser decodes a star that was percent-encoded or full-width.
    const isBare =
      pathname === '/' && !search && !hash && !username && !password && !host.includes('*')
    return isBare && /^https?:$/.test(protocol) ? url : undefined
  } catch {
    return undefined
  }
}

/** Whether a customer's list of origins allows the Origin header of a request. */
export const allowsOrigin = (allowed: readonly string[], origin: string): boolean =>
  origin.length <= MAX_ORIGIN_LENGTH &&
  allowed.some((entry) => {
    if (entry === LOOPBACK_ORIGINS) return isLoopbackOrigin(origin)
    return entry.includes('*') ? matches(entry, origin) : entry === origin
  })

/** Whether a pattern allows an origin. Both are written as browsers write them, so they are compared as text. */
function matches(pattern: string, origin: string): boolean {
  const [scheme = '', domain = ''] = pattern.split('*')
  return (
    origin.startsWith(scheme) &&
    origin.endsWith(domain) &&
    /^[a-z\d_-]+(\.[a-z\d_-]+)*$/.test(origin.slice(scheme.length, -domain.length))
  )
}

function isLoopbackOrigin(origin: string): boolean {
  try {
    const { protocol, hostname } = new URL(origin)
    return /^https?:$/.test(protocol) && isLoopbackHost(hostname)
  } catch {
    return false
  }
}

/** The address of the shop: the first origin of a list that a browser can open. Undefined if there is none. */
export const findShopOrigin = (origins: readonly string[]): string | undefined =>
  origins.find((entry) => /^https?:/.test(entry) && !entry.includes('*'))

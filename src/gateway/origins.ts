/** In a customer's list of origins: every origin of the machine that the page itself runs on. */
export const LOOPBACK_ORIGINS = 'loopback'

/**
 * A domain name of 253 characters (RFC 1035, 2.3.4, as text) and a port. What is longer is no host, and is not given
 * to the URL parser: its time for a name that is not ASCII grows with the square of the length.
 */
export const MAX_HOST_LENGTH = 253 + ':65535'.length
const MAX_ORIGIN_LENGTH = 'https://'.length + MAX_HOST_LENGTH

/** Whether a host name always means the machine itself: localhost, 127.0.0.0/8, [::1]. */
export const isLoopbackHost = (hostname: string): boolean =>
  /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)

/**
 * An origin as browsers write it, from what a person types: `HTTPS://Shop.example/` is
 * `https://shop.example`.
 *
 * @returns undefined where it is none: another scheme, a path behind it, or a `*` for any name.
 */
export function readOrigin(text: string): string | undefined {
  if (text === LOOPBACK_ORIGINS) return text
  try {
    const { origin, protocol, host, pathname, search, hash, username, password } = new URL(text)
    const bare = pathname === '/' && !search && !hash && !username && !password && !/\*/.test(host)
    return bare && /^https?:$/.test(protocol) ? origin : undefined
  } catch {
    return undefined
  }
}

/** Whether a customer's list of origins allows the Origin header of a request. */
export function allowsOrigin(allowed: readonly string[], origin: string): boolean {
  if (allowed.includes(origin)) return true
  if (!allowed.includes(LOOPBACK_ORIGINS) || origin.length > MAX_ORIGIN_LENGTH) return false
  try {
    const { protocol, hostname } = new URL(origin)
    return /^https?:$/.test(protocol) && isLoopbackHost(hostname)
  } catch {
    return false
  }
}

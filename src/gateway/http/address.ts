import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import proxyAddr from 'proxy-addr'
import { isLoopbackHost, MAX_HOST_LENGTH } from './origins.ts'

/** Headers by which a proxy tells that it stood between; none of them on what a browser sends itself. */
const FORWARDING_HEADERS = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'forwarded',
  'via',
]

/** So many entries of X-Forwarded-For are looked at, from the right: no request comes through more proxies of ours. */
const MAX_HOPS = 32

/** What the gateway knows of the other end of a request. */
export type Addresses = {
  /**
   * The visitor's address. Without trusted proxies the peer's, whatever the headers claim; behind them
   * the right-most entry of X-Forwarded-For that they did not add themselves.
   */
  visitor(request: Request, peer: string): string
  /**
   * The address by which the request reached this gateway, without a slash at its end. A trusted
   * proxy's X-Forwarded-Proto and X-Forwarded-Host count, of several entries the last: it is the one that
   * the proxy wrote, what stands left of it may be the client's.
   */
  base(request: Request, peer: string): string
  /**
   * The peer's address where it sends headers of a proxy and is not trusted: either a proxy that TRUSTED_PROXIES
   * should name, or a client that claims to be one.
   */
  findUnknownProxy(request: Request, peer: string): string | undefined
}

/**
 * @param trusted Addresses and networks (`10.0.0.0/8`) of the proxies in front. Default none.
 * @param publicUrl The gateway's address as the world sees it, in place of what requests say.
 * @throws TypeError when one of `trusted` is neither.
 */
export function createAddresses(
  trusted: readonly string[] = [],
  publicUrl?: string | undefined,
): Addresses {
  const compiled = trusted.length > 0 ? proxyAddr.compile([...trusted]) : undefined
  const isTrusted = (address: string) => compiled?.(address, 0) ?? false

  return {
    visitor(request, peer) {
      let address = readAddress(peer) ?? peer
      if (!isTrusted(address)) return address
      const entries = request.headers.get('x-forwarded-for')?.split(',') ?? []
      for (const text of entries.slice(-MAX_HOPS).reverse()) {
        if (!isTrusted(address)) break
        const entry = text.trim()
        if (!entry) continue
        // What stands left of junk was not added by a proxy that we trust, so it may be made up.
        const next = readAddress(entry)
        if (!next) break
        address = next
      }
      return address
    },
    findUnknownProxy(request, peer) {
      const address = readAddress(peer)
      return address !== undefined && !isTrusted(address) && isForwarded(request)
        ? address
        : undefined
    },
    base(request, peer) {
      if (publicUrl) return publicUrl
      const { origin, protocol, host } = new URL(request.url)
      if (!isTrusted(readAddress(peer) ?? peer)) return origin
      const last = (header: string) => request.headers.get(header)?.split(',').at(-1)?.trim()
      // Many proxies pass on what the client sends here. The origin of another scheme is `null`.
      const scheme = /^https?$/i.exec(last('x-forwarded-proto') ?? '')?.[0] ?? protocol.slice(0, -1)
      const forwarded = last('x-forwarded-host') ?? ''
      if (forwarded.length > MAX_HOST_LENGTH) return origin
      try {
        return new URL(`${scheme}://${forwarded || host}`).origin
      } catch {
        return origin
      }
    },
  }
}

/**
 * An address in its usual text form, from what a socket or a proxy writes: ports and brackets cut, an
 * IPv4 address inside IPv6 unwrapped.
 *
 * @returns undefined where it is no address.
 */
export function readAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  const bare =
    /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(text)?.[1] ?? text
  if (isIPv4(bare)) return bare
  return isIPv6(bare) ? ipaddr.process(bare).toString() : undefined
}

/**
 * What limits count an address by: an IPv4 address itself, of an IPv6 address its /64, since a subscriber is given
 * at least that (RFC 6177).
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const network = ipaddr.IPv6.parse(address).parts.slice(0, 4)
  return `${network.map((part) => part.toString(16)).join(':')}::/64`
}

/** Whether an address is one that only the machine itself can reach: 127.0.0.0/8 or ::1. */
export function isLoopbackAddress(text: string): boolean {
  const address = readAddress(text)
  return address === '::1' || !!address?.startsWith('127.')
}

const isForwarded = ({ headers }: Request): boolean =>
  FORWARDING_HEADERS.some((header) => headers.has(header))

/**
 * Whether a request comes from the machine itself: a loopback peer, a loopback Host (so no page of
 * another name that was made to resolve here) and no proxy between.
 */
export function isLocal(request: Request, peer: string): boolean {
  return (
    isLoopbackAddress(peer) &&
    isLoopbackHost(new URL(request.url).hostname) &&
    !isForwarded(request)
  )
}

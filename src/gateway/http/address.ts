import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import proxyAddr from 'proxy-addr'
import { isLoopbackHost, MAX_HOST_LENGTH } from './origins.ts'
import type { RequestHead } from './requestHead.ts'

/** Headers that proxies add. Browsers send none of them. */
const FORWARDING_HEADERS = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'forwarded',
  'via',
]

/** Entries of X-Forwarded-For that are read, from the right. No request passes more trusted proxies. */
export const MAX_HOPS = 32

/** The addresses of a request: of its visitor, and of the gateway as the visitor sees it. */
export type Addresses = {
  /**
   * The visitor's address. That of the peer, if the peer is not a trusted proxy. Otherwise the right-most entry of
   * X-Forwarded-For that is not a trusted proxy.
   */
  visitor(request: RequestHead, peer: string): string
  /**
   * The origin that the visitor asked for. X-Forwarded-Proto and X-Forwarded-Host of a trusted proxy count. Of several
   * entries the last one is used: the proxy has written it, and the others may come from the client.
   */
  asked(request: RequestHead, peer: string): string
  /** The gateway's public address. By default the origin that the visitor asked for. */
  base(request: RequestHead, peer: string): string
  /**
   * The peer's address, if the peer sends headers of a proxy and is not trusted. It is a proxy that is missing in
   * TRUSTED_PROXIES, or a client that pretends to be one.
   */
  findUnknownProxy(request: RequestHead, peer: string): string | undefined
}

/**
 * @param trusted Addresses and networks (`10.0.0.0/8`) of the proxies in front. Default none.
 * @param publicUrl The gateway's public address. Default: taken from each request.
 * @throws TypeError if an entry of `trusted` is neither an address nor a network.
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
        // Entries left of an invalid one were not added by a trusted proxy, so they may be forged.
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
    asked,
    base: (request, peer) => publicUrl || asked(request, peer),
  }

  function asked(request: RequestHead, peer: string): string {
    const { origin, protocol, host } = new URL(request.url)
    if (!isTrusted(readAddress(peer) ?? peer)) return origin
    const last = (header: string) => request.headers.get(header)?.split(',').at(-1)?.trim()
    // Many proxies forward this header from the client. The origin of another scheme would be `null`.
    const scheme = /^https?$/i.exec(last('x-forwarded-proto') ?? '')?.[0] ?? protocol.slice(0, -1)
    const forwarded = last('x-forwarded-host') ?? ''
    if (forwarded.length > MAX_HOST_LENGTH) return origin
    try {
      return new URL(`${scheme}://${forwarded || host}`).origin
    } catch {
      return origin
    }
  }
}

/**
 * An address in its usual text form, from a socket or a header: without port and brackets, and as IPv4 if it is an IPv4
 * address inside IPv6.
 *
 * @returns undefined if the text is not an address.
 */
export function readAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  const bare =
    /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(text)?.[1] ?? text
  if (isIPv4(bare)) return bare
  return isIPv6(bare) ? ipaddr.process(bare).toString() : undefined
}

/**
 * The key of an address for limits: an IPv4 address itself, and the /64 of an IPv6 address, since each subscriber gets
 * at least a /64 (RFC 6177).
 */
export function networkOf(address: string): string {
  // Most are IPv4, and the pattern of isIPv6 is large.
  if (!address.includes(':') || !isIPv6(address)) return address
  const network = ipaddr.IPv6.parse(address).parts.slice(0, 4)
  return `${network.map((part) => part.toString(16)).join(':')}::/64`
}

/** Whether only the machine itself can reach an address: 127.0.0.0/8 or ::1. */
export function isLoopbackAddress(text: string): boolean {
  const address = readAddress(text)
  return address === '::1' || !!address?.startsWith('127.')
}

const isForwarded = ({ headers }: RequestHead): boolean =>
  FORWARDING_HEADERS.some((header) => headers.has(header))

/**
 * Whether a request comes from the machine itself: the peer is a loopback address, no proxy is in between, and the Host
 * is a loopback name. (A page of another name that was made to resolve to this machine, by DNS rebinding, sends another
 * Host.)
 */
export function isLocal(request: RequestHead, peer: string): boolean {
  return (
    isLoopbackAddress(peer) &&
    isLoopbackHost(new URL(request.url).hostname) &&
    !isForwarded(request)
  )
}

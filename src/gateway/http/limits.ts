import type { RateLimits } from './rateLimit.ts'

/** How much the pages of a customer may store in a day (UTC), and its servers once more. */
export type DailyQuota = {
  readonly events: number
  /** Of payloads as they are stored, UTF-8. */
  readonly bytes: number
}

/** Limits that keep one sender, or one customer, from using the whole gateway. */
export type Limits = {
  /** Of each customer: once for its pages together, and once for its servers, which have the REST key. */
  readonly customer: RateLimits
  /** Of each address that sends without a REST key. IPv6 addresses of one /64 count as one. */
  readonly address: RateLimits
  /** Of each customer without a quota of its own. */
  readonly daily: DailyQuota
}

/** A connection is closed if its other end takes nothing of an answer for this long, ms. */
export const DEFAULT_SEND_TIMEOUT_MS = 30_000

/**
 * Bytes of a request's line and headers. A shop's own cookies come with each request in first-party mode; 16 KiB, the
 * limit of Node, was too little for some shops.
 */
export const DEFAULT_MAX_HEADER_BYTES = 65_536

/** Headers of a request. Browsers send 20, and proxies add some. Each of them takes more memory than its bytes. */
export const MAX_HEADERS = 100

/** The largest limit. In practice it means no limit. */
export const MAX_LIMIT = 1e14

/** Some of the limits. The others have their defaults. */
export type GivenLimits = { readonly [Name in keyof Limits]?: Partial<Limits[Name]> }

/**
 * A shop with a million visits a day sends about 100 events a second at its peak. An office or a mobile network behind
 * one address, or a proxy that is missing in TRUSTED_PROXIES, also stays below the limits of an address.
 */
export const DEFAULT_LIMITS: Limits = {
  customer: {
    events: { perSecond: 2_000, burst: 10_000 },
    bytes: { perSecond: 4 * 2 ** 20, burst: 32 * 2 ** 20 },
  },
  address: {
    events: { perSecond: 500, burst: 2_500 },
    bytes: { perSecond: 2 ** 20, burst: 16 * 2 ** 20 },
  },
  daily: { events: 10_000_000, bytes: 20 * 2 ** 30 },
}

export const completeLimits = ({ customer, address, daily }: GivenLimits = {}): Limits => ({
  customer: { ...DEFAULT_LIMITS.customer, ...customer },
  address: { ...DEFAULT_LIMITS.address, ...address },
  daily: { ...DEFAULT_LIMITS.daily, ...daily },
})

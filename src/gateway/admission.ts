import { networkOf } from './address.ts'
import type { Refusal } from './answers.ts'
import type { Customer } from './customers.ts'
import type { Limits } from './limits.ts'
import type { Metrics } from './metrics.ts'
import { type Cost, createRateLimit, type Limited } from './rateLimit.ts'

/** Who sends events, as far as it is known before the body is read. */
export type Source = {
  /** Undefined where nobody may send by what the request says. */
  readonly customer: Customer | undefined
  /** Whether the request carries the customer's REST key: a server speaks for many visitors from one address. */
  readonly isServer: boolean
  readonly address: string
}

/**
 * What a request says of the length of its body, bytes; 0 where it says nothing.
 *
 * @param maxBytes The largest body that is read: what is refused as larger costs no more than that.
 */
export const declaredBytes = ({ headers }: Request, maxBytes: number): number =>
  Math.min(Number(headers.get('content-length')) || 0, maxBytes)

/** Who may come in now. Each refusal is a 429 with Retry-After. */
export type Admission = {
  /**
   * Asked before a body with events is read. Counts one event and the declared bytes for the address, also where
   * the request is refused for another reason later. Takes nothing from the customer's buckets yet, so what an
   * address is refused, or announces and never sends, costs the customer nothing.
   *
   * @param bytes Of `declaredBytes`.
   */
  arrive(source: Source, bytes: number): Refusal | undefined
  /**
   * Asked when it is known what the body holds, before any of it is checked.
   *
   * @param events At least 1.
   * @param bytes Of the body.
   * @param counted The bytes that `arrive` was given.
   */
  admit(source: Source, events: number, bytes: number, counted: number): Refusal | undefined
  /** Asked when a server calls with a REST key that is right. */
  call(customer: Customer, requests: number, bytes: number): Refusal | undefined
  /** Asked when an address loads a script. */
  script(address: string): Refusal | undefined
}

/** The limits by their names in the metrics, each with what its refusals say. */
const WORDS = {
  address: { events: 'events', from: 'from this address' },
  customer: { events: 'events', from: 'with this tracking key' },
  server: { events: 'requests', from: 'with this REST key' },
  script: { events: 'requests', from: 'from this address' },
} as const
export type LimitName = keyof typeof WORDS

/**
 * Token buckets in front of what strangers may call: a tracking key and an allowed Origin are public knowledge.
 *
 * A customer has two pairs of buckets, so that a flood with its public key does not keep its own servers out.
 * Scripts have buckets apart from events, so that an address that sends too much still loads pages that work.
 *
 * @param now A monotonic clock, ms.
 */
export function createAdmission(limits: Limits, metrics: Metrics, now?: () => number): Admission {
  const addresses = createRateLimit(limits.address, undefined, now)
  const scripts = createRateLimit(limits.address, undefined, now)
  const pages = createRateLimit(limits.customer, undefined, now)
  const servers = createRateLimit(limits.customer, undefined, now)

  function refuse(limit: LimitName, limited: Limited | undefined) {
    if (!limited) return undefined
    const { unit, retryAfterSeconds } = limited
    const { events, from } = WORDS[limit]
    const what = unit === 'events' ? events : unit
    metrics.limited(limit, unit)
    return {
      ok: false,
      status: 429,
      message: `Too many ${what} ${from}. Try again in ${retryAfterSeconds} s`,
      retryAfterSeconds,
    } satisfies Refusal
  }

  const ofAddress = (address: string, events: number, bytes: number, paid?: Cost) =>
    refuse('address', addresses.take(networkOf(address), events, bytes, paid))
  const ofPages = (limited: Limited | undefined) => refuse('customer', limited)
  const ofServers = (limited: Limited | undefined) => refuse('server', limited)

  return {
    arrive({ customer, isServer, address }, bytes) {
      if (isServer && customer) return ofServers(servers.check(customer.customerId, 1, bytes))
      const refused = ofAddress(address, 1, bytes)
      if (refused || !customer) return refused
      return ofPages(pages.check(customer.customerId, 1, bytes))
    },
    admit({ customer, isServer, address }, events, bytes, counted) {
      if (!customer) return undefined
      const { customerId } = customer
      if (isServer) return ofServers(servers.take(customerId, events, bytes))
      const isCounted = events === 1 && bytes === counted
      const refused = isCounted
        ? undefined
        : ofAddress(address, events, bytes, { events: 1, bytes: counted })
      return refused ?? ofPages(pages.take(customerId, events, bytes))
    },
    call: ({ customerId }, requests, bytes) => ofServers(servers.take(customerId, requests, bytes)),
    script: (address) => refuse('script', scripts.take(networkOf(address), 1, 0)),
  }
}

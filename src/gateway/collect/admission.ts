import type { Customer } from '../customers/customers.ts'
import { type Addresses, networkOf } from '../http/address.ts'
import type { Refusal } from '../http/answers.ts'
import type { Limits } from '../http/limits.ts'
import type { LimitName, Metrics } from '../http/metrics.ts'
import { type Cost, createRateLimit, type Limited } from '../http/rateLimit.ts'
import type { EventLog, LogEvent, Outcome } from './eventLog.ts'
import type { Quota } from './quota.ts'

/** Who sends events, as far as it is known before the body is read. */
export type Source = {
  /** Undefined where nobody may send by what the request says. */
  readonly customer: Customer | undefined
  /** Whether the request carries the customer's REST key: a server speaks for many visitors from one address. */
  readonly isServer: boolean
  /** The visitor's, or the server's. */
  readonly address: string
  readonly request: Request
  /** The address of the other end of the connection. */
  readonly peer: string
}

/**
 * What a request says of the length of its body, bytes; 0 where it says nothing.
 *
 * @param maxBytes The largest body that is read: what is refused as larger costs no more than that.
 */
export const declaredBytes = ({ headers }: Request, maxBytes: number): number =>
  Math.min(Number(headers.get('content-length')) || 0, maxBytes)

/**
 * The same before a body of events is read. One of unknown length counts as the largest until it is read, since it
 * is read and parsed before its length is known, and may be refused then.
 */
export const expectedBytes = (request: Request, maxBytes: number): number =>
  request.headers.has('transfer-encoding') ? maxBytes : declaredBytes(request, maxBytes)

/** Who may come in now. Each refusal is a 429 with Retry-After. */
export type Admission = {
  /**
   * Asked before a body with events is read. Counts one event and the expected bytes for the address, also where
   * the request is refused for another reason later. Takes nothing from the customer's buckets yet, so what an
   * address is refused, or announces and never sends, costs the customer nothing.
   *
   * @param bytes Of `expectedBytes`.
   */
  arrive(source: Source, bytes: number): Refusal | undefined
  /**
   * Asked when it is known what the body holds, before any of it is checked. Takes from the address, and from a
   * server; whether the customer's pages may send so much is only looked at.
   *
   * @param events At least 1.
   * @param bytes Of the body.
   * @param counted The bytes that `arrive` was given.
   */
  admit(source: Source, events: number, bytes: number, counted: number): Refusal | undefined
  /**
   * Told in the same step what of an admitted body is stored or looked up: only that counts against the customer's
   * pages, so that invalid events of a stranger do not keep out those of visitors.
   *
   * @param bytes At most those of the body.
   */
  accept(source: Source, events: number, bytes: number): void
  /** Asked when a server calls with a REST key that is right. */
  call(customer: Customer, requests: number, bytes: number): Refusal | undefined
  /** Asked when an address loads a script. */
  script(address: string): Refusal | undefined
  /** Asked before something of a customer's that is no event is stored: whether its daily quota is reached. */
  store(customer: Customer): Refusal | undefined
  /** Stores a customer's events, unless its daily quota is reached. Rejects as the log does. */
  append(
    customer: Customer,
    events: readonly LogEvent[],
  ): Promise<{ readonly ok: true; readonly outcomes: readonly Outcome[] } | Refusal>
}

/** What admission needs of the rest of the gateway. */
export type AdmissionDependencies = {
  readonly limits: Limits
  readonly quota: Quota
  readonly log: Pick<EventLog, 'append'>
  readonly metrics: Metrics
  readonly addresses: Addresses
  /** Told when an address is refused that may be a proxy, and so many visitors at once; once an hour at most. */
  readonly onUnknownProxy: (peer: string) => void
  /** A monotonic clock, ms. */
  readonly monotonicNow: () => number
}

/** How long nobody is told again of an unknown proxy, ms. */
const PROXY_SILENCE_MS = 3_600_000

/** The limits by their names in the metrics, each with what its refusals say. */
const MESSAGES = {
  address: (unit) => `Too many ${unit} from this address`,
  customer: (unit) => `Too many ${unit} with this tracking key`,
  server: (unit) => `Too many ${unit === 'events' ? 'requests' : unit} with this REST key`,
  script: () => 'Too many requests from this address',
  quota: () => 'The daily quota of this customer is used up',
} satisfies Record<LimitName, (unit: Limited['unit']) => string>

/**
 * Token buckets in front of what strangers may call: a tracking key and an allowed Origin are public knowledge.
 *
 * A customer has two pairs of buckets, so that a flood with its public key does not keep its own servers out.
 * Scripts have buckets apart from events, so that an address that sends too much still loads pages that work.
 */
export function createAdmission(dependencies: AdmissionDependencies): Admission {
  const { limits, quota, log, metrics, monotonicNow: now } = dependencies
  const addresses = createRateLimit(limits.address, undefined, now)
  const scripts = createRateLimit(limits.address, undefined, now)
  const pages = createRateLimit(limits.customer, undefined, now)
  const servers = createRateLimit(limits.customer, undefined, now)

  function refuse(limit: LimitName, limited: Limited | undefined) {
    if (!limited) return undefined
    const { unit, retryAfterSeconds } = limited
    metrics.limited(limit, unit)
    return {
      ok: false,
      status: 429,
      message: `${MESSAGES[limit](unit)}. Try again in ${retryAfterSeconds} s`,
      retryAfterSeconds,
    } satisfies Refusal
  }

  let reportedAt = Number.NEGATIVE_INFINITY
  function ofAddress(source: Source, events: number, bytes: number, paid?: Cost) {
    const limited = addresses.take(networkOf(source.address), events, bytes, paid)
    if (limited && now() - reportedAt >= PROXY_SILENCE_MS) reportProxy(source)
    return refuse('address', limited)
  }

  function reportProxy({ request, peer }: Source): void {
    const proxy = dependencies.addresses.findUnknownProxy(request, peer)
    if (!proxy) return
    reportedAt = now()
    dependencies.onUnknownProxy(proxy)
  }

  const ofPages = (limited: Limited | undefined) => refuse('customer', limited)
  const ofQuota = (customer: Customer) => refuse('quota', quota.check(customer))
  const ofServers = (limited: Limited | undefined) => refuse('server', limited)

  return {
    arrive(source, bytes) {
      const { customer, isServer } = source
      const refused = isServer ? undefined : ofAddress(source, 1, bytes)
      if (refused || !customer) return refused
      const { customerId } = customer
      const limited = isServer
        ? ofServers(servers.check(customerId, 1, bytes))
        : ofPages(pages.check(customerId, 1, bytes))
      return limited ?? ofQuota(customer)
    },
    admit(source, events, bytes, counted) {
      const { customer, isServer } = source
      if (!customer) return undefined
      const { customerId } = customer
      if (isServer) return ofServers(servers.take(customerId, events, bytes))
      const isCounted = events === 1 && bytes === counted
      const refused = isCounted
        ? undefined
        : ofAddress(source, events, bytes, { events: 1, bytes: counted })
      return refused ?? ofPages(pages.check(customerId, events, bytes))
    },
    accept({ customer, isServer }, events, bytes) {
      if (customer && !isServer && events > 0) pages.take(customer.customerId, events, bytes)
    },
    call: ({ customerId }, requests, bytes) => ofServers(servers.take(customerId, requests, bytes)),
    store: ofQuota,
    async append(customer, events) {
      if (events.length === 0) return { ok: true, outcomes: [] }
      const refused = ofQuota(customer)
      if (refused) return refused
      const release = quota.hold(customer, events)
      try {
        return { ok: true, outcomes: await log.append(events) }
      } finally {
        release()
      }
    },
    script: (address) => refuse('script', scripts.take(networkOf(address), 1, 0)),
  }
}

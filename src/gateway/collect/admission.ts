import type { Customer } from '../customers/customers.ts'
import { isLocalAddress, keepAddress, NO_ADDRESS } from '../customers/keptAddresses.ts'
import { isOfServers } from '../customers/usage.ts'
import { type Addresses, networkOf } from '../http/address.ts'
import type { Refusal } from '../http/answers.ts'
import type { Limits } from '../http/limits.ts'
import type { LimitName, Metrics } from '../http/metrics.ts'
import { type Cost, createRateLimit, type Limited } from '../http/rateLimit.ts'
import type { RequestHead } from '../http/requestHead.ts'
import type { EventLog, LogEvent, Outcome } from './eventLog.ts'
import type { Quota } from './quota.ts'

/** The sender of a request, known before the body is read. */
export type Source = {
  /** Undefined if the credentials are wrong, so that the request is refused later. */
  readonly customer: Customer | undefined
  /** Whether the request has the customer's REST key. A server sends for many visitors, from one address. */
  readonly isServer: boolean
  /** Address of the visitor, or of the server. */
  readonly address: string
  readonly request: RequestHead
  /** The address of the other end of the connection. */
  readonly peer: string
}

/**
 * The length of the body that a request declares, bytes. 0 if it declares none.
 *
 * @param maxBytes The largest body that is read. A larger one is refused and counts as this.
 */
export const declaredBytes = ({ headers }: RequestHead, maxBytes: number): number =>
  Math.min(Number(headers.get('content-length')) || 0, maxBytes)

/**
 * The bytes to count before a body of events is read. A body of unknown length counts as the largest one until it is
 * read, since it takes as much work before it can be refused.
 */
export const expectedBytes = (request: RequestHead, maxBytes: number): number =>
  request.headers.has('transfer-encoding') ? maxBytes : declaredBytes(request, maxBytes)

/** Limits requests. Each refusal is a 429 with Retry-After. */
export type Admission = {
  /**
   * Call it before a body with events is read. Takes one event and the expected bytes from the buckets of the address,
   * even if the request is refused later. Takes nothing from the customer's buckets, so a request that is refused, or
   * declares a body and never sends it, costs the customer nothing.
   *
   * @param bytes Result of `expectedBytes`.
   */
  arrive(source: Source, bytes: number): Refusal | undefined
  /**
   * Call it when the body is parsed, before its events are checked. Takes from the buckets of the address, or of the
   * customer's servers. Only checks the buckets of the customer's pages.
   *
   * @param events At least 1.
   * @param bytes Length of the body.
   * @param counted The bytes that were passed to `arrive`.
   */
  admit(source: Source, events: number, bytes: number, counted: number): Refusal | undefined
  /**
   * Call it in the same tick as `admit`, with the events that will be stored or looked up. Only this is taken from the
   * buckets of the customer's pages, so that invalid events of a stranger do not block the events of visitors.
   *
   * @param bytes At most the length of the body.
   */
  accept(source: Source, events: number, bytes: number): void
  /** Call it for a request with the right REST key. */
  call(customer: Customer, requests: number, bytes: number): Refusal | undefined
  /** Call it when an address loads a script. */
  script(address: string): Refusal | undefined
  /** Call it before a campaign is stored. Refused if the daily quota of the customer's servers is reached. */
  store(customer: Customer): Refusal | undefined
  /**
   * Stores events of a customer's pages, or of its servers. Refused if their daily quota is reached. Rejects like
   * `EventLog.append`.
   *
   * @param events Either all or none need the REST key.
   */
  append(
    customer: Customer,
    events: readonly LogEvent[],
  ): Promise<{ readonly ok: true; readonly outcomes: readonly Outcome[] } | Refusal>
}

export type AdmissionDependencies = {
  readonly limits: Limits
  readonly quota: Quota
  readonly log: Pick<EventLog, 'append'>
  readonly metrics: Metrics
  readonly addresses: Addresses
  /** Called, at most once an hour, when a refused address may be a proxy with many visitors. */
  readonly onUnknownProxy: (peer: string) => void
  /** A monotonic clock, ms. */
  readonly monotonicNow: () => number
}

/** Time between two reports of an unknown proxy, ms. */
const PROXY_SILENCE_MS = 3_600_000

/** Message of a refusal, by limit. */
const MESSAGES = {
  address: (unit) => `Too many ${unit} from this address`,
  customer: (unit) => `Too many ${unit} with this tracking key`,
  server: (unit) => `Too many ${unit === 'events' ? 'requests' : unit} with this REST key`,
  script: () => 'Too many requests from this address',
  quota: () => 'The daily quota of this customer is used up',
  server_quota: () => 'The daily quota of this customer’s servers is used up',
} satisfies Record<LimitName, (unit: Limited['unit']) => string>

/**
 * Token buckets for everything that strangers can call: a customer's tracking key and its allowed Origins are public.
 *
 * A customer has one pair of buckets for its pages and one for its servers, so that a flood with its public key does
 * not block its servers, and its daily quota twice for the same reason. Scripts have buckets of their own, so that an
 * address that sends too many events still loads the script.
 */
export function createAdmission(dependencies: AdmissionDependencies): Admission {
  const { limits, quota, log, metrics, monotonicNow: now } = dependencies
  const addresses = createRateLimit(limits.address, undefined, now)
  const scripts = createRateLimit(limits.address, undefined, now)
  const pages = createRateLimit(limits.customer, undefined, now)
  const servers = createRateLimit(limits.customer, undefined, now)

  function refuse(limit: LimitName, limited: Limited | undefined, customer?: string) {
    if (!limited) return undefined
    const { unit, retryAfterSeconds } = limited
    metrics.limited(limit, unit, customer)
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
    return refuse('address', limited, source.customer?.customerId)
  }

  /** It may be a visitor that sends such headers, so a public address is reported only as its customer keeps it. */
  function reportProxy({ customer, request, peer }: Source): void {
    const proxy = dependencies.addresses.findUnknownProxy(request, peer)
    if (!proxy) return
    const shown = isLocalAddress(proxy) ? proxy : keepAddress(proxy, customer?.addresses ?? 'short')
    if (shown === NO_ADDRESS) return
    reportedAt = now()
    dependencies.onUnknownProxy(shown)
  }

  const ofPages = (customer: string, limited: Limited | undefined) =>
    refuse('customer', limited, customer)
  const ofQuota = (customer: Customer, needsRestKey: boolean) =>
    refuse(
      needsRestKey ? 'server_quota' : 'quota',
      quota.check(customer, needsRestKey),
      customer.customerId,
    )
  const ofServers = (customer: string, limited: Limited | undefined) =>
    refuse('server', limited, customer)

  return {
    arrive(source, bytes) {
      const { customer, isServer } = source
      const refused = isServer ? undefined : ofAddress(source, 1, bytes)
      if (refused || !customer) return refused
      const { customerId } = customer
      const limited = isServer
        ? ofServers(customerId, servers.check(customerId, 1, bytes))
        : ofPages(customerId, pages.check(customerId, 1, bytes))
      return limited ?? ofQuota(customer, false)
    },
    admit(source, events, bytes, counted) {
      const { customer, isServer } = source
      if (!customer) return undefined
      const { customerId } = customer
      if (isServer) return ofServers(customerId, servers.take(customerId, events, bytes))
      const isCounted = events === 1 && bytes === counted
      const refused = isCounted
        ? undefined
        : ofAddress(source, events, bytes, { events: 1, bytes: counted })
      return refused ?? ofPages(customerId, pages.check(customerId, events, bytes))
    },
    accept({ customer, isServer }, events, bytes) {
      if (customer && !isServer && events > 0) pages.take(customer.customerId, events, bytes)
    },
    call: ({ customerId }, requests, bytes) =>
      ofServers(customerId, servers.take(customerId, requests, bytes)),
    store: (customer) => ofQuota(customer, true),
    async append(customer, events) {
      const [first] = events
      if (!first) return { ok: true, outcomes: [] }
      const needsRestKey = isOfServers(first.operation)
      const refused = ofQuota(customer, needsRestKey)
      if (refused) return refused
      const release = quota.hold(customer, needsRestKey, events)
      try {
        return { ok: true, outcomes: await log.append(events) }
      } finally {
        release()
      }
    },
    script: (address) => refuse('script', scripts.take(networkOf(address), 1, 0)),
  }
}

import { type Addresses, isLocal } from './address.ts'
import { answer, JSON_HEADERS, refuse } from './answers.ts'
import { createAttempts } from './attempts.ts'
import { readJson } from './body.ts'
import { type Customer, type Customers, hasRestKey } from './customers.ts'
import { DEMO_CUSTOMER_ID } from './demo.ts'
import type { EventLog } from './eventLog.ts'
import { hashSecret, isSecret } from './keys.ts'
import { type EndReason, streamEvents } from './liveStream.ts'
import { createSessions, SESSION_SECONDS } from './sessions.ts'

/** What the live view needs of the rest of the gateway. */
export type LiveParts = {
  readonly customers: Customers
  readonly log: EventLog
  readonly addresses: Addresses
  /** Whether the demo customer may be seen without a key, on localhost. */
  readonly demo: boolean
  /** The clock, ms since 1970. */
  readonly now: () => number
}

/** The page loads its own files and talks to its own gateway, nothing else. */
const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
}

const COOKIE = 'shoptrail_live'
/** Failed sign-ins of an address: this many at once, then one every so many ms. */
const MAX_FAILED = 10
const FORGET_FAILED_MS = 30_000
const MAX_LOGIN_BYTES = 4_096
/** Live views open at the same time, all customers together. */
const MAX_VIEWERS = 100

/** Compared where the customer is unknown, so that this takes as long as a wrong key. */
const NOBODY = hashSecret('')

/**
 * Customers that a session may see, each with the key it was opened with: a new key ends it. An open
 * stream keeps its grant, so that a further sign-in, which changes the cookie, does not end it.
 */
type Grant = { readonly keys: Map<string, Buffer>; until: number }

/**
 * The live view's data: GET /live/customers, GET /live/events?customer=ID, POST /live/login with
 * `{customerId, restKey}`, POST /live/logout. No page of another origin can read any of it: no CORS
 * header, a cookie that is SameSite=Strict, and a sign-in that only JSON reaches.
 */
export function createLive({ customers, log, addresses, demo, now }: LiveParts) {
  const sessions = createSessions<Grant>(now)
  const attempts = createAttempts(MAX_FAILED, FORGET_FAILED_MS, now)
  const closing = new AbortController()
  let viewers = 0

  /** GET /live/customers: whom this viewer may see, 401 where that is nobody. */
  function list(request: Request, peer: string): Response {
    const visible = visibleTo(request, peer)
    if (visible.length === 0) return refuse({ status: 401, message: 'Sign in first' })
    return answer(
      200,
      visible.map(({ customerId, name, trackingKey }) => ({
        customerId,
        name,
        trackingKey,
        demo: customerId === DEMO_CUSTOMER_ID,
      })),
    )
  }

  /** GET /live/events: server-sent events, see liveStream.ts. */
  function events(request: Request, peer: string): Response {
    const visible = visibleTo(request, peer)
    if (visible.length === 0) return refuse({ status: 401, message: 'Sign in first' })
    const id = new URL(request.url).searchParams.get('customer') ?? visible[0]?.customerId
    if (!visible.some(({ customerId }) => customerId === id))
      return refuse({ status: 403, message: 'You may not see this customer' })
    if (viewers >= MAX_VIEWERS)
      return refuse(
        { status: 503, message: 'Too many live views are open' },
        { ...JSON_HEADERS, 'retry-after': '10' },
      )
    const headers = {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // nginx would gather the stream into blocks.
      'x-accel-buffering': 'no',
    }
    if (request.method === 'HEAD') return new Response(null, { headers })
    viewers++
    const stream = streamEvents({
      log,
      customer: id as string,
      lastEventId: Number(request.headers.get('last-event-id')) || 0,
      findEnd: watchGrant(request, peer, id as string),
      closing: closing.signal,
      onEnd: () => viewers--,
    })
    return new Response(stream, { headers })
  }

  /** POST /live/login: a good restKey adds its customer to what this browser may see. */
  async function login(request: Request, peer: string): Promise<Response> {
    const address = addresses.visitor(request, peer)
    const wait = attempts.waitSeconds(address)
    if (wait > 0)
      return refuse(
        { status: 429, message: 'Too many failed sign-ins' },
        { ...JSON_HEADERS, 'retry-after': `${wait}` },
      )
    // A form of another page can post text, but not this type.
    if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? ''))
      return refuse({ status: 415, message: 'Expected a body of type application/json' })
    const body = await readJson(request, MAX_LOGIN_BYTES)
    if (!body.ok) return refuse(body)
    const { customerId, restKey } = (body.json ?? {}) as Record<string, unknown>
    if (typeof customerId !== 'string' || typeof restKey !== 'string')
      return refuse({ status: 422, message: 'Expected customerId and restKey' })
    const customer = customers.find(customerId.trim())
    const good = customer
      ? hasRestKey(customer, restKey.trim())
      : isSecret(restKey, NOBODY) && false
    if (!customer || !good) {
      attempts.failed(address)
      return refuse({ status: 401, message: 'The customer id or the REST key is wrong' })
    }
    const before = tokenOf(request)
    const grant = sessions.find(before) ?? { keys: new Map(), until: 0 }
    grant.keys.set(customer.customerId, customer.restKeyHash)
    grant.until = now() + SESSION_SECONDS * 1_000
    sessions.close(before)
    const { name, trackingKey } = customer
    return answer(
      200,
      { customerId: customer.customerId, name, trackingKey },
      {
        ...JSON_HEADERS,
        'set-cookie': cookie(request, peer, sessions.open(grant), SESSION_SECONDS),
      },
    )
  }

  /** POST /live/logout */
  function logout(request: Request, peer: string): Response {
    const token = tokenOf(request)
    sessions.find(token)?.keys.clear()
    sessions.close(token)
    return answer(200, {}, { ...JSON_HEADERS, 'set-cookie': cookie(request, peer, '', 0) })
  }

  function visibleTo(request: Request, peer: string): Customer[] {
    const granted = [...(sessions.find(tokenOf(request))?.keys ?? [])].flatMap(([id, keyHash]) => {
      const customer = customers.find(id)
      return customer?.restKeyHash.equals(keyHash) ? [customer] : []
    })
    const shown =
      demo && isLocal(request, peer) && !granted.some((c) => c.customerId === DEMO_CUSTOMER_ID)
        ? customers.find(DEMO_CUSTOMER_ID)
        : undefined
    return shown ? [shown, ...granted] : granted
  }

  /** Tells why who opened a stream of a customer may not see it any more. */
  function watchGrant(request: Request, peer: string, id: string): () => EndReason | undefined {
    const grant = sessions.find(tokenOf(request))
    const isOpen = demo && id === DEMO_CUSTOMER_ID && isLocal(request, peer)
    return () => {
      const customer = customers.find(id)
      if (!customer) return 'removed'
      if (isOpen) return undefined
      const keyHash = grant && grant.until > now() ? grant.keys.get(id) : undefined
      if (!keyHash) return 'signed_out'
      return customer.restKeyHash.equals(keyHash) ? undefined : 'key_changed'
    }
  }

  function cookie(request: Request, peer: string, token: string, seconds: number): string {
    const secure = addresses.base(request, peer).startsWith('https:') ? '; Secure' : ''
    return `${COOKIE}=${token}; Path=/live; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`
  }

  return {
    customers: list,
    events,
    login,
    logout,
    pageHeaders: PAGE_HEADERS,
    /** Ends every open stream, so that the server can stop. */
    close: () => closing.abort(),
  }
}

const tokenOf = (request: Request): string =>
  new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]+)`).exec(request.headers.get('cookie') ?? '')?.[1] ?? ''

import { parse, serialize } from 'hono/utils/cookie'
import type { Quota } from '../collect/quota.ts'
import {
  type Customer,
  type Customers,
  isRestKeyHash,
  NO_KEY_HASH,
} from '../customers/customers.ts'
import { DEMO_CUSTOMER_ID } from '../customers/demoCustomer.ts'
import type { KeyThrottle } from '../customers/keyThrottle.ts'
import { type Addresses, isLocal } from '../http/address.ts'
import { answer, JSON_HEADERS, type Refusal, refuse } from '../http/answers.ts'
import { readJson } from '../http/body.ts'
import { findShopOrigin } from '../http/origins.ts'
import { readQuery } from '../http/query.ts'
import type { ReadBody } from '../http/readBody.ts'
import type { Connected } from '../http/requestEnv.ts'
import { hashSecret } from '../lib/secret.ts'
import { SESSION_SECONDS, type Sessions } from './sessions.ts'

export type OperatorDependencies = {
  readonly customers: Customers
  readonly addresses: Addresses
  /** Whether the demo customer can be seen on localhost without a sign-in. */
  readonly demo: boolean
  readonly keyThrottle: KeyThrottle
  readonly quota: Quota
  readonly sessions: Sessions
  /** See Data. */
  readonly saved: () => Promise<void>
}

/** Why an operator may not see a customer any more. */
export type EndReason = 'signed_out' | 'key_changed' | 'removed'

/** The sign-in of operators, for the live view and the campaigns page. */
export type Operators = ReturnType<typeof createOperators>

/** Name of the cookie. The port is added to it, since a browser sends a cookie to every port of a host. */
const COOKIE = 'shoptrail'
/** Largest body of a sign-in or sign-out. */
const MAX_LOGIN_BYTES = 4_096

/** The keys of an unknown customer. */
const NO_KEYS = { restKeyHash: NO_KEY_HASH, oldRestKeyHash: () => NO_KEY_HASH }

/**
 * The customers that an operator may see: POST /live/login with `{customerId, restKey, path}`, POST /live/logout, GET
 * /live/customers. A page of another origin can neither read nor change them: there are no CORS headers, the cookie is
 * SameSite=Strict, and sign-in and sign-out accept only JSON.
 */
export function createOperators(dependencies: OperatorDependencies) {
  const { customers, sessions, saved, addresses, keyThrottle, quota, demo } = dependencies

  /**
   * GET /live/customers: the customers that this operator may see, 401 if there are none. `origin` is the address of
   * the customer's shop: the first origin of its list that a browser can open, or null. `quota` is a QuotaUse.
   */
  function list(request: Request, peer: string): Response {
    const visible = visibleTo(request, peer)
    if (visible.length === 0) return refuse(NOT_SIGNED_IN)
    return answer(
      200,
      visible.map((customer) => {
        const { customerId, name, trackingKey, origins } = customer
        return {
          customerId,
          name,
          trackingKey,
          demo: customerId === DEMO_CUSTOMER_ID,
          origin: findShopOrigin(origins) ?? null,
          quota: quota.read(customer),
        }
      }),
    )
  }

  /**
   * POST /live/login: with the right REST key, this browser may see the customer, also those of earlier sign-ins.
   * `path` is the path of the gateway as the browser sees it, such as `/st/` behind a proxy. Default `/`. The cookie is
   * for this path alone, so that two gateways on one host do not share their sign-ins.
   */
  async function login(
    request: Request,
    peer: string,
    { env }: Connected<'readBody'>,
  ): Promise<Response> {
    const body = await readOwnJson(request, env.readBody, MAX_LOGIN_BYTES)
    if (!body.ok) return refuse(body)
    const { customerId, restKey, path = '/' } = (body.json ?? {}) as Record<string, unknown>
    if (!isPath(path)) return refuse(NO_PATH)
    if (typeof customerId !== 'string' || typeof restKey !== 'string')
      return refuse({ status: 422, message: 'Expected customerId and restKey' })
    const id = customerId.trim()
    const customer = customers.find(id)
    const keyHash = hashSecret(restKey.trim())
    // For an unknown customer this takes as long as for a wrong key.
    if (!isRestKeyHash(customer ?? NO_KEYS, keyHash) || !customer) {
      const address = addresses.visitor(request, peer)
      return refuse(
        keyThrottle.refuseWrong(address, id, 'The customer id or the REST key is wrong'),
      )
    }
    const token = sessions.signIn(tokenOf(request, peer), id, keyHash)
    await saved()
    const { name, trackingKey } = customer
    const headers = setCookie(request, peer, { token, path, maxAge: SESSION_SECONDS })
    return answer(200, { customerId: id, name, trackingKey }, headers)
  }

  /** POST /live/logout with `{path}`, as for the sign-in: ends the session, and the streams that it has opened. */
  async function logout(
    request: Request,
    peer: string,
    { env }: Connected<'readBody'>,
  ): Promise<Response> {
    const body = await readOwnJson(request, env.readBody, MAX_LOGIN_BYTES)
    if (!body.ok) return refuse(body)
    const { path = '/' } = (body.json ?? {}) as Record<string, unknown>
    if (!isPath(path)) return refuse(NO_PATH)
    sessions.signOut(tokenOf(request, peer))
    await saved()
    return answer(200, {}, setCookie(request, peer, { token: '', path, maxAge: 0 }))
  }

  /**
   * Whether a request may see the demo customer without a sign-in. `demo` is true only if no other machine can reach
   * the gateway. The check of the request is a second line of defence.
   */
  const isOpen = (request: Request, peer: string): boolean => demo && isLocal(request, peer)

  function visibleTo(request: Request, peer: string): Customer[] {
    const granted = [...(sessions.find(tokenOf(request, peer))?.keys ?? [])].flatMap(
      ([id, keyHash]) => {
        const customer = customers.find(id)
        return customer && isRestKeyHash(customer, keyHash) ? [customer] : []
      },
    )
    const shown =
      isOpen(request, peer) && !granted.some((c) => c.customerId === DEMO_CUSTOMER_ID)
        ? customers.find(DEMO_CUSTOMER_ID)
        : undefined
    return shown ? [shown, ...granted] : granted
  }

  /**
   * The customer of `?customer=ID`, or the first visible one without it. 401 if the operator may see no customer, 403
   * if not this one.
   */
  function findWatched(
    request: Request,
    peer: string,
  ): { readonly ok: true; readonly customerId: string } | Refusal {
    const visible = visibleTo(request, peer)
    const [first] = visible
    if (!first) return NOT_SIGNED_IN
    const customerId = readQuery(request.url)('customer') ?? first.customerId
    return visible.some((customer) => customer.customerId === customerId)
      ? { ok: true, customerId }
      : { ok: false, status: 403, message: 'You may not see this customer' }
  }

  /**
   * Returns a function that checks whether the operator may still see a customer. It refers to the session, not to the
   * cookie, which the next sign-in changes.
   */
  function watchGrant(request: Request, peer: string, id: string): () => EndReason | undefined {
    const session = sessions.find(tokenOf(request, peer))
    const needsNoGrant = id === DEMO_CUSTOMER_ID && isOpen(request, peer)
    return () => {
      const customer = customers.find(id)
      if (!customer) return 'removed'
      if (needsNoGrant) return undefined
      const keyHash = session && sessions.findKey(session, id)
      if (!keyHash) return 'signed_out'
      return isRestKeyHash(customer, keyHash) ? undefined : 'key_changed'
    }
  }

  function setCookie(request: Request, peer: string, { token, path, maxAge }: OwnCookie) {
    // A proxy that does not forward the scheme hides TLS, but the browser's Origin shows it. A false Origin harms only
    // its own sender, whose browser then keeps the cookie from http.
    const urls = [addresses.base(request, peer), request.headers.get('origin') ?? '']
    const secure = urls.some((url) => url.startsWith('https:'))
    const options = { path, httpOnly: true, sameSite: 'Strict', maxAge, secure } as const
    const cookie = serialize(cookieName(request, peer), token, options)
    return { ...JSON_HEADERS, 'set-cookie': cookie }
  }

  function cookieName(request: Request, peer: string): string {
    const { port } = new URL(addresses.base(request, peer))
    return port ? `${COOKIE}-${port}` : COOKIE
  }

  function tokenOf(request: Request, peer: string): string {
    const name = cookieName(request, peer)
    return parse(request.headers.get('cookie') ?? '', name)[name] ?? ''
  }

  return { customers: list, login, logout, findWatched, watchGrant }
}

type OwnCookie = { readonly token: string; readonly path: string; readonly maxAge: number }

/** Whether a value can be the Path of a cookie, RFC 6265, 4.1.1. The bound is far above the paths of proxies. */
const isPath = (value: unknown): value is string =>
  typeof value === 'string' && /^\/[!-:<-~]{0,255}$/.test(value)

const NO_PATH: Refusal = {
  ok: false,
  status: 422,
  message: 'Expected as path the path of the gateway, such as /st/',
}

const NOT_SIGNED_IN: Refusal = { ok: false, status: 401, message: 'Sign in first' }

/**
 * Reads a body of the gateway's own pages. A form of another page can send text, but not application/json.
 *
 * @param maxBytes Largest body, bytes of UTF-8.
 */
export async function readOwnJson(request: Request, readBody: ReadBody, maxBytes: number) {
  return /^application\/json\b/i.test(request.headers.get('content-type') ?? '')
    ? readJson(request, readBody, maxBytes)
    : ({
        ok: false,
        status: 415,
        message: 'Expected a body of type application/json',
      } satisfies Refusal)
}

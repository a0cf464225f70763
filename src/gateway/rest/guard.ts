import { type Admission, declaredBytes, expectedBytes } from '../collect/admission.ts'
import { asObject } from '../collect/verdicts.ts'
import type { CustomerLookup } from '../customers/customerLookup.ts'
import { type Customer, hasRestKey } from '../customers/customers.ts'
import type { KeyThrottle } from '../customers/keyThrottle.ts'
import type { Addresses } from '../http/address.ts'
import { type Refusal, refuse } from '../http/answers.ts'
import { type Body, type BodyOptions, hasBody, readJson } from '../http/body.ts'
import type { Metrics } from '../http/metrics.ts'
import { type Query, readQuery } from '../http/query.ts'
import type { Connected, RequestEnv } from '../http/requestEnv.ts'
import type { ProblemRecorder } from '../problems/recorder.ts'
import { countRefusal } from '../problems/refusals.ts'

export type GuardDependencies = {
  readonly customers: CustomerLookup
  readonly metrics: Metrics
  readonly admission: Admission
  readonly addresses: Addresses
  readonly keyThrottle: KeyThrottle
  readonly problems: Pick<ProblemRecorder, 'count' | 'refused'>
}

/** How the body of a route is read. */
export type BodyRules = Omit<BodyOptions, 'form'> & {
  /** The largest body, bytes. Above it 413. */
  readonly maxBytes: number
  /** False if `k` and `u` in the body mean something else. Default true: they are the keys if the query has none. */
  readonly hasKeys?: boolean
}

/** The largest body that is searched for `k` and `u`, bytes. Its sender is not known while it is read and parsed. */
export const MAX_KEYED_BYTES = 2 ** 18

/** One request with the right REST key. */
export type RestCall = Pick<RequestEnv, 'reserve' | 'breakOff'> & {
  readonly request: Request
  readonly customer: Customer
  readonly query: Query
  readonly address: string
  /** Reads the body by the rules of the route, once. It has no `k` and `u`, unless they mean something else. */
  readonly read: () => Promise<Body>
}

export type RestRoute = (
  request: Request,
  peer: string,
  context: Connected<'readBody' | 'reserve' | 'breakOff'>,
) => Promise<Response>

/**
 * Makes the handler of a route under /api/v1: finds the customer by its keys and compares the REST key, limits the
 * requests, then calls, and counts refusals.
 *
 * @param page The path, for the list of problems.
 * @param rules How the body is read. Undefined: the route has none.
 */
export type Guard = (
  page: string,
  rules: BodyRules | undefined,
  call: (call: RestCall) => Promise<Response | Refusal>,
) => RestRoute

/**
 * The check of the REST key in front of every route under /api/v1 (docs/decisions.md, "Credentials").
 *
 * The keys are usually in the query, so that a stranger is refused before the body is read. Where they are in the body,
 * the body has to be read first. It then counts for the limits of its address, like the events of a page, and may be at
 * most `MAX_KEYED_BYTES` long.
 */
export function createGuard(dependencies: GuardDependencies): Guard {
  const { admission, addresses, customers, metrics, keyThrottle, problems } = dependencies

  /** A missing key is 401, an unknown customer 404, a wrong key 401 (docs/decisions.md, "Answers"). */
  function identify(
    { k, u }: Keys,
    address: string,
    page: string,
  ): { readonly ok: true; readonly customer: Customer } | Refusal {
    if (!k || !u) return unauthorized(missingOf({ k, u }))
    const customer = customers.find(u)
    if (!customer)
      return { ok: false, status: 404, message: 'There is no customer with this id (u)' }
    if (hasRestKey(customer, k)) return { ok: true, customer }
    const fault = {
      source: 'gateway',
      reason: 'wrong_key',
      operation: '',
      path: 'k',
      page,
    } as const
    problems.count(customer.customerId, fault)
    return keyThrottle.refuseWrong(address, u, 'The REST key (k) is wrong')
  }

  /** Reads the body of a sender that is not known yet. Undefined if there is none. */
  async function readUnknown(
    request: Request,
    peer: string,
    address: string,
    rules: BodyRules,
    { readBody }: Pick<RequestEnv, 'readBody'>,
  ): Promise<Body | undefined> {
    if (!hasBody(request)) return undefined
    const maxBytes = Math.min(rules.maxBytes, MAX_KEYED_BYTES)
    if (Number(request.headers.get('content-length')) > maxBytes)
      return rules.maxBytes > maxBytes ? TOO_LARGE_FOR_KEYS : tooLarge(maxBytes)
    const source = { customer: undefined, isServer: false, address, request, peer }
    const limited = admission.arrive(source, expectedBytes(request, maxBytes))
    if (limited) return limited
    return readJson(request, readBody, maxBytes, { ...rules, form: true })
  }

  return (page, rules, call) => {
    const hasKeys = rules !== undefined && rules.hasKeys !== false

    async function answer(
      request: Request,
      peer: string,
      { env }: Connected<'readBody' | 'reserve' | 'breakOff'>,
    ): Promise<Response | (Refusal & { readonly customerId?: string })> {
      const query = readQuery(request.url)
      const address = addresses.visitor(request, peer)
      let keys: Keys = { k: query('k'), u: query('u') }
      let given: Body | undefined
      if (hasKeys && !(keys.k && keys.u)) {
        given = await readUnknown(request, peer, address, rules, env)
        if (given?.ok === false)
          return given.status === 415 ? notSearched(missingOf(keys), given.message) : given
        keys = { k: keys.k || textOf(given, 'k'), u: keys.u || textOf(given, 'u') }
      }
      const identified = identify(keys, address, page)
      if (!identified.ok) return identified
      const { customer } = identified
      const { customerId } = customer
      const maxBytes = rules?.maxBytes ?? 0

      /** Reads a body. If its length was not declared, its bytes are counted here. */
      async function read(): Promise<Body> {
        const options = { ...rules, form: true }
        const body = given ?? (await readJson(request, env.readBody, maxBytes, options))
        if (!body.ok) return body
        const uncounted = body.bytes - declaredBytes(request, maxBytes)
        const limited = uncounted > 0 ? admission.call(customer, 0, uncounted) : undefined
        return limited ?? (hasKeys ? withoutKeys(body) : body)
      }

      const { reserve, breakOff } = env
      const answered =
        admission.call(customer, 1, declaredBytes(request, maxBytes)) ??
        (await call({ request, customer, query, address, read, reserve, breakOff }))
      return answered instanceof Response ? answered : { ...answered, customerId }
    }

    return async (request, peer, context) => {
      const answered = await answer(request, peer, context)
      if (answered instanceof Response) return answered
      if (answered.customerId) countRefusal(problems, answered.customerId, answered, page)
      metrics.refused(answered.status)
      return refuse(answered)
    }
  }
}

/** The REST key and the customer id, as they were sent. */
type Keys = { readonly k: string | null; readonly u: string | null }

const unauthorized = (message: string): Refusal => ({ ok: false, status: 401, message })

/** Which of the two is missing, for people. */
const missingOf = ({ k, u }: Keys): string =>
  k || u
    ? `The ${k ? 'customer id (u)' : 'REST key (k)'} is missing`
    : 'The REST key (k) and the customer id (u) are missing'

/** A body of another type, or a compressed one, has no keys. */
const notSearched = (missing: string, why: string): Refusal =>
  unauthorized(`${missing} in the query, and the body was not searched. ${why}`)

const tooLarge = (maxBytes: number): Refusal => ({
  ok: false,
  status: 413,
  message: `Expected a body of at most ${maxBytes} bytes`,
})

const TOO_LARGE_FOR_KEYS = unauthorized(
  `The REST key (k) or the customer id (u) is missing in the query. A body of more than ${MAX_KEYED_BYTES} bytes is not searched for them`,
)

/**
 * A text in a body, or a whole number, which PHP's JSON_NUMERIC_CHECK makes of an id of digits. Null if the body is no
 * object, or has no such field.
 */
function textOf(body: Body | undefined, name: string): string | null {
  const fields = body?.ok ? asObject(body.json) : undefined
  const value = fields && Object.hasOwn(fields, name) ? fields[name] : null
  return typeof value === 'string' || Number.isSafeInteger(value) ? `${value}` : null
}

/** A body without its keys, so that they are in no record, no fault and no answer. */
function withoutKeys(body: Body & { readonly ok: true }): Body {
  const fields = asObject(body.json)
  if (!fields || !(Object.hasOwn(fields, 'k') || Object.hasOwn(fields, 'u'))) return body
  const { k: _k, u: _u, ...json } = fields
  return { ...body, json }
}

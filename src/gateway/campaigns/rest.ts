import { MAX_EVENT_BYTES, validate } from '../../contract/index.ts'
import { type Admission, declaredBytes } from '../collect/admission.ts'
import { makeEventId } from '../collect/eventId.ts'
import type { EventLog } from '../collect/eventLog.ts'
import { asObject } from '../collect/verdicts.ts'
import type { CustomerLookup } from '../customers/customerLookup.ts'
import { type Customer, hasRestKey } from '../customers/customers.ts'
import type { KeyThrottle } from '../customers/keyThrottle.ts'
import type { Addresses } from '../http/address.ts'
import { answer, answerLarge, invalid, type Refusal, refuse, toJson } from '../http/answers.ts'
import { type Body, readJson } from '../http/body.ts'
import type { Metrics } from '../http/metrics.ts'
import { type Query, readQuery } from '../http/query.ts'
import type { Connected, RequestEnv } from '../http/requestEnv.ts'
import { createSemaphore } from '../http/semaphore.ts'
import type { ProblemRecorder } from '../problems/recorder.ts'
import { countRefusal } from '../problems/refusals.ts'
import { type CampaignOperations, MAX_CREATE_BYTES } from './campaignOperations.ts'
import { checkCredentials } from './restChecks.ts'

export type RestDependencies = {
  readonly customers: CustomerLookup
  readonly log: EventLog
  readonly operations: CampaignOperations
  readonly metrics: Metrics
  readonly admission: Admission
  readonly addresses: Addresses
  readonly keyThrottle: KeyThrottle
  readonly problems: Pick<ProblemRecorder, 'count' | 'refused' | 'list'>
  /** The clock, ms since 1970. */
  readonly now: () => number
}

/** Largest bodies, bytes of UTF-8; above them 413. */
export const MAX_FILTER_BYTES = 16_384
export const MAX_CHECK_BYTES = 4_096

/** A campaign whose body is larger than this, bytes, or of unknown length needs a permit of `LARGE_CREATES`. */
export const SMALL_CREATE_BYTES = 2 ** 18
/**
 * Large campaigns that are created at once, all customers together. Each takes several times the size of its body in
 * memory.
 */
export const LARGE_CREATES = {
  permits: 4,
  maxWaiting: 200,
  waitMs: 2_000,
  message: 'Too many large campaigns are being created',
}

/** One request with the right REST key. */
type Call = Pick<RequestEnv, 'readBody' | 'reserve'> & {
  readonly request: Request
  readonly customer: Customer
  readonly query: Query
  readonly address: string
}

/**
 * The routes under /api/v1, for servers that have the REST key (docs/decisions.md, "Paths"). No page can read an
 * answer, since a REST key must never be in a page.
 *
 * The handlers reject with Unavailable and with TooMany, as the operations do.
 */
export function createRest(dependencies: RestDependencies) {
  const { admission, addresses, customers, operations, metrics, keyThrottle, problems } =
    dependencies
  const largeCreates = createSemaphore(LARGE_CREATES)

  /** POST /api/v1/campaigns/list */
  async function list(call: Call): Promise<Response | Refusal> {
    const body = await read(call, MAX_FILTER_BYTES, { whenEmpty: {} })
    if (!body.ok) return body
    const listed = await operations.list(call.customer.customerId, body.json)
    return listed.ok ? answerLarge(toJson(listed.list), call.reserve) : listed
  }

  /** POST /api/v1/campaigns/create */
  async function create(call: Call): Promise<Response | Refusal> {
    const { request, customer } = call
    const release = isSmall(request) ? () => {} : await largeCreates.acquire(customer.customerId)
    try {
      const body = await read(call, MAX_CREATE_BYTES)
      if (!body.ok) return body
      const created = await operations.create(customer.customerId, body.json)
      return created.ok ? answer(200, created.record) : created
    } finally {
      release()
    }
  }

  /** GET /api/v1/get-latest-campaign */
  async function latest({ customer, query, reserve }: Call): Promise<Response | Refusal> {
    const found = await operations.latest(customer.customerId, query('limit') ?? undefined)
    return found.ok ? answerLarge(toJson(found.summaries), reserve) : found
  }

  /** GET /api/v1/campaigns/{id}/email/get-report */
  async function report({ request, customer, query }: Call): Promise<Response | Refusal> {
    const id = campaignIdOf(request.url)
    const reported = await operations.report(customer.customerId, id, query('bots') ?? undefined)
    return reported.ok ? answer(200, reported.report) : reported
  }

  /** POST /api/v1/custom_events: the operation sendCustomApi. */
  async function customEvent(call: Call): Promise<Response | Refusal> {
    const { customer } = call
    const body = await read(call, MAX_EVENT_BYTES)
    if (!body.ok) return body
    const checked = validate('sendCustomApi', body.json)
    if (!checked.ok)
      return {
        ...invalid('The event is invalid', checked.error.issues),
        refused: { operation: 'sendCustomApi', payload: asObject(body.json) ?? {} },
      }
    const receivedAt = dependencies.now()
    const id = makeEventId(receivedAt)
    const stored = await admission.append(customer, [
      {
        customer: customer.customerId,
        id,
        at: receivedAt,
        receivedAt,
        operation: 'sendCustomApi',
        event: checked.payload.event,
        did: null,
        bot: false,
        payload: JSON.stringify(checked.payload),
        version: null,
      },
    ])
    if (!stored.ok) return stored
    for (const outcome of stored.outcomes) metrics.event(outcome, false)
    return answer(200, { id })
  }

  /** GET /api/v1/problems: a ProblemList. */
  const listProblems = async ({ customer, reserve }: Call): Promise<Response> =>
    answerLarge(toJson(await problems.list(customer)), reserve)

  /** POST /api/v1/check-api-credentials: `guarded` has already checked the keys in the query. */
  async function checkApiKeys(call: Call): Promise<Response | Refusal> {
    const body = await read(call, MAX_CHECK_BYTES, { whenEmpty: {} })
    if (!body.ok) return body
    return body.json === null
      ? invalid('The request is invalid', [{ path: '', message: 'Expected no body' }])
      : answer(200, [])
  }

  /** POST /api/v1/check-credentials */
  async function checkAllKeys(call: Call): Promise<Response | Refusal> {
    const body = await read(call, MAX_CHECK_BYTES, { whenEmpty: {} })
    if (!body.ok) return body
    return checkCredentials(dependencies, body.json, call.address) ?? answer(200, [])
  }

  /**
   * Any other operation of the wider service: 501, since clients read a 404 as an unknown customer. Wrong keys are
   * reported first, as by every operation.
   */
  const notOffered = async (): Promise<Refusal> => ({
    ok: false,
    status: 501,
    message: 'This gateway does not offer this operation',
  })

  /** Reads a body. If its length was not declared, its bytes are counted here. */
  async function read(
    { request, customer, readBody }: Call,
    maxBytes: number,
    options?: { readonly whenEmpty: unknown },
  ): Promise<Body> {
    const body = await readJson(request, readBody, maxBytes, options)
    if (!body.ok) return body
    const uncounted = body.bytes - declaredBytes(request, maxBytes)
    return (uncounted > 0 ? admission.call(customer, 0, uncounted) : undefined) ?? body
  }

  /** docs/decisions.md, "Answers": a missing key is 401, an unknown customer 404, a wrong key 401. */
  function identify(
    query: Query,
    address: string,
    page: string,
  ): { ok: true; customer: Customer } | Refusal {
    const restKey = query('k')
    const customerId = query('u')
    if (!restKey || !customerId) {
      const both = 'The REST key (k) and the customer id (u) are missing'
      const one = `The ${restKey ? 'customer id (u)' : 'REST key (k)'} is missing`
      return unauthorized(restKey || customerId ? one : both)
    }
    const customer = customers.find(customerId)
    if (!customer)
      return { ok: false, status: 404, message: 'There is no customer with this id (u)' }
    if (hasRestKey(customer, restKey)) return { ok: true, customer }
    const fault = {
      source: 'gateway',
      reason: 'wrong_key',
      operation: '',
      path: 'k',
      page,
    } as const
    problems.count(customer.customerId, fault)
    return keyThrottle.refuseWrong(address, customerId, 'The REST key (k) is wrong')
  }

  /**
   * Makes a handler of a route: checks the REST key before the call, and counts refusals.
   *
   * @param page The path, for the list of problems.
   */
  const guarded =
    (page: string, call: (call: Call) => Promise<Response | Refusal>) =>
    async (
      request: Request,
      peer: string,
      { env }: Connected<'readBody' | 'reserve'>,
    ): Promise<Response> => {
      const query = readQuery(request.url)
      const address = addresses.visitor(request, peer)
      const identified = identify(query, address, page)
      const answered = identified.ok
        ? (admission.call(identified.customer, 1, declaredBytes(request, MAX_CREATE_BYTES)) ??
          (await call({
            request,
            customer: identified.customer,
            query,
            address,
            readBody: env.readBody,
            reserve: env.reserve,
          })))
        : identified
      if (answered instanceof Response) return answered
      if (identified.ok) countRefusal(problems, identified.customer.customerId, answered, page)
      metrics.refused(answered.status)
      return refuse(answered)
    }

  return {
    list: guarded('/api/v1/campaigns/list', list),
    create: guarded('/api/v1/campaigns/create', create),
    latest: guarded('/api/v1/get-latest-campaign', latest),
    report: guarded('/api/v1/campaigns/{id}/email/get-report', report),
    customEvent: guarded('/api/v1/custom_events', customEvent),
    listProblems: guarded('/api/v1/problems', listProblems),
    checkApiKeys: guarded('/api/v1/check-api-credentials', checkApiKeys),
    checkAllKeys: guarded('/api/v1/check-credentials', checkAllKeys),
    // Not the path itself, which is any text of the sender.
    notOffered: guarded('/api/v1', notOffered),
  }
}

const isSmall = ({ headers }: Request): boolean => {
  const length = headers.get('content-length')
  return length !== null && Number(length) <= SMALL_CREATE_BYTES
}

/** The segment after `campaigns`, decoded once. Empty if it can not be decoded: no campaign has an empty id. */
function campaignIdOf(url: string): string {
  const segment = /\/campaigns\/([^/?]*)/.exec(url)?.[1] ?? ''
  try {
    return decodeURIComponent(segment)
  } catch {
    return ''
  }
}

const unauthorized = (message: string): Refusal => ({ ok: false, status: 401, message })

import { MAX_EVENT_BYTES, validate } from '../../contract/index.ts'
import { makeEventId } from '../collect/eventId.ts'
import type { EventLog } from '../collect/eventLog.ts'
import { asObject } from '../collect/verdicts.ts'
import { answer, answerLarge, invalid, type Refusal, toJson } from '../http/answers.ts'
import type { Body } from '../http/body.ts'
import { createSemaphore } from '../http/semaphore.ts'
import type { ProblemRecorder } from '../problems/recorder.ts'
import type { Guard, GuardDependencies, RestCall } from '../rest/guard.ts'
import { type CampaignOperations, MAX_CREATE_BYTES } from './campaignOperations.ts'
import { checkCredentials } from './restChecks.ts'

export type RestDependencies = Pick<
  GuardDependencies,
  'admission' | 'customers' | 'keyThrottle' | 'metrics'
> & {
  readonly guarded: Guard
  readonly log: EventLog
  readonly operations: CampaignOperations
  readonly problems: Pick<ProblemRecorder, 'list'>
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

/**
 * The routes of campaigns and checks under /api/v1, for servers that have the REST key (docs/decisions.md, "Paths"). No page can read an
 * answer, since a REST key must never be in a page.
 *
 * The handlers reject with Unavailable and with TooMany, as the operations do.
 */
export function createRest(dependencies: RestDependencies) {
  const { admission, guarded, operations, metrics, problems } = dependencies
  const largeCreates = createSemaphore(LARGE_CREATES)

  /** POST /api/v1/campaigns/list */
  async function list(call: RestCall): Promise<Response | Refusal> {
    const body = await call.read()
    if (!body.ok) return body
    const listed = await operations.list(call.customer.customerId, body.json)
    return listed.ok ? answerLarge(toJson(listed.list), call.reserve) : listed
  }

  /** POST /api/v1/campaigns/create */
  async function create(call: RestCall): Promise<Response | Refusal> {
    const { request, customer } = call
    const release = isSmall(request) ? () => {} : await largeCreates.acquire(customer.customerId)
    try {
      const body = await call.read()
      if (!body.ok) return body
      const created = await operations.create(customer.customerId, campaignOf(body))
      return created.ok ? answer(200, created.record) : created
    } finally {
      release()
    }
  }

  /** GET /api/v1/get-latest-campaign */
  async function latest({ customer, query, reserve }: RestCall): Promise<Response | Refusal> {
    const found = await operations.latest(customer.customerId, query('limit') ?? undefined)
    return found.ok ? answerLarge(toJson(found.summaries), reserve) : found
  }

  /** GET /api/v1/campaigns/{id}/email/get-report */
  async function report({ request, customer, query }: RestCall): Promise<Response | Refusal> {
    const id = campaignIdOf(request.url)
    const reported = await operations.report(customer.customerId, id, query('bots') ?? undefined)
    return reported.ok ? answer(200, reported.report) : reported
  }

  /** POST /api/v1/custom_events: the operation sendCustomApi. */
  async function customEvent(call: RestCall): Promise<Response | Refusal> {
    const { customer } = call
    const body = await call.read()
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
  const listProblems = async ({ customer, reserve }: RestCall): Promise<Response> =>
    answerLarge(toJson(await problems.list(customer)), reserve)

  /** POST /api/v1/check-api-credentials: `guarded` has already checked the keys. */
  async function checkApiKeys(call: RestCall): Promise<Response | Refusal> {
    const body = await call.read()
    if (!body.ok) return body
    return body.json === null
      ? invalid('The request is invalid', [{ path: '', message: 'Expected no body' }])
      : answer(200, [])
  }

  /** POST /api/v1/check-credentials */
  async function checkAllKeys(call: RestCall): Promise<Response | Refusal> {
    const body = await call.read()
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

  const filter = { maxBytes: MAX_FILTER_BYTES, whenEmpty: {} }
  const check = { maxBytes: MAX_CHECK_BYTES, whenEmpty: {} }
  return {
    list: guarded('/api/v1/campaigns/list', filter, list),
    create: guarded('/api/v1/campaigns/create', { maxBytes: MAX_CREATE_BYTES }, create),
    latest: guarded('/api/v1/get-latest-campaign', undefined, latest),
    report: guarded('/api/v1/campaigns/{id}/email/get-report', undefined, report),
    customEvent: guarded('/api/v1/custom_events', { maxBytes: MAX_EVENT_BYTES }, customEvent),
    listProblems: guarded('/api/v1/problems', undefined, listProblems),
    checkApiKeys: guarded('/api/v1/check-api-credentials', check, checkApiKeys),
    checkAllKeys: guarded('/api/v1/check-credentials', { ...check, hasKeys: false }, checkAllKeys),
    // Not the path itself, which is any text of the sender. The body is read only for keys.
    notOffered: guarded('/api/v1', { maxBytes: MAX_EVENT_BYTES }, notOffered),
  }
}

/**
 * The campaign in a body. A form has texts for the two fields that are not texts, as PHP writes true, false and
 * numbers.
 */
function campaignOf({ json, isForm }: Body & { readonly ok: true }): unknown {
  const campaign = isForm ? asObject(json) : undefined
  if (!campaign) return json
  const [audience, scheduling] = [asObject(campaign.audience), asObject(campaign.scheduling)]
  return {
    ...campaign,
    ...(audience && {
      audience: { ...audience, smart_sending: read(audience.smart_sending, SWITCHES) },
    }),
    ...(scheduling && {
      scheduling: { ...scheduling, use_optimal_time: read(scheduling.use_optimal_time, NUMBERS) },
    }),
  }
}

const SWITCHES = new Map<unknown, unknown>([
  ['1', true],
  ['true', true],
  ['0', false],
  ['false', false],
])
const NUMBERS = new Map<unknown, unknown>([
  ['1', 1],
  ['0', 0],
])
const read = (text: unknown, values: ReadonlyMap<unknown, unknown>): unknown =>
  values.get(text) ?? text

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

import {
  findOperation,
  MAX_AGENT_CHARACTERS,
  MAX_EVENT_BYTES,
  UUID,
  validate,
} from '../../contract/index.ts'
import {
  type Answer,
  eventIdOf,
  invalid,
  jsonAnswer,
  OPEN_HEADERS,
  type Refusal,
  refusalAnswer,
} from '../http/answers.ts'
import { readJson } from '../http/body.ts'
import type { Metrics } from '../http/metrics.ts'
import { type Query, readEncodedQuery, readQuery } from '../http/query.ts'
import type { Connected } from '../http/requestEnv.ts'
import type { RequestHead } from '../http/requestHead.ts'
import { countRefusal } from '../problems/refusals.ts'
import { type Admission, expectedBytes, type Source } from './admission.ts'
import { createClockSkew } from './clockSkew.ts'
import { judgeConsent } from './consent.ts'
import type { DaySalt } from './daySalt.ts'
import { makeDidCookie } from './didCookie.ts'
import { makeEventId } from './eventId.ts'
import type { EventLog } from './eventLog.ts'
import { createIdentify, type IdentifyDependencies, type Sender } from './identify.ts'
import { createIsBot } from './isBot.ts'
import {
  areTooManyParameters,
  limitAddress,
  MAX_BATCH_PARAMETERS,
  makeCookieless,
  maskArrived,
} from './privacy.ts'
import { asObject, idOf, type Judged, type JudgedEvent, writeVerdicts } from './verdicts.ts'

/** The largest body of POST /t/batch, bytes of UTF-8: above it 413, and the page splits the batch. */
export const MAX_BATCH_BYTES = 2 ** 20
/** The most events in a batch: above it 413. */
export const MAX_BATCH_EVENTS = 500
/** The most values in a batch: above it 413. A page's event has 16. This many take 18 ms at worst. */
export const MAX_BATCH_VALUES = 20_000
/** The answer to a batch may be as large as the batch, and always as large as this, bytes. */
const MIN_ANSWER_BYTES = 1_024
/** How much longer a verdict is than a question without `at`, bytes. */
const ASK_ANSWER_BYTES = 16
/**
 * This many questions count as one event. An address may send 500 events a second, or 5,000 questions, which take 2 %
 * of the store's thread (4 microseconds each).
 */
const ASKS_PER_EVENT = 10

export type CollectDependencies = IdentifyDependencies & {
  readonly log: EventLog
  readonly admission: Admission
  readonly metrics: Metrics
  readonly daySalt: DaySalt
  /** The clock, ms since 1970. */
  readonly now: () => number
}

/** The facts about a request that complete the events in its body. */
type Arrival = {
  readonly sender: Sender
  readonly address: string
  readonly userAgent: string
  readonly sent: unknown
  readonly receivedAt: number
  /** Of the script. */
  readonly version: string | null
}

/** What is sent of one event. */
type SentEvent = {
  readonly id: unknown
  readonly at: unknown
  readonly consent: unknown
  readonly payload: unknown
}

/**
 * Receives events: one by POST /t/r, several by POST /t/batch. Each is completed with the sender's address, user agent
 * and corrected time, checked against the full contract, stored, and only then acknowledged. Visits from addresses that
 * the customer ignores are acknowledged with `ignored` and not stored. A question about such a visit is answered 404.
 * The page then sends it again, and it is ignored again.
 *
 * The handlers reject with Unavailable, as the log does.
 */
export function createCollect(dependencies: CollectDependencies) {
  const { admission, log, metrics, problems } = dependencies
  const identify = createIdentify(dependencies)
  const isBot = createIsBot()
  const correctTime = createClockSkew()

  /** POST /t/r: the body is one payload; `id`, `at`, `sent` and `consent` travel in the query. */
  async function collectOne(
    request: RequestHead,
    peer: string,
    { env }: Connected<'readBody'>,
  ): Promise<Answer> {
    const query = readQuery(request.url)
    const sender = identify(query, request, peer, '/t/r')
    const source = toSource(sender, request, peer)
    const bytes = expectedBytes(request, MAX_EVENT_BYTES)
    const early = admission.arrive(source, bytes)
    if (early) return refusedOne(early, request)
    if (!sender.ok) {
      sender.count?.()
      return refusedOne(sender, request)
    }
    const { customerId } = sender.customer
    const body = await readJson(request, env.readBody, MAX_EVENT_BYTES)
    if (!body.ok) {
      countRefusal(problems, customerId, body, '/t/r')
      return refusedOne(body, request)
    }
    const late = admission.admit(source, 1, body.bytes, bytes)
    if (late) return refusedOne(late, request)
    takeReport(sender, request)
    const arrival = arrive(source, sender, numberOf(query('sent')), query)
    const judged = judge(
      {
        id: query('id') ?? undefined,
        at: numberOf(query('at')),
        consent: query('consent'),
        payload: body.json,
      },
      arrival,
    )
    if (!judged.ok) {
      countRefusal(problems, customerId, judged, '/t/r')
      return refusedOne(judged, request)
    }
    if (judged.isIgnored) {
      metrics.ignored()
      return jsonAnswer(200, { id: judged.id, ignored: true }, OPEN_HEADERS)
    }
    admission.accept(source, 1, body.bytes)
    const stored = await admission.append(sender.customer, [judged.event])
    if (!stored.ok) return refusedOne(stored, request)
    for (const outcome of stored.outcomes) metrics.event(outcome, judged.event.bot)
    return jsonAnswer(200, { id: judged.id }, keepDid(judged, source, query))
  }

  /**
   * POST /t/batch: `{"sent", "events": [{"id", "at", "consent", "payload"}]}`. The answer has one verdict an event, in
   * order.
   *
   * An envelope without `payload` is a question: is this id stored? Its verdict is 200 or 404. A batch of questions is
   * answered 200 if all are stored, otherwise 207, so that a page that can not read the body knows the result. (The
   * browser would log a 404 as an error in the page's console.)
   */
  async function collectBatch(
    request: RequestHead,
    peer: string,
    { env }: Connected<'readBody'>,
  ): Promise<Answer> {
    const query = readQuery(request.url)
    const sender = identify(query, request, peer, '/t/batch')
    const source = toSource(sender, request, peer)
    const bytes = expectedBytes(request, MAX_BATCH_BYTES)
    const early = admission.arrive(source, bytes)
    if (early) return refused(early)
    if (!sender.ok) {
      sender.count?.()
      return refused(sender)
    }
    const { customerId } = sender.customer
    const refusedBatch = (refusal: Refusal): Answer => {
      countRefusal(problems, customerId, refusal, '/t/batch')
      return refused(refusal)
    }
    const body = await readJson(request, env.readBody, MAX_BATCH_BYTES, {
      maxValues: MAX_BATCH_VALUES,
    })
    if (!body.ok) return refusedBatch(body)
    const { sent, events } = asObject(body.json) ?? {}
    if (!Array.isArray(events))
      return refusedBatch(
        invalid('The batch is invalid', [{ path: 'events', message: 'Expected a list of events' }]),
      )
    if (events.length > MAX_BATCH_EVENTS)
      return refusedBatch({
        ok: false,
        status: 413,
        message: `Expected a batch of at most ${MAX_BATCH_EVENTS} events`,
      })
    if (areTooManyParameters(events.map(urlOf)))
      return refusedBatch({
        ok: false,
        status: 413,
        message: `Expected a batch whose URLs have at most ${MAX_BATCH_PARAMETERS} parameters (an encoded one counts as 9)`,
      })
    const asks = events.filter(isAsk).length
    const late = admission.admit(
      source,
      Math.max(costOf(events.length - asks, asks), 1),
      body.bytes,
      bytes,
    )
    if (late) return refused(late)
    takeReport(sender, request)
    const arrival = arrive(source, sender, sent, query)
    const mayBeTooLarge = body.bytes > MAX_EVENT_BYTES
    const judged = events.map((envelope) => judgeEnvelope(envelope, arrival, mayBeTooLarge))
    const good = judged.flatMap((one) => (one.ok && one.event && !one.isIgnored ? [one.event] : []))
    const asked = judged.flatMap((one) => (one.ok && !one.event ? [one.id] : []))
    const maxBytes = Math.max(MIN_ANSWER_BYTES, body.bytes + asked.length * ASK_ANSWER_BYTES)
    const written = writeVerdicts(judged, events, maxBytes)
    if (!written.ok) return refused(written)
    for (const one of judged) if (!one.ok) countRefusal(problems, customerId, one, '/t/batch')
    const acceptedBytes = good.reduce((sum, { payload }) => sum + payload.length, 0)
    admission.accept(source, costOf(good.length, asked.length), Math.min(acceptedBytes, body.bytes))
    // The append comes first, so that a batch with an event and a question about it reports the event as stored.
    const [stored, known] = await Promise.all([
      admission.append(sender.customer, good),
      asked.length > 0 ? log.has(sender.customer.customerId, asked) : [],
    ])
    if (!stored.ok) return refused(stored)
    stored.outcomes.forEach((outcome, i) => {
      metrics.event(outcome, good[i]?.bot ?? false)
    })
    for (const isStored of known) metrics.asked(isStored)
    for (const one of judged) {
      if (!one.ok) metrics.refused(one.status, one.reason)
      else if (one.event && one.isIgnored) metrics.ignored()
    }
    const missing = new Set(asked.filter((_, i) => !known[i]))
    const answered = missing.size > 0 ? writeVerdicts(judged, events, maxBytes, missing) : written
    if (!answered.ok) return refused(answered)
    const hasUnknown = asks === events.length && (missing.size > 0 || asked.length < asks)
    const last = judged.filter((one) => one.ok && one.event && !one.isIgnored).at(-1)
    return {
      status: hasUnknown ? 207 : 200,
      headers: keepDid(last, source, query),
      body: answered.text,
    }
  }

  /** Counts what a page reports of its own. A server has no report. */
  function takeReport({ customer, isServer }: Sender, { url }: RequestHead): void {
    const report = isServer ? null : readEncodedQuery(url)('p')
    if (report !== null) problems.report(customer.customerId, report)
  }

  const toSource = (sender: Sender | Refusal, request: RequestHead, peer: string): Source => ({
    customer: sender.ok ? sender.customer : undefined,
    isServer: sender.ok && sender.isServer,
    address: dependencies.addresses.visitor(request, peer),
    request,
    peer,
  })

  const arrive = (
    { address, request }: Source,
    sender: Sender,
    sent: unknown,
    query: Query,
  ): Arrival => ({
    sender,
    address,
    userAgent: request.headers.get('user-agent') ?? '',
    sent,
    receivedAt: dependencies.now(),
    version: versionOf(query('v')),
  })

  function judgeEnvelope(envelope: unknown, arrival: Arrival, mayBeTooLarge: boolean): Judged {
    const given = asObject(envelope)
    if (!given) return invalidEvent('', 'Expected {id, at, payload}')
    if (isAsk(given)) {
      const id = idOf(given)
      return id ? { ok: true, id } : invalidEvent('id', 'Expected a UUID')
    }
    if (mayBeTooLarge && bytesOf(given.payload) > MAX_EVENT_BYTES)
      return {
        ok: false,
        status: 413,
        message: `Expected an event of at most ${MAX_EVENT_BYTES} bytes`,
      }
    const { id, at, consent, payload } = given
    return judge({ id: id ?? undefined, at, consent, payload }, arrival)
  }

  /** Completes one payload, removes what must not be kept, checks it, and makes the event for the log. */
  function judge({ id, at, consent: said, payload }: SentEvent, arrival: Arrival): JudgedEvent {
    const { sender, address, userAgent, sent, receivedAt, version } = arrival
    const { customer, isServer } = sender
    if (id !== undefined && !(typeof id === 'string' && UUID.test(id)))
      return invalidEvent('id', 'Expected a UUID')
    const given = asObject(payload)
    if (!given) return invalidEvent('', 'Expected an object with the event’s fields')
    const consent = judgeConsent(customer, isServer, given.did, said)
    if (!consent.ok) return consent
    const eventId = id ?? makeEventId(receivedAt)
    if (!isServer || isMissing(given.remote_addr)) given.remote_addr = address
    if (isMissing(given.http_user_agent, MAX_AGENT_CHARACTERS)) given.http_user_agent = userAgent
    if (consent.isCookieless)
      makeCookieless(given, customer.customerId, eventId, dependencies.daySalt(receivedAt))
    limitAddress(given, customer)
    const operation = findOperation(given, customer.operations, customer.config.eventPrefix)
    const checked = validate(operation, given)
    if (!checked.ok)
      return {
        ...invalid('The event is invalid', checked.error.issues),
        refused: { operation, payload: given },
      }
    const url = maskArrived(checked.payload.url, customer.masked)
    // Most are unchanged, and the text that `replace` has put together takes longer to write as JSON.
    const stored = url === checked.payload.url ? checked.payload : { ...checked.payload, url }
    const event = {
      customer: customer.customerId,
      id: eventId,
      at: correctTime(`${customer.customerId} ${stored.did}`, at, sent, receivedAt),
      receivedAt,
      operation,
      event: stored.event,
      did: stored.did,
      bot: isBot(stored.http_user_agent),
      payload: JSON.stringify(stored),
      version,
      cookieless: consent.isCookieless,
    }
    return {
      ok: true,
      event,
      id: event.id,
      isIgnored: !isServer && customer.isIgnored(address),
      isCookieless: consent.isCookieless,
    }
  }

  /**
   * The headers of an answer to accepted events, with the cookie of first-party mode.
   *
   * @param last The last one of the events. A page that was reset has sent the others with an earlier did.
   */
  function keepDid(last: Judged | undefined, source: Source, query: Query): Record<string, string> {
    const { customer, isServer, request, peer } = source
    if (!customer?.config.firstParty || isServer || !last?.ok || !last.event) return OPEN_HEADERS
    const cookie = makeDidCookie(customer, {
      did: last.isCookieless ? undefined : (last.event.did ?? undefined),
      origin: request.headers.get('origin'),
      asked: dependencies.addresses.asked(request, peer),
      domain: query('domain'),
    })
    return cookie ? { ...OPEN_HEADERS, 'set-cookie': cookie } : OPEN_HEADERS
  }

  function refused(refusal: Refusal): Answer {
    metrics.refused(refusal.status, refusal.reason)
    return refusalAnswer(refusal, OPEN_HEADERS)
  }

  const refusedOne = (refusal: Refusal, { url }: RequestHead): Answer =>
    refused({ ...refusal, id: eventIdOf(url) })

  return { collectOne, collectBatch }
}

const invalidEvent = (path: string, message: string): Refusal =>
  invalid('The event is invalid', [{ path, message }])

/** How many events a batch counts as. */
const costOf = (events: number, asks: number): number => events + Math.ceil(asks / ASKS_PER_EVENT)

/** The version of a script, as the script itself says it. Anybody can send another one, or anything else. */
const versionOf = (text: string | null): string | null =>
  text !== null && /^[\w.+-]{1,32}$/.test(text) ? text : null

const numberOf = (text: string | null): number => (text ? Number(text) : Number.NaN)

/** Absent or blank. Only the first `maxCharacters` count, since the rest of a user agent is cut off. */
const isMissing = (value: unknown, maxCharacters?: number): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'string' && !value.slice(0, maxCharacters).trim())

/** Size of a payload as JSON, bytes. */
const bytesOf = (payload: unknown): number => Buffer.byteLength(JSON.stringify(payload ?? null))

/** An envelope without `payload` is the question whether its event is stored. */
const isAsk = (envelope: unknown): boolean => {
  const given = asObject(envelope)
  return given !== undefined && given.payload === undefined
}

const urlOf = (envelope: unknown): unknown => asObject(asObject(envelope)?.payload)?.url

import { custom, optional, pipe, rawCheck, record, string } from 'valibot'
import type { ByteStream, Fetch, FetchedAnswer } from '../../client/fetch.ts'
import { forwardEvent } from '../../client/forward.ts'
import { type ClientOptions, readClientOptions } from '../../client/options.ts'
import type { ApiException, TrackingOperation } from '../../contract/index.ts'
import { ValidationException } from '../../contract/index.ts'
import { isRecordOperation } from '../../contract/recordOperations.ts'
import { readRetryAfter } from '../../contract/retryAfter.ts'
import { endpoint } from './endpoint.ts'
import type { Delivery, ForwardEvent, Kind, Sender, SenderDependencies } from './kind.ts'
import { settingsObject } from './settingsObject.ts'

/** Time for a request and its answer, ms. */
const TIMEOUT_MS = 20_000
/** The most that is read of an answer, bytes: that to an event has some hundred. */
const MAX_ANSWER_BYTES = 65_536
/** Statuses that are about the event. It would be refused again. */
const FINAL: ReadonlySet<number> = new Set([400, 413, 422])
/** Statuses of a wrong address or a wrong key. Events wait until an operator has corrected it. */
const MISCONFIGURED: ReadonlyMap<number, string> = new Map([
  [401, 'Check restKey and trackingKey'],
  [403, 'Check restKey and trackingKey'],
  [404, 'Check baseUrl, its paths and customerId'],
  [405, 'Check baseUrl and its paths'],
])
/** What takes the place of a field that the destination does not get, but that the service needs. */
const NEUTRAL = {
  remote_addr: '0.0.0.0',
  http_user_agent: 'unknown',
}
const NAMES = { firstname: '', lastname: '', phone: '' }

const text = string('Expected text')

/** The settings of the client, with the client's own checks. */
const settings = pipe(
  settingsObject({
    /** The address of the service's API. */
    baseUrl: endpoint,
    customerId: text,
    restKey: text,
    trackingKey: text,
    apiPath: optional(text),
    trackingPath: optional(text),
    /** Event names in place of those of the events, by operation. */
    events: optional(
      record(
        string(),
        custom<string>((value) => typeof value === 'string'),
      ),
    ),
  }),
  rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    try {
      readClientOptions(dataset.value)
    } catch (error) {
      for (const { path, message } of (error as ValidationException).issues)
        addIssue({ message: path ? `${path}: ${message}` : message })
    }
  }),
)

type ServiceSettings = {
  readonly baseUrl: string
  readonly customerId: string
  readonly restKey: string
  readonly trackingKey: string
  readonly apiPath?: string | undefined
  readonly trackingPath?: string | undefined
  readonly events?: Readonly<Record<string, string>> | undefined
}

/** The API of the marketing service, or of another gateway: every operation that the log has. */
export const service: Kind<ServiceSettings> = {
  name: 'service',
  settings,
  secrets: ['restKey'],
  required: [
    ...['did', 'event', 'url', 'email_address', 'email'],
    ...['product_id', 'quantity', 'variation', 'search_term'],
    ...['number', 'products', 'total_value', 'discount_value', 'shipping', 'tax'],
    ...['order_number', 'order_status'],
  ],
  keepsLast: true,
  maxEvents: 1,
  describe: ({ baseUrl, customerId }) => `${new URL(baseUrl).host}, customer ${customerId}`,
  open: createServiceSender,
}

function createServiceSender(
  { events = {}, ...given }: ServiceSettings,
  { fetch, now }: SenderDependencies,
): Sender {
  const options = readClientOptions({
    ...given,
    events,
    timeoutMs: TIMEOUT_MS,
    fetch: boundAnswers(fetch),
  } as ClientOptions)

  async function sendOne(
    { operation, event, id, at, payload }: ForwardEvent,
    signal: AbortSignal,
  ): Promise<Delivery> {
    const name = events[operation] ?? event
    const complete = isRecordOperation(operation)
      ? payload
      : completed(operation, { ...payload, event: name })
    const forwarded = await forwardEvent(options, { operation, id, at, payload: complete }, signal)
    if (forwarded.ok) return { status: 'delivered' }
    const { error, retryAfter } = forwarded
    return error instanceof ValidationException
      ? { status: 'refused', reason: error.message }
      : judge(error, retryAfter?.trim())
  }

  function judge({ status, message }: ApiException, retryAfter: string | undefined): Delivery {
    if (FINAL.has(status)) return { status: 'refused', reason: message }
    const advice = MISCONFIGURED.get(status)
    return {
      status: 'failed',
      reason: advice ? `${advice}. ${message}` : message,
      ...(retryAfter && { retryAfterMs: Math.max(0, readRetryAfter(retryAfter, now())) }),
    }
  }

  return {
    send: (events, signal) => Promise.all(events.map((event) => sendOne(event, signal))),
    close: async () => {},
  }
}

/** An event with what the destination does not get filled in. */
function completed(operation: string, payload: Readonly<Record<string, unknown>>): unknown {
  if (operation === ('sendCustomApi' satisfies string)) return payload
  const isSetEmail = operation === ('setEmail' satisfies TrackingOperation)
  return { ...NEUTRAL, ...(isSetEmail && NAMES), ...payload }
}

/** A fetch whose answers end after MAX_ANSWER_BYTES. What is cut off is no JSON, so the event counts as failed. */
function boundAnswers(fetch: SenderDependencies['fetch']): Fetch {
  return async (url, init) => {
    const answer: FetchedAnswer = await fetch(url, init as RequestInit)
    const { status, headers, body, type = 'default', redirected = false } = answer
    return {
      status,
      headers,
      type,
      redirected,
      url: answer.url ?? '',
      body: body ? boundStream(body) : null,
      text: () => answer.text(),
    }
  }
}

function boundStream(body: ByteStream): ByteStream {
  return {
    getReader() {
      const reader = body.getReader()
      let left = MAX_ANSWER_BYTES
      return {
        async read() {
          if (left <= 0) return { done: true }
          const { done, value } = await reader.read()
          left -= value?.length ?? 0
          return { done, value }
        },
        cancel: () => reader.cancel(),
      }
    },
  }
}

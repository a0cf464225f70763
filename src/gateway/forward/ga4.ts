import { type Ga4Hit, toGa4 } from './ga4Event.ts'
import { type Ga4Destination, ga4Settings } from './ga4Settings.ts'
import type { Delivery, ForwardEvent, Kind, Sender, SenderDependencies } from './kind.ts'
import { type Posted, post } from './post.ts'

const GOOGLE = 'https://www.google-analytics.com'
/** The most events of one call. They are those of many devices, and a request has only those of one. */
const MAX_EVENTS = 100
/** The most events of a request (a limit of the protocol). */
const MAX_REQUEST_EVENTS = 25
/** The largest events of a request together, bytes: its body must be smaller than 130 kB. */
const MAX_REQUEST_BYTES = 100_000
/** Requests of different devices at once. */
const MAX_AT_ONCE = 8
/** The most that is read of a validation, bytes. */
const MAX_ANSWER_BYTES = 65_536
/** The most of Google's message in a reason, characters. */
const MAX_MESSAGE_CHARACTERS = 300

/**
 * Google Analytics 4 by its Measurement Protocol
 * (https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference). It answers 2xx to everything,
 * and does not know an event that it has already got.
 */
export const ga4: Kind<Ga4Destination> = {
  name: 'ga4',
  settings: ga4Settings,
  secrets: ['apiSecret'],
  // Each event belongs to a client id, which is made from one of these.
  required: ['did', 'number', 'order_number', 'order_status'],
  maxEvents: MAX_EVENTS,
  describe: ({ measurementId, endpoint = GOOGLE }) =>
    `${measurementId} at ${new URL(endpoint).host}`,
  open: createGa4Sender,
}

/** Events that are sent together, and their places in the batch. */
type Request = {
  readonly fields: Ga4Hit['request']
  readonly key: string
  readonly events: Ga4Hit['event'][]
  readonly places: number[]
  bytes: number
}

function createGa4Sender(settings: Ga4Destination, dependencies: SenderDependencies): Sender {
  const { measurementId, apiSecret, endpoint = GOOGLE, validate = false } = settings
  const maxEvents = validate ? 1 : MAX_REQUEST_EVENTS
  const path = validate ? '/debug/mp/collect' : '/mp/collect'
  const query = new URLSearchParams({ measurement_id: measurementId, api_secret: apiSecret })
  const url = `${new URL(path, endpoint)}?${query}`

  async function send(
    events: readonly ForwardEvent[],
    signal: AbortSignal,
  ): Promise<readonly Delivery[]> {
    const deliveries: Delivery[] = events.map(() => ({ status: 'delivered' }))
    const devices = new Map<string, Request[]>()
    const refunds = dependencies.refundStatuses()
    for (const [place, event] of events.entries()) {
      const mapped = toGa4(event, settings, dependencies.now(), refunds)
      if (mapped.hit) add(devices, mapped.hit, place)
      else if (mapped.refused) deliveries[place] = { status: 'refused', reason: mapped.refused }
    }
    // After a failure nothing more is sent, since the next requests would most likely fail too.
    let failure: Delivery | undefined
    const queue = [...devices.values()]
    async function drain(): Promise<void> {
      for (let requests = queue.shift(); requests; requests = queue.shift())
        for (const request of requests) {
          const delivery = failure ?? (await attempt(request, signal))
          if (delivery.status === 'failed') failure = delivery
          for (const place of request.places) deliveries[place] = delivery
        }
    }
    await Promise.all(Array.from({ length: MAX_AT_ONCE }, drain))
    return deliveries
  }

  /** Adds an event to the last request of its device, or begins a new one. */
  function add(devices: Map<string, Request[]>, { request, event }: Ga4Hit, place: number): void {
    const requests = devices.get(request.client_id) ?? []
    devices.set(request.client_id, requests)
    const key = JSON.stringify(request)
    const bytes = Buffer.byteLength(JSON.stringify(event))
    const last = requests.at(-1)
    if (
      last?.key === key &&
      last.events.length < maxEvents &&
      last.bytes + bytes <= MAX_REQUEST_BYTES
    ) {
      last.events.push(event)
      last.places.push(place)
      last.bytes += bytes
    } else requests.push({ fields: request, key, events: [event], places: [place], bytes })
  }

  async function attempt({ fields, events }: Request, signal: AbortSignal): Promise<Delivery> {
    const strict = validate && { validation_behavior: 'ENFORCE_RECOMMENDATIONS' }
    const posted = await post(dependencies, url, {
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ ...fields, ...strict, events })),
      signal,
      maxBytes: validate ? MAX_ANSWER_BYTES : 0,
    })
    return judge(posted, validate)
  }

  return { send, close: async () => {} }
}

/** The protocol refuses no event, so every other answer than 2xx is about the server or the address. */
function judge(posted: Posted, validate: boolean): Delivery {
  if (posted.status === undefined) return { status: 'failed', reason: posted.reason }
  const { status, retryAfterMs, text } = posted
  if (status < 200 || status > 299)
    return {
      status: 'failed',
      reason: `HTTP ${status}`,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    }
  return validate ? readValidation(text) : { status: 'delivered' }
}

/** Reads `{"validationMessages": [{"description", "fieldPath"}]}`: an empty list means that the event is right. */
function readValidation(text: string): Delivery {
  const messages = messagesOf(text)
  if (!messages) return { status: 'failed', reason: 'The answer of the validation can not be read' }
  const [first] = messages
  if (!first) return { status: 'delivered' }
  const { description, fieldPath } = Object(first) as Record<string, unknown>
  const message = fieldPath ? `${description} (${fieldPath})` : `${description}`
  return { status: 'refused', reason: `Google says: ${message.slice(0, MAX_MESSAGE_CHARACTERS)}` }
}

function messagesOf(text: string): readonly unknown[] | undefined {
  try {
    const { validationMessages } = Object(JSON.parse(text)) as Record<string, unknown>
    return Array.isArray(validationMessages) ? validationMessages : undefined
  } catch {
    return undefined
  }
}

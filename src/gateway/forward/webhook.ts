import { createHash, createHmac } from 'node:crypto'
import { check, type InferOutput, pipe, string } from 'valibot'
import { endpoint } from './endpoint.ts'
import { eventJson } from './eventJson.ts'
import type { Delivery, Kind, Sender, SenderDependencies } from './kind.ts'
import { type Posted, post } from './post.ts'
import { settingsObject } from './settingsObject.ts'

/** Version of the body's shape. It grows when a field gets another meaning. */
const BODY_VERSION = 1
/** The most events of a request. */
const MAX_EVENTS = 100
/** The largest body with more than one event, bytes. One event is smaller. */
const MAX_BODY_BYTES = 512 * 1024
/** The most secrets at once: during a rotation there are two. */
const MAX_SECRETS = 5
/** Length of a secret, bytes, as the specification has it. */
const SECRET_BYTES = { min: 24, max: 64 }

const SECRET_MESSAGE = `Expected whsec_ and the base64 of ${SECRET_BYTES.min} to ${SECRET_BYTES.max} random bytes, or up to ${MAX_SECRETS} of them with spaces between. One is made by: printf 'whsec_%s\\n' "$(openssl rand -base64 32)"`

const settings = settingsObject({
  /** Where the batches are sent to. */
  url: endpoint,
  /** One secret, or several with spaces between while the receiver changes from one to the next. */
  secret: pipe(
    string(SECRET_MESSAGE),
    check((text) => areSecrets(text.trim().split(/\s+/)), SECRET_MESSAGE),
  ),
})

type WebhookSettings = InferOutput<typeof settings>

/**
 * Signed batches of events by POST, as the Standard Webhooks specification has them
 * (https://www.standardwebhooks.com, version 1.0.0).
 */
export const webhook: Kind<WebhookSettings> = {
  name: 'webhook',
  settings,
  secrets: ['secret'],
  maxEvents: MAX_EVENTS,
  // Without the path, which some services use as a password.
  describe: ({ url }) => new URL(url).origin,
  open: createWebhookSender,
}

function createWebhookSender(
  { url, secret }: WebhookSettings,
  dependencies: SenderDependencies,
): Sender {
  const { destinationId, customer, now } = dependencies
  const keys = secret.trim().split(/\s+/).map(keyOf)
  const head = `{"type":"events","version":${BODY_VERSION},"customer":${JSON.stringify(customer)},"events":[`

  /** An answer is for a whole batch, so one that is refused or too large is divided until the event is found. */
  async function deliver(rows: readonly Row[], signal: AbortSignal): Promise<readonly Delivery[]> {
    const isTooLarge = rows.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_BODY_BYTES
    if (rows.length === 1 || !isTooLarge) {
      const delivery = judge(await attempt(rows, signal))
      if (rows.length === 1 || delivery.status !== 'refused') return rows.map(() => delivery)
    }
    const half = Math.ceil(rows.length / 2)
    const first = await deliver(rows.slice(0, half), signal)
    const rest = rows.slice(half)
    const failed = first.find(({ status }) => status === 'failed')
    // Nothing is sent after a failure, so that the events of a device stay in order.
    return [...first, ...(failed ? rest.map(() => failed) : await deliver(rest, signal))]
  }

  function attempt(rows: readonly Row[], signal: AbortSignal): Promise<Posted> {
    const id = makeId([destinationId, ...rows.map((row) => row.id)])
    const timestamp = Math.floor(now() / 1000)
    const body = Buffer.from(`${head}${rows.map(({ json }) => json).join(',')}]}`)
    const signatures = keys.map((key) =>
      createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64'),
    )
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': `${timestamp}`,
      'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
    }
    return post(dependencies, url, { headers, body, signal })
  }

  return {
    send: (events, signal) =>
      deliver(
        events.map((event) => {
          const json = eventJson(event)
          return { id: event.id, json, bytes: Buffer.byteLength(json) }
        }),
        signal,
      ),
    close: async () => {},
  }
}

type Row = { readonly id: string; readonly json: string; readonly bytes: number }

/** The same for each repeat of a batch, so that a receiver can recognise it. It contains no dot, as specified. */
const makeId = (parts: readonly string[]): string =>
  `msg_${createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 27)}`

/** Client errors that are not about the events of the request: they stay until somebody changes a setting. */
const MISCONFIGURED: ReadonlyMap<number, string> = new Map([
  [401, 'Check the secret'],
  [402, 'Its account may need attention'],
  [403, 'Check the secret, and whether it takes requests from this machine'],
  [404, 'Check the address'],
  [405, 'Check the address: it does not take POST'],
  [407, 'A proxy wants credentials'],
  [410, 'It wants no more events. Remove this destination, or set its new address'],
  [421, 'Check the address'],
  [426, 'It wants another protocol'],
  [431, 'It takes no headers of this size'],
  [451, 'It may not take events for legal reasons'],
])
/** Client errors that pass by themselves. */
const TEMPORARY = new Set([408, 425, 429])

/** What an answer says of each event of its batch. */
function judge(posted: Posted): Delivery {
  if (posted.status === undefined) return { status: 'failed', reason: posted.reason }
  const { status, retryAfterMs } = posted
  if (status >= 200 && status < 300) return { status: 'delivered' }
  const fail = (advice?: string): Delivery => ({
    status: 'failed',
    reason: advice ? `HTTP ${status}. ${advice}` : `HTTP ${status}`,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
  if (status >= 300 && status < 400) return fail('Redirects are not followed. Set the new address')
  const advice = MISCONFIGURED.get(status)
  if (advice || status >= 500 || TEMPORARY.has(status)) return fail(advice)
  return { status: 'refused', reason: `The receiver refused it (HTTP ${status})` }
}

/** Bytes of a secret. Undefined if it is none. */
function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice('whsec_'.length), 'base64')
}

function areSecrets(texts: readonly string[]): boolean {
  return (
    texts.length <= MAX_SECRETS &&
    texts.every((text) => {
      const { length } = keyOf(text)
      return (
        /^whsec_[A-Za-z\d+/]+={0,2}$/.test(text) &&
        length >= SECRET_BYTES.min &&
        length <= SECRET_BYTES.max
      )
    })
  )
}

import { type Issue, UUID } from '../../contract/index.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { Reserve } from './bodyBudget.ts'
import { readQuery } from './query.ts'

/** An event that is refused because of its payload. */
export type Refused = {
  readonly operation: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** Why a request, or one event of a batch, is refused. */
export type Refusal = {
  readonly ok: false
  readonly status: number
  readonly message: string
  readonly issues?: readonly Issue[]
  /** Why, for the metrics. It is not part of the answer. */
  readonly reason?: 'no_consent'
  /** The event that is refused, for the list of problems. It is not part of the answer. */
  readonly refused?: Refused
  /** The id of the event, if one was sent. A page accepts a refusal as final only if it contains the id. */
  readonly id?: string | undefined
  /** When to send it again, whole seconds: the header Retry-After. */
  readonly retryAfterSeconds?: number
}

/** A refusal that has only a status and a message. */
export const refusal = (status: number, message: string): Refusal => ({
  ok: false,
  status,
  message,
})

/**
 * The refusal of an invalid payload: 422 with every fault.
 *
 * @param message What is invalid. The first fault is added to it, since many clients show only the message.
 * @param issues At least one.
 */
export function invalid(message: string, issues: readonly Issue[]): Refusal {
  const { path, message: fault } = issues[0] as Issue
  const first = path ? `${path}: ${fault}` : fault
  return { ok: false, status: 422, message: `${message}: ${first}`, issues }
}

/** Headers of every JSON answer. */
export const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

/**
 * Headers of every JSON answer under /t: any page may read it, errors too. No cookie of a request is used there, and the
 * customer's origins are checked in the request.
 */
export const OPEN_HEADERS = {
  ...JSON_HEADERS,
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Retry-After',
}

/** The headers of an answer to a path: readable by any page under /t, and only by the gateway's own pages elsewhere. */
export const headersFor = (path: string): Record<string, string> =>
  path === '/t' || path.startsWith('/t/') ? OPEN_HEADERS : JSON_HEADERS

/** An answer before it is written. Content-Length is added if it is missing. */
export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Null: no body. */
  readonly body: string | Uint8Array<ArrayBuffer> | null
}

export const toResponse = ({ status, headers, body }: Answer): Response =>
  new Response(body, { status, headers })

/** A JSON answer. */
export const jsonAnswer = (
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = JSON_HEADERS,
): Answer => ({ status, headers, body: JSON.stringify(body) })

/** A JSON answer, as a Response. */
export const answer = (
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
): Response => toResponse(jsonAnswer(status, body, headers))

/** A value as JSON, UTF-8. */
export const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

/**
 * A 200 whose JSON may be megabytes.
 *
 * @throws Unavailable if the answers and bodies in memory leave no room for it.
 */
export function answerLarge(json: Uint8Array, reserve: Reserve): Response {
  if (!reserve(json.length)) throw new Unavailable('Too many large answers are being sent', 2)
  return new Response(json, { headers: JSON_HEADERS })
}

/** A JSON error: `{"id"?, "message", "issues"?}`. */
export const refusalAnswer = (
  { status, message, issues, id, retryAfterSeconds }: Omit<Refusal, 'ok'>,
  headers: Readonly<Record<string, string>> = JSON_HEADERS,
): Answer =>
  jsonAnswer(
    status,
    { id, message, issues },
    retryAfterSeconds === undefined
      ? headers
      : { ...headers, 'retry-after': `${retryAfterSeconds}` },
  )

/** A JSON error, as a Response. */
export const refuse = (
  refusal: Omit<Refusal, 'ok'>,
  headers?: Readonly<Record<string, string>>,
): Response => toResponse(refusalAnswer(refusal, headers))

/** The id in the query of POST /t/r. Undefined if it is not a UUID, and for other paths. */
export function eventIdOf(url: string): string | undefined {
  const start = url.indexOf('?')
  if (start < 0 || !url.slice(0, start).endsWith('/t/r')) return undefined
  const id = readQuery(url)('id')
  return id && UUID.test(id) ? id : undefined
}

import {
  ApiException,
  type ApiFailure,
  CustomerNotFoundException,
  type Issue,
  MethodNotAllowedException,
  UnauthorizedException,
} from '../contract/index.ts'
import { type Answer, MAX_ANSWER_BYTES } from './answer.ts'
import type { Redact } from './redact.ts'
import type { ApiRequest, Outcome } from './request.ts'

/** The most that a message contains of one text of an answer, UTF-16 units. */
const MAX_PIECE_LENGTH = 200
const MAX_CONTENT_TYPE_LENGTH = 60
/** The most that is kept of a body that is not JSON, UTF-16 units. */
const MAX_BODY_LENGTH = 65_536
const MAX_ISSUES = 100

const CLASSES = new Map<number, typeof ApiException>([
  [401, UnauthorizedException],
  [404, CustomerNotFoundException],
  [405, MethodNotAllowedException],
])

/** A call that is sent, as its errors need it. */
export type Call = {
  readonly operation: string
  readonly request: ApiRequest
  readonly redact: Redact
}

/**
 * Turns the outcome of a request into the decoded answer or an error.
 *
 * @param hadArrived Whether an earlier request of the call may have been carried out.
 */
export function judge(
  { operation, request, redact }: Call,
  outcome: Outcome,
  hadArrived: boolean,
): { readonly value: unknown } | { readonly error: ApiException } {
  const fail = (words: readonly string[], failure: ApiFailure) => {
    const Exception = CLASSES.get(failure.status ?? 0) ?? ApiException
    const message = [operation, ...words].filter(Boolean).join(': ')
    return { error: new Exception(message, failure) }
  }
  const piece = (text: string, length = MAX_PIECE_LENGTH) => cut(redact(clean(text)), length)

  if (outcome.kind === 'none') {
    const { why, cause, wasSent } = outcome
    const mayHaveArrived = hadArrived || wasSent
    const sent = mayHaveArrived ? 'sent, result unknown' : 'not sent'
    return fail([sent, why], { mayHaveArrived, cause })
  }

  if (outcome.kind === 'redirect') {
    const { status, target, why } = outcome
    const from = `redirected${status ? ` (${status})` : ''} to ${piece(target) || 'no address'}`
    const advice = `not followed, since ${why}. If the gateway has moved, change baseUrl`
    // A POST may have been carried out before the redirect.
    return fail([from, advice], { status, mayHaveArrived: true })
  }

  const { answer } = outcome
  const { status, isSuccess, isWhole } = answer
  const { json, body } = decode(answer, redact)
  if (isSuccess && json) return json
  const mayHaveArrived = hadArrived || status < 400 || status === 408 || status >= 500
  const contentType = piece(answer.contentType, MAX_CONTENT_TYPE_LENGTH)
  const answered = `answered ${status} ${contentType}`.trim()
  if (isSuccess) {
    const why = isWhole
      ? 'which is not JSON'
      : `which has more than ${MAX_ANSWER_BYTES} bytes: ask for less at once`
    return fail([`${answered}, ${why}`], { status, mayHaveArrived, body })
  }
  const { message, issues: given }: { readonly message?: unknown; readonly issues?: unknown } =
    Object(body)
  const issues = readIssues(given)
  const faults = issues
    .map(({ path, message }) => (path ? `${path}: ${message}` : message))
    // The message of the gateway ends with the first fault.
    .filter((fault) => typeof message !== 'string' || !message.endsWith(fault))
  const summary = typeof message === 'string' ? [`answered ${status}`, piece(message)] : [answered]
  const warning = mayHaveArrived && request.method === 'POST' ? 'it may have been carried out' : ''
  return fail([...summary, piece(faults.join('; ')), warning], {
    status,
    mayHaveArrived,
    issues,
    body,
  })
}

/**
 * @returns `json`: the decoded answer, `[]` if it is empty, undefined if it is not JSON. `body`, for an error: the
 * same without keys, or the beginning of the text if it is not JSON.
 */
function decode(
  { text, isWhole, isSuccess }: Answer,
  redact: Redact,
): { readonly json?: { readonly value: unknown }; readonly body?: unknown } {
  if (isWhole && !text.trim()) return { json: { value: [] }, body: [] }
  try {
    const value = isWhole && JSON.parse(text)
    if (isWhole && isSuccess) return { json: { value } }
    if (isWhole) return { body: redactJson(value, redact) }
  } catch {
    // It is not JSON, or nested too deeply for the stack: the error has the text.
  }
  const isCut = !isWhole || text.length > MAX_BODY_LENGTH
  return { body: redact(text.slice(0, MAX_BODY_LENGTH), isCut) || undefined }
}

/** A copy without keys in texts, names and numbers. */
function redactJson(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map((inner) => redactJson(inner, redact))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [redact(name), redactJson(inner, redact)]),
    )
  return redact(`${value}`) === `${value}` ? value : '***'
}

function readIssues(given: unknown): readonly Issue[] {
  if (!Array.isArray(given)) return []
  return given.slice(0, MAX_ISSUES).flatMap((issue) => {
    const { path, message }: { readonly [I in keyof Issue]?: unknown } = Object(issue)
    return typeof path === 'string' && typeof message === 'string' ? [{ path, message }] : []
  })
}

/** On one line, and without characters that a terminal obeys. */
const clean = (text: string): string =>
  text
    .replace(/\p{Cf}/gu, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text

import {
  ApiException,
  type ApiFailure,
  CustomerNotFoundException,
  type Issue,
  MethodNotAllowedException,
  UnauthorizedException,
} from '../contract/index.ts'
import { type Answer, isSuccess, MAX_ANSWER_BYTES } from './answer.ts'
import type { Outcome } from './attempt.ts'
import type { Mask } from './secrets.ts'
import type { Call } from './send.ts'

/** Of what others say at one place of a message, UTF-16 units: at most three times as many bytes. */
const MAX_PIECE_LENGTH = 200
const MAX_CONTENT_TYPE_LENGTH = 60
/** Of a body that is no JSON, or not whole, UTF-16 units. */
const MAX_BODY_LENGTH = 65_536
const MAX_ISSUES = 100

const CLASSES = new Map<number, typeof ApiException>([
  [401, UnauthorizedException],
  [404, CustomerNotFoundException],
  [405, MethodNotAllowedException],
])

/** What a call came to: the decoded answer, or the error of its last try. */
export type Verdict =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: ApiException }

/**
 * Reads what a try came to.
 *
 * @param hadArrived Whether an earlier try of the call may have been carried out.
 */
export function judge(
  { operation, request, mask }: Pick<Call, 'operation' | 'request' | 'mask'>,
  outcome: Outcome,
  hadArrived: boolean,
): Verdict {
  const refuse = (words: readonly string[], failure: ApiFailure): Verdict => {
    const Exception = CLASSES.get(failure.status ?? 0) ?? ApiException
    const message = [operation, ...words].filter(Boolean).join(': ')
    return { ok: false, error: new Exception(message, failure) }
  }
  // Masked again, since a key whose words were on two lines is one again.
  const piece = (text: string, length = MAX_PIECE_LENGTH) =>
    cut(mask.text(clean(mask.text(text))), length)

  if (outcome.kind === 'none') {
    const { why } = outcome
    const mayHaveArrived = hadArrived || outcome.wasSent
    const cause = mask.cause(outcome.cause)
    return refuse(
      [
        mayHaveArrived ? 'sent, result unknown' : 'not sent',
        why === 'aborted' ? 'aborted by the caller' : piece(tellCause(outcome.cause)),
      ],
      { mayHaveArrived, cause },
    )
  }

  if (outcome.kind === 'redirect') {
    const { status, target, why } = outcome
    return refuse(
      [
        `redirected${status ? ` (${status})` : ''} to ${piece(target) || 'somewhere'}`,
        `not followed, since ${why}. If the gateway has moved, change baseUrl`,
      ],
      // Some answer a POST that they have carried out with a redirect.
      { status, mayHaveArrived: true },
    )
  }

  const { answer } = outcome
  const { status } = answer
  const told = `answered ${status} ${piece(answer.contentType, MAX_CONTENT_TYPE_LENGTH)}`.trim()
  const decoded = answer.isWhole ? decode(answer) : undefined
  if (isSuccess(answer) && decoded) return { ok: true, value: decoded.value }

  const body = decoded ? mask.body(decoded.value) : maskText(answer, mask)
  if (isSuccess(answer)) {
    const words = answer.isWhole
      ? [told, 'that is no JSON', piece(body as string)]
      : [told, `more than ${MAX_ANSWER_BYTES} bytes, the most that is read: ask for less at once`]
    return refuse(words, { status, mayHaveArrived: true, body })
  }
  const { message, issues: given }: { readonly message?: unknown; readonly issues?: unknown } =
    Object(body)
  const issues = readIssues(given)
  const text = decoded ? answer.text : `${body ?? ''}`
  // Our gateway's message ends with the first fault.
  const faults = issues
    .map(({ path, message }) => (path ? `${path}: ${message}` : message))
    .filter((fault) => typeof message !== 'string' || !message.endsWith(fault))
  const mayHaveArrived = hadArrived || status < 400 || status === 408 || status >= 500
  return refuse(
    [
      typeof message === 'string' ? `answered ${status}` : told,
      piece(typeof message === 'string' ? message : text),
      piece(faults.join('; ')),
      mayHaveArrived && request.method === 'POST' ? 'it may have been carried out' : '',
    ],
    { status, mayHaveArrived, issues, body },
  )
}

/** A cause's own words, and those of its cause, which say more: fetch's are "fetch failed". */
function tellCause(cause: unknown): string {
  if (typeof cause === 'string') return cause
  type Known = { readonly [Field in 'message' | 'code' | 'cause']?: unknown }
  try {
    const { message, cause: inner }: Known = Object(cause)
    const { message: deeper, code }: Known = Object(inner)
    return [message, deeper || code].filter((text) => text && typeof text === 'string').join(': ')
  } catch {
    return ''
  }
}

/** The JSON of an answer; `[]` where there is none. Nothing where it is no JSON. */
function decode({ text }: Answer): { readonly value: unknown } | undefined {
  if (!text.trim()) return { value: [] }
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** The text of an answer without keys; undefined where there is none. */
function maskText({ text, isWhole }: Answer, mask: Mask): string | undefined {
  const shown = text.slice(0, MAX_BODY_LENGTH)
  const isCut = !isWhole || text.length > MAX_BODY_LENGTH
  return (isCut ? mask.cutText(shown) : mask.text(shown)) || undefined
}

function readIssues(given: unknown): readonly Issue[] {
  if (!Array.isArray(given)) return []
  return given.slice(0, MAX_ISSUES).flatMap((issue) => {
    const { path, message }: { readonly [I in keyof Issue]?: unknown } = Object(issue)
    return typeof path === 'string' && typeof message === 'string' ? [{ path, message }] : []
  })
}

/** On one line, and without what a terminal would obey. */
const clean = (text: string): string =>
  text
    .replace(/\p{Cf}/gu, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text

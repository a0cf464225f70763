import type { Issue } from '../contract/index.ts'

/** Why a request, or one event of a batch, is refused. */
export type Refusal = {
  readonly ok: false
  readonly status: number
  readonly message: string
  readonly issues?: readonly Issue[]
}

/** The refusal of an invalid payload: 422 with every fault. */
export const invalid = (message: string, issues: readonly Issue[]): Refusal => ({
  ok: false,
  status: 422,
  message,
  issues,
})

/** Headers of every JSON answer. */
export const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

/**
 * Headers of every JSON answer under /t: any page may read the verdict, errors too. No cookies are used
 * there; the list of origins is enforced on the request.
 */
export const OPEN_HEADERS = {
  ...JSON_HEADERS,
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Retry-After',
}

/** The headers for an answer to a path: open under /t, closed elsewhere. */
export const headersFor = (path: string): Record<string, string> =>
  path === '/t' || path.startsWith('/t/') ? OPEN_HEADERS : JSON_HEADERS

/** A JSON answer. */
export const answer = (
  status: number,
  body: unknown,
  headers: Record<string, string> = JSON_HEADERS,
): Response => new Response(JSON.stringify(body), { status, headers })

/** A JSON error: `{"message", "issues"?}`. */
export const refuse = (
  { status, message, issues }: Omit<Refusal, 'ok'>,
  headers: Record<string, string> = JSON_HEADERS,
): Response => answer(status, issues ? { message, issues } : { message }, headers)

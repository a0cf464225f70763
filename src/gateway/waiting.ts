import { answer, eventIdOf, headersFor, refuse, toResponse } from './http/answers.ts'
import type { Metrics } from './http/metrics.ts'
import { refuseScript } from './script/serveScript.ts'

/** Retry-After, seconds. Long, because an operator has to act first. */
const RETRY_SECONDS = 30

/**
 * The answers of a gateway whose data is not open: 200 at /livez, 503 with the reason everywhere else, so that senders
 * keep their events. Those of pages and servers are counted.
 */
export function answerWaiting(
  request: Request,
  reason: string,
  metrics: Pick<Metrics, 'refused'>,
): Response {
  const { pathname } = new URL(request.url)
  if (pathname === '/livez') return answer(200, { status: 'alive' })
  if (/^\/(t|api)\//.test(pathname)) metrics.refused(503)
  const refusal = {
    status: 503,
    message: reason,
    retryAfterSeconds: RETRY_SECONDS,
    id: eventIdOf(request.url),
  }
  return pathname.startsWith('/t/j/')
    ? toResponse(refuseScript(refusal, request))
    : refuse(refusal, headersFor(pathname))
}

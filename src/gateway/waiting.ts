import { answer, eventIdOf, headersFor, refuse } from './answers.ts'
import { refuseScript } from './serveScript.ts'

/** When to ask again, seconds: an operator has to do something first. */
const RETRY_SECONDS = 30

/**
 * What a gateway answers before its data is open: it is alive, and 503 with the reason to everything else, so
 * that senders keep what they have.
 */
export function answerWaiting(request: Request, reason: string): Response {
  const { pathname } = new URL(request.url)
  if (pathname === '/livez') return answer(200, { status: 'alive' })
  const refusal = {
    ...{ status: 503, message: reason, retryAfterSeconds: RETRY_SECONDS },
    id: eventIdOf(request.url),
  }
  return pathname.startsWith('/t/j/')
    ? refuseScript(refusal, request)
    : refuse(refusal, headersFor(pathname))
}

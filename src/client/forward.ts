import {
  type ApiException,
  type Operation,
  type ValidationException,
  validate,
} from '../contract/index.ts'
import { customEventUrlOf, eventUrlOf } from './events.ts'
import { judge } from './failure.ts'
import { keysOf } from './operate.ts'
import type { Settings } from './options.ts'
import { createRedact } from './redact.ts'
import { post, sendRequest } from './request.ts'
import type { Signal } from './signal.ts'

/** An event that another gateway has stored. */
export type ForwardedEvent = {
  readonly operation: string
  /** A UUID. */
  readonly id: string
  /** When it happened, ms since 1970. */
  readonly at: number
  readonly payload: unknown
}

/** What has become of it. */
export type Forwarded =
  | { readonly ok: true }
  | {
      readonly ok: false
      /** A ValidationException: nothing was sent. */
      readonly error: ApiException | ValidationException
      /** The header `Retry-After` of the answer. */
      readonly retryAfter: string | null
    }

/**
 * Sends a stored event once, with its id and its time, so that it can be sent again. Never rejects.
 *
 * @param settings `timeoutMs` is that of the request.
 */
export async function forwardEvent(
  settings: Settings,
  { operation, id, at, payload }: ForwardedEvent,
  signal: Signal,
): Promise<Forwarded> {
  const checked = validate(operation as Operation, payload)
  if (!checked.ok) return { ok: false, error: checked.error, retryAfter: null }
  const url =
    operation === 'sendCustomApi' ? customEventUrlOf(settings) : eventUrlOf(settings, id, at)
  const request = post(url, checked.payload)
  const outcome = await sendRequest(request, settings.fetch, settings.timeoutMs, signal)
  const redact = createRedact(keysOf(settings))
  const verdict = judge({ operation, request, redact }, outcome, false)
  if ('value' in verdict) return { ok: true }
  return {
    ok: false,
    error: verdict.error,
    retryAfter: outcome.kind === 'answer' ? outcome.answer.retryAfter : null,
  }
}

import {
  ApiException,
  type Operation,
  type Payload,
  type ValidationException,
  validate,
} from '../contract/index.ts'
import { isRecordOperation } from '../contract/recordOperations.ts'
import type { Answer } from './answer.ts'
import { customEventUrlOf, eventUrlOf } from './events.ts'
import { judge } from './failure.ts'
import { keysOf } from './operate.ts'
import type { Settings } from './options.ts'
import { saveOrderRequest, updateOrderStatusRequest } from './orders.ts'
import { createRedact } from './redact.ts'
import { type ApiRequest, post, sendRequest } from './request.ts'
import type { Signal } from './signal.ts'
import { addSubscriberRequest, removeSubscriberRequest } from './subscribers.ts'

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
  event: ForwardedEvent,
  signal: Signal,
): Promise<Forwarded> {
  const { operation, payload } = event
  const checked = validate(operation as Operation, payload)
  if (!checked.ok) return { ok: false, error: checked.error, retryAfter: null }
  const request = requestOf(settings, event, checked.payload)
  const outcome = await sendRequest(request, settings.fetch, settings.timeoutMs, signal)
  const redact = createRedact(keysOf(settings))
  if (outcome.kind === 'answer' && outcome.answer.isSuccess && isRecordOperation(operation))
    return judgeRecord(operation, outcome.answer)
  const verdict = judge({ operation, request, redact }, outcome, false)
  if ('value' in verdict) return { ok: true }
  return {
    ok: false,
    error: verdict.error,
    retryAfter: outcome.kind === 'answer' ? outcome.answer.retryAfter : null,
  }
}

/** The texts of an order. The senders that the service knows give all of them, so one that is missing is empty. */
const NO_TEXTS = {
  ...{ email_address: '', phone: '', firstname: '', lastname: '', city: '', county: '' },
  ...{ address: '', discount_code: '' },
}

/** The request of an operation. What the gateway adds to a stored order is not in the checked payload. */
function requestOf(
  settings: Settings,
  { operation, id, at }: ForwardedEvent,
  payload: Payload<Operation>,
): ApiRequest {
  switch (operation as Operation) {
    case 'saveOrder':
      return saveOrderRequest(settings, { ...NO_TEXTS, ...(payload as Payload<'saveOrder'>) })
    case 'updateOrderStatus':
      return updateOrderStatusRequest(settings, payload as Payload<'updateOrderStatus'>)
    case 'addSubscriber':
      return addSubscriberRequest(settings, payload as Payload<'addSubscriber'>)
    case 'removeSubscriber':
      return removeSubscriberRequest(settings, payload as Payload<'removeSubscriber'>)
    case 'sendCustomApi':
      return post(customEventUrlOf(settings), payload)
    default:
      return post(eventUrlOf(settings, id, at), payload)
  }
}

/** What a service answers to an order or a subscriber that it has not taken, with a status of success. */
const NOT_TAKEN = /^\s*"?(?:false|access not allowed)"?\s*$/i

/** For its senders only the status counts, so the text may be anything else. */
function judgeRecord(operation: string, { status, text, retryAfter }: Answer): Forwarded {
  if (!NOT_TAKEN.test(text)) return { ok: true }
  const message = `${operation}: answered ${status}, but with the text ${text.trim()}`
  return {
    ok: false,
    error: new ApiException(message, { status, mayHaveArrived: false }),
    retryAfter,
  }
}

import {
  type Issue,
  type Operation,
  type Payload,
  ValidationException,
  validate,
} from '../contract/index.ts'
import { type CallOptions, readCallOptions, type Settings } from './options.ts'
import { createRedact } from './redact.ts'
import type { ApiRequest } from './request.ts'
import { send } from './send.ts'

/**
 * Carries out an operation: everything is checked before anything is sent.
 *
 * @param payload As the caller gave it, like the options.
 * @param toRequest Called once per call; every retry sends the same.
 * @param issues Issues besides those of the payload and the options. Default none.
 * @throws ValidationException with every issue; ApiException, or one of its three subclasses.
 */
export type Operate = <O extends Operation, Answer>(
  operation: O,
  payload: unknown,
  options: CallOptions | undefined,
  toRequest: (payload: Payload<O>) => ApiRequest,
  issues?: readonly Issue[],
) => Promise<Answer>

/**
 * Carries out a call without a payload.
 *
 * @param name For errors.
 * @throws Like Operate.
 */
export type Ask = <Answer>(
  name: string,
  options: CallOptions | undefined,
  request: ApiRequest,
) => Promise<Answer>

/** Characters. A shorter customer ID is not redacted, because it occurs in many words and numbers. It is not a secret. */
const MIN_ID_CHARACTERS = 4

/** What no error may contain. */
export const keysOf = ({ customerId, restKey, trackingKey = '' }: Settings): string[] => [
  restKey,
  trackingKey,
  customerId.length < MIN_ID_CHARACTERS ? '' : customerId,
]

export function createAsk(settings: Settings): Ask {
  const redact = createRedact(keysOf(settings))
  return async (name, options, request) => {
    const read = readCallOptions(options, settings)
    if (read.issues.length > 0)
      throw new ValidationException(
        read.issues.map(({ path, message }) => ({ path, message: redact(withoutCut(message)) })),
      )
    return (await send({ operation: name, request, redact, options: read.call }, settings)) as never
  }
}

export function createOperate(settings: Settings): Operate {
  const keys = keysOf(settings)

  return async (operation, payload, options, toRequest, issues = []) => {
    const checked = validate(operation, payload)
    const read = readCallOptions(options, settings)
    const all = [...issues, ...(checked.ok ? [] : checked.error.issues), ...read.issues]
    if (!checked.ok || all.length) {
      const redact = createRedact(keys)
      throw new ValidationException(
        all.map(({ path, message }) => ({ path, message: redact(withoutCut(message)) })),
      )
    }
    // serveJavascript may have another tracking key than the client.
    const { trackingKey: own = '' } = checked.payload as { readonly trackingKey?: string }
    const redact = createRedact([...keys, own])
    const call = { operation, request: toRequest(checked.payload), redact, options: read.call }
    // The types of the answers are what the gateway promises. The client does not check them.
    return (await send(call, settings)) as never
  }
}

/** The most that a message of the contract shows of a value, with its first quotation mark. */
const MAX_SHOWN_LENGTH = 80

/**
 * Removes the value from a message if the value was cut, by its length or as an address. A key in the wrong field
 * may have been cut with it, and `redact` finds only whole keys.
 */
const withoutCut = (message: string): string =>
  message.replace(/ received (".*)/s, (all, shown: string) =>
    shown.length < MAX_SHOWN_LENGTH && /[^…]"$/.test(shown)
      ? all
      : ' received text that is not shown, since it may hold a key',
  )

import type { Issue } from '../contract/index.ts'
import { type Operation, type Payload, ValidationException, validate } from '../contract/index.ts'
import type { ApiRequest } from './attempt.ts'
import { type CallOptions, readCallOptions } from './callOptions.ts'
import type { Repeat } from './retry.ts'
import { createMask } from './secrets.ts'
import { send } from './send.ts'
import type { Settings } from './settings.ts'

/** How an operation's payload becomes a request. */
export type Plan<O extends Operation> = {
  readonly operation: O
  /** As the caller gave it. */
  readonly payload: unknown
  readonly options: CallOptions | undefined
  /** Faults beside those of the payload and the options. Default none. */
  readonly issues?: readonly Issue[]
  /** Names to keep out of errors, beside the client's own. Default none. */
  readonly names?: readonly string[]
  readonly repeat: Repeat
  /** Called once a call; every try sends the same. */
  toRequest(payload: Payload<O>): ApiRequest
}

/**
 * Carries out an operation: everything is checked before anything is sent.
 *
 * @throws ValidationException with every fault; ApiException, or one of its three kinds.
 */
export type Operate = <O extends Operation, Answer>(plan: Plan<O>) => Promise<Answer>

export function createOperate(settings: Settings): Operate {
  const { customerId, restKey, trackingKey } = settings
  const ownNames = [customerId, ...(trackingKey === undefined ? [] : [trackingKey])]
  const ownMask = createMask([restKey], ownNames)

  return async <O extends Operation, Answer>(plan: Plan<O>): Promise<Answer> => {
    const { operation, names = [], repeat } = plan
    const mask = names.length ? createMask([restKey], [...ownNames, ...names]) : ownMask
    const checked = validate(operation, plan.payload)
    const { issues, call } = readCallOptions(plan.options, settings)
    if (!checked.ok || issues.length || plan.issues?.length) {
      const all = [...(plan.issues ?? []), ...(checked.ok ? [] : checked.error.issues), ...issues]
      // A key in the wrong place would be shown as what came there.
      throw new ValidationException(
        all.map(({ path, message }) => ({ path, message: mask.text(withoutCut(message)) })),
      )
    }
    const request = plan.toRequest(checked.payload)
    // What the gateway answers is what its operation promises; the client does not check it again.
    return (await send({ operation, request, repeat, mask, options: call }, settings)) as Answer
  }
}

/** Of what came the contract shows this many characters at most, the quotation mark at its start included. */
const MAX_SHOWN_LENGTH = 80

/**
 * A message without what came, where that was cut: by its length, or as the address that it should have
 * been. A key may be cut there too, and the mask would not know what is left of it.
 */
const withoutCut = (message: string): string =>
  message.replace(/ received (".*)/s, (all, shown: string) =>
    shown.length < MAX_SHOWN_LENGTH && /[^…]"$/.test(shown)
      ? all
      : ' received text that is not shown, since it may hold a key',
  )

import { type ApiRequest, attempt, type Outcome } from './attempt.ts'
import type { CallSettings } from './callOptions.ts'
import { judge } from './failure.ts'
import { onAbort } from './onAbort.ts'
import { isWorthRetry, type Repeat, waitBefore } from './retry.ts'
import type { Mask } from './secrets.ts'
import type { Settings, Signal } from './settings.ts'

/** One call of an operation, checked and ready to leave. */
export type Call = {
  readonly operation: string
  readonly request: ApiRequest
  readonly repeat: Repeat
  readonly mask: Mask
  readonly options: CallSettings
}

/**
 * Sends a call, again where that is safe and worth it.
 *
 * @returns The decoded answer; `[]` of an empty one.
 * @throws ApiException, or one of its three kinds.
 */
export async function send(call: Call, settings: Settings): Promise<unknown> {
  const { signal, timeoutMs, retries } = call.options
  let hadArrived = false
  for (let failed = 1; ; failed++) {
    const outcome: Outcome = signal?.aborted
      ? { kind: 'none', why: 'aborted', cause: signal.reason, wasSent: false }
      : await attempt(call.request, settings, timeoutMs, signal)
    const verdict = judge(call, outcome, hadArrived)
    if (verdict.ok) return verdict.value
    if (failed > retries || !isWorthRetry(outcome, call.repeat)) throw verdict.error
    hadArrived = verdict.error.mayHaveArrived
    const retryAfter = outcome.kind === 'answer' ? outcome.answer.retryAfter : null
    await wait(
      waitBefore(failed, retryAfter, settings.random, settings.now),
      signal,
      settings.clock,
    )
  }
}

/** Resolves after a time, and at once when the signal aborts or already has. */
function wait(ms: number, signal: Signal | undefined, clock: Settings['clock']): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const timer = clock.setTimeout(() => {
      undo()
      resolve()
    }, ms)
    const undo = onAbort(signal, () => {
      clock.clearTimeout(timer)
      resolve()
    })
  })
}

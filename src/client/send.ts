import { type Call, judge } from './failure.ts'
import type { CallSettings, Settings } from './options.ts'
import { sendRequest } from './request.ts'
import { isWorthRetry, waitBefore } from './retry.ts'

/**
 * Sends a call and retries it if that is safe and may help.
 *
 * @returns The decoded answer; `[]` if it is empty.
 * @throws ApiException, or one of its three subclasses.
 */
export async function send(
  call: Call & { readonly options: CallSettings },
  { fetch, now, wait }: Settings,
): Promise<unknown> {
  const { signal, timeoutMs, retries } = call.options
  let hadArrived = false
  for (let failed = 1; ; failed++) {
    const outcome = await sendRequest(call.request, fetch, timeoutMs, signal)
    const verdict = judge(call, outcome, hadArrived)
    if ('value' in verdict) return verdict.value
    if (failed > retries || !isWorthRetry(outcome, call.operation)) throw verdict.error
    hadArrived = verdict.error.mayHaveArrived
    const retryAfter = outcome.kind === 'answer' ? outcome.answer.retryAfter : null
    await wait(waitBefore(failed, retryAfter, now(), Math.random()), signal)
  }
}

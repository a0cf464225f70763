/** Loads the problems of a customer again and again, while the page is visible. */
import type { ProblemList } from '../../src/contract/problems.ts'
import type { EndReason } from '../operator/operator.ts'
import { ask, describeRefusal, endOf } from '../operator/requests.ts'
import { createVisibleTimer } from '../operator/visibleTimer.ts'

const POLL_MS = 30_000
const TIMEOUT_MS = 15_000
/** The stream ends at the same time, and says more about the reason. So it gets this time to do so. */
const END_MS = 3_000

export type ProblemListeners = {
  readonly onList: (list: ProblemList) => void
  /** Called with a sentence when the list could not be loaded. It is tried again. */
  readonly onTrouble: (trouble: string) => void
  /** Called once, when the operator may no longer see the customer. Nothing is loaded after it. */
  readonly onEnd: (reason: EndReason) => void
}

const timer = createVisibleTimer()

/** Starts to load the problems of a customer. One customer at a time. */
export function startProblems(
  customerId: string,
  { onList, onTrouble, onEnd }: ProblemListeners,
): { readonly reload: () => void; readonly stop: () => void } {
  let stopped = false
  let isLoading = false

  async function load() {
    if (isLoading || stopped) return
    isLoading = true
    timer.stop()
    const answer = await ask<ProblemList>(
      '../live/problems',
      { customer: customerId },
      { signal: AbortSignal.timeout(TIMEOUT_MS) },
    )
    isLoading = false
    if (stopped) return
    const reason = answer.ok ? undefined : endOf(answer.status)
    if (reason) return void setTimeout(() => !stopped && onEnd(reason), END_MS)
    timer.set(load, POLL_MS)
    if (answer.ok) onList(answer.body)
    else onTrouble(answer.status === 0 ? 'The gateway does not answer.' : describeRefusal(answer))
  }

  load()
  return {
    reload: load,
    stop() {
      stopped = true
      timer.stop()
    },
  }
}

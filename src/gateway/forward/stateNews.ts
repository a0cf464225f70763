import type { Destination } from './destination.ts'
import type { DestinationState } from './forwarding.ts'

/**
 * A destination that does not take events, or does so again. Without the reason, which may quote an answer that contains
 * personal data.
 */
export type StateNews = {
  readonly destination: string
  readonly customer: string
  readonly kind: string
  readonly state: DestinationState['name']
  /** Since when, ms since 1970. Null if that is not known. */
  readonly since: number | null
}

/** A destination that waits for less than this is not reported, ms: many fail for a moment, and the next try succeeds. */
const PATIENCE_MS = 60_000

/**
 * Reports each destination once when it has waited for a minute or has stopped, and once when it takes events again.
 *
 * @param now The clock, ms since 1970.
 * @returns Takes each state of a destination.
 */
export function createStateNews(now: () => number, report: (news: StateNews) => void) {
  /** What was reported last, of those that do not run. */
  const reported = new Map<string, DestinationState['name']>()

  return ({ id, customer, kind }: Destination, { name, since }: DestinationState): void => {
    const before = reported.get(id)
    if (name === before || (name === 'running' && !before)) return
    if (name === 'waiting' && now() - (since ?? now()) < PATIENCE_MS) return
    if (name === 'running') reported.delete(id)
    else reported.set(id, name)
    report({ destination: id, customer, kind, state: name, since })
  }
}

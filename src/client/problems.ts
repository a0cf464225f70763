import type { ProblemList } from '../contract/index.ts'
import { createAsk } from './operate.ts'
import type { CallOptions, Settings } from './options.ts'

/**
 * What goes wrong with the customer's events, and which operations come: the same as in the live view. Retried if a
 * request fails. Rejects with an ApiException.
 *
 * @example
 * const { data, coverage } = await client.problems()
 * const stopped = coverage.filter(({ state }) => state === 'stopped')
 */
export type Problems = (options?: CallOptions) => Promise<ProblemList>

export function createProblems(settings: Settings): Problems {
  const { apiUrl, restKey, customerId } = settings
  const ask = createAsk(settings)
  const keys = `k=${encodeURIComponent(restKey)}&u=${encodeURIComponent(customerId)}`
  return (options) => ask('problems', options, { method: 'GET', url: `${apiUrl}/problems?${keys}` })
}

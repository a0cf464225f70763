import { JetStreamApiError } from '@nats-io/jetstream'
import { delay } from '@nats-io/transport-node'
import { NO_LEADER } from './apiErrors.ts'

/** How long the cluster is asked, ms. One that elects a leader answers after some seconds. */
export const PATIENCE_MS = 60_000
const RETRY_MS = 500

/**
 * Asks the cluster again while it does not answer: it elects a leader, or a node is restarted. For commands, whose user
 * can wait.
 *
 * @throws JetStreamApiError that another question does not change. Error if there is no answer for a minute.
 */
export async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  const until = performance.now() + PATIENCE_MS
  for (;;)
    try {
      return await ask()
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code !== NO_LEADER) throw error
      if (performance.now() > until)
        throw new Error('The cluster does not answer. Repeat the command to continue', {
          cause: error,
        })
      await delay(RETRY_MS)
    }
}

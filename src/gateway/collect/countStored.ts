import type { Metrics } from '../http/metrics.ts'
import { OPERATIONS } from '../problems/operations.ts'
import type { Problems } from '../problems/recorder.ts'
import type { EventLog, LogEvent } from './eventLog.ts'

/** A log whose new events are counted by customer, and by operation without those of bots. */
export const countStored = (
  log: Pick<EventLog, 'append'>,
  problems: Pick<Problems, 'stored'>,
  metrics: Pick<Metrics, 'storedOf'>,
): Pick<EventLog, 'append'> => ({
  async append(events) {
    const outcomes = await log.append(events)
    let stored = 0
    for (let i = 0; i < events.length; i++) {
      const { customer, operation, receivedAt, bot } = events[i] as (typeof events)[number]
      if (outcomes[i] !== 'stored') continue
      stored++
      // Orders and subscribers come when somebody buys or imports, and would only distort how visits are judged.
      if (!bot && OPERATIONS.has(operation)) problems.stored(customer, operation, receivedAt)
    }
    // All of a call are of one customer.
    if (stored > 0) metrics.storedOf((events[0] as LogEvent).customer, stored)
    return outcomes
  },
})

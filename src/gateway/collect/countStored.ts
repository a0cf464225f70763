import type { Problems } from '../problems/recorder.ts'
import type { EventLog } from './eventLog.ts'

/** A log whose new events are counted by operation, without those of bots. */
export const countStored = (
  log: Pick<EventLog, 'append'>,
  problems: Pick<Problems, 'stored'>,
): Pick<EventLog, 'append'> => ({
  async append(events) {
    const outcomes = await log.append(events)
    for (let i = 0; i < events.length; i++) {
      const { customer, operation, receivedAt, bot } = events[i] as (typeof events)[number]
      if (outcomes[i] === 'stored' && !bot) problems.stored(customer, operation, receivedAt)
    }
    return outcomes
  },
})

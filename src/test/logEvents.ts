import { randomUUID } from 'node:crypto'
import type { LogEvent } from '../gateway/collect/eventLog.ts'

/** An event as the gateway gives it to the log. The fields given replace its own. */
export const makeLogEvent = (given: Partial<LogEvent> = {}): LogEvent => ({
  customer: 'demo',
  id: randomUUID(),
  at: 1_700_000_000_000,
  receivedAt: 1_700_000_000_500,
  operation: 'search',
  event: 'search',
  did: 'd-1',
  bot: false,
  version: null,
  payload: '{"search_term":"lămpi 漢 \\u0000"}',
  ...given,
})

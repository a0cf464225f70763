import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { CloseReason } from './connections.ts'
import type { Limited } from './rateLimit.ts'

/** The limits that refuse requests with 429. */
export type LimitName = 'address' | 'customer' | 'server' | 'script' | 'quota'

/** The counters of the gateway. (A line of the log for each event would cost more than the event.) */
export type Metrics = {
  event(outcome: 'stored' | 'duplicate', bot: boolean): void
  /** An event that was acknowledged but not stored, because its customer ignores the address. */
  ignored(): void
  /** A question whether an id is stored. Pages ask before they send an event again. */
  asked(isStored: boolean): void
  /**
   * An event or a whole request that was refused, by the status of the answer.
   *
   * @param reason Counted separately too. Default none.
   */
  refused(status: number, reason?: 'no_consent'): void
  /** A connection that was closed to keep a limit. */
  connectionClosed(reason: CloseReason): void
  /** A request that a limit refused. It is also counted by its status. */
  limited(limit: LimitName, unit: Limited['unit']): void
  /** A problem of a customer, see docs/problems.md. */
  problem(reason: string, source: string, times: number): void
  commit(events: number, seconds: number): void
  /** Events that were removed because their retention is over. */
  removed(events: number): void
  /** The text for a Prometheus server, and its content type. */
  render(): Promise<{ readonly text: string; readonly type: string }>
}

/**
 * @param depth Returns how many events wait to be stored.
 * @param stopped Returns for how many customers an operation has stopped, by operation.
 */
export function createMetrics(
  depth: () => number,
  stopped: () => ReadonlyMap<string, number> = () => new Map(),
): Metrics {
  const registers = [new Registry()]
  const register = registers[0] as Registry
  collectDefaultMetrics({ register })
  const stored = new Counter({
    name: 'events_total',
    help: 'Events acknowledged, by whether they were new',
    labelNames: ['outcome'],
    registers,
  })
  const asked = new Counter({
    name: 'events_asked_total',
    help: 'Ids that pages asked about before sending an event again, by whether it was stored',
    labelNames: ['answer'],
    registers,
  })
  const bots = new Counter({
    name: 'events_of_bots_total',
    help: 'Events acknowledged whose user agent is a bot (they are stored, with a mark)',
    registers,
  })
  const ignored = new Counter({
    name: 'events_ignored_total',
    help: 'Events acknowledged and not stored, since the customer ignores their address',
    registers,
  })
  const refused = new Counter({
    name: 'events_refused_total',
    help: 'Events and requests refused, by status',
    labelNames: ['status'],
    registers,
  })
  const withoutConsent = new Counter({
    name: 'events_without_consent_total',
    help: 'Events refused since they had no consent (they also count as refused, by status 422)',
    registers,
  })
  const closed = new Counter({
    name: 'connections_closed_total',
    help: 'Connections closed to keep a limit: idle and slow ones made room for others, full found no room, unread took nothing of an answer, pipelined sent too many requests ahead',
    labelNames: ['reason'],
    registers,
  })
  const limited = new Counter({
    name: 'requests_limited_total',
    help: 'Requests answered 429 by a limit: of an address, a customer’s tracking key, its REST key (server), scripts of an address, a daily quota',
    labelNames: ['limit', 'unit'],
    registers,
  })
  const removed = new Counter({
    name: 'events_removed_total',
    help: 'Events removed because the retention of their customer is over',
    registers,
  })
  const seconds = new Histogram({
    name: 'commit_seconds',
    help: 'Duration of a commit of the event log',
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5],
    registers,
  })
  const size = new Histogram({
    name: 'commit_events',
    help: 'Events that shared a commit',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 512],
    registers,
  })
  new Gauge({
    name: 'events_waiting',
    help: 'Events that wait to be stored',
    registers,
    collect() {
      this.set(depth())
    },
  })
  const problems = new Counter({
    name: 'problems_total',
    help: 'Problems that pages have reported (source page) and that the gateway has answered (source gateway), by reason',
    labelNames: ['reason', 'source'],
    registers,
  })
  new Gauge({
    name: 'operations_stopped',
    help: 'Customers for whom an operation used to come and does not any more',
    labelNames: ['operation'],
    registers,
    collect() {
      this.reset()
      for (const [operation, customers] of stopped()) this.set({ operation }, customers)
    },
  })
  // Looking up a label costs more than counting.
  const byOutcome = {
    stored: stored.labels('stored'),
    duplicate: stored.labels('duplicate'),
  }

  return {
    event(outcome, bot) {
      byOutcome[outcome].inc()
      if (bot) bots.inc()
    },
    ignored: () => ignored.inc(),
    asked: (isStored) => asked.labels(isStored ? 'stored' : 'missing').inc(),
    limited: (limit, unit) => limited.labels(limit, unit).inc(),
    refused(status, reason) {
      refused.labels(String(status)).inc()
      if (reason) withoutConsent.inc()
    },
    connectionClosed: (reason) => closed.labels(reason).inc(),
    problem: (reason, source, times) => problems.labels(reason, source).inc(times),
    removed: (events) => removed.inc(events),
    commit(events, took) {
      seconds.observe(took)
      size.observe(events)
    },
    render: async () => ({ text: await register.metrics(), type: register.contentType }),
  }
}

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { version } from '../lib/version.ts'
import { addClusterMetrics, type ClusterFigures } from './clusterMetrics.ts'
import type { CloseReason } from './connections.ts'
import { createCustomerCounts, SHOWN_CUSTOMERS } from './customerCounts.ts'
import { addForwardMetrics, type ForwardFigures } from './forwardMetrics.ts'
import { addDataGauges } from './metricsData.ts'
import type { Limited } from './rateLimit.ts'
import type { RefusedEvent } from './refusedEvent.ts'

/** The limits that refuse requests with 429. */
export type LimitName = 'address' | 'customer' | 'server' | 'script' | 'quota' | 'server_quota'

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
  limited(limit: LimitName, unit: Limited['unit'], customer?: string): void
  /** Events that were stored of a customer. */
  storedOf(customer: string, events: number): void
  /** What was refused, for the log and for the counts by customer. It is also counted by its status. */
  refusedOf(event: RefusedEvent): void
  /** A problem of a customer, see docs/problems.md. */
  problem(reason: string, source: string, times: number): void
  commit(events: number, seconds: number): void
  /** Events that were removed because their retention is over. */
  removed(events: number): void
  /** The text for a Prometheus server, and its content type. */
  render(): Promise<{ readonly text: string; readonly type: string }>
}

/** How long an answer waits for the thread of the reports, ms. */
const REPORTS_MS = 1_000

/** The value of a promise. Undefined if it rejects, or takes longer. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  try {
    return await Promise.race([promise.catch(() => undefined), late])
  } finally {
    clearTimeout(timer)
  }
}

/** What metrics are read from, and what they report to. */
export type MetricsSources = {
  /** Folder of the databases. Default none: the metrics of files and the disk are absent. */
  readonly dataDir?: string
  /** How many events of the log the reports have not counted. Undefined if they count none. Default none. */
  readonly reportsLag?: () => Promise<number | undefined>
  /** The figures of all destinations, see addForwardMetrics. Default none: their metrics are absent. */
  readonly forwarding?: () => Promise<readonly ForwardFigures[]>
  /** The state of the cluster, see addClusterMetrics. Default none: its metrics are absent. */
  readonly cluster?: (() => ClusterFigures | undefined) | undefined
  /** Called for each refused event or call. Default none. */
  readonly onRefused?: ((event: RefusedEvent) => void) | undefined
}

/**
 * @param depth Returns how many events wait to be stored.
 * @param stopped Returns for how many customers an operation has stopped, by operation.
 */
export function createMetrics(
  depth: () => number,
  stopped: () => ReadonlyMap<string, number> = () => new Map(),
  { dataDir, reportsLag, forwarding, cluster, onRefused = () => {} }: MetricsSources = {},
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
    help: 'Requests answered 429 by a limit: of an address, a customer’s tracking key, its REST key (server), scripts of an address, a daily quota of pages, or of servers (server_quota)',
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
  const customers = createCustomerCounts()
  new Counter({
    name: 'customer_events_total',
    help: `Events by customer, stored or refused: the busiest ${SHOWN_CUSTOMERS} by name, the rest as (other)`,
    labelNames: ['customer', 'outcome'],
    registers,
    collect() {
      this.reset()
      for (const [customer, { stored, refused }] of customers.choose()) {
        this.labels(customer, 'stored').inc(stored)
        this.labels(customer, 'refused').inc(refused)
      }
    },
  })
  new Gauge({
    name: 'build_info',
    help: 'Always 1. Versions of the gateway and of Node',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version, node: process.versions.node }, 1)
  if (reportsLag)
    new Gauge({
      name: 'reports_lag_events',
      help: 'Events of the log that the campaign reports have not counted yet. NaN if they can not be asked',
      registers,
      async collect() {
        const lag = await within(REPORTS_MS, reportsLag())
        this.set(lag ?? Number.NaN)
      },
    })
  if (dataDir !== undefined) addDataGauges(registers, dataDir)
  if (cluster) addClusterMetrics(registers, cluster)
  if (forwarding)
    addForwardMetrics(registers, async () => (await within(REPORTS_MS, forwarding())) ?? [])
  function refusedOf(event: RefusedEvent): void {
    customers.count(event.customer, 'refused', 1)
    onRefused(event)
  }
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
    limited(limit, unit, customer) {
      limited.labels(limit, unit).inc()
      refusedOf({ customer, status: 429, reason: `${limit}_${unit}` })
    },
    storedOf: (customer, events) => customers.count(customer, 'stored', events),
    refusedOf,
    refused(status, reason) {
      refused.labels(String(status)).inc()
      if (reason) withoutConsent.inc()
      // Whose events they are is not known here. The others are reported where it is known.
      if (status === 503) refusedOf({ customer: undefined, status, reason: 'busy' })
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

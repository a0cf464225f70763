import type { QueueLimits } from './collect/groupCommit.ts'
import type { SweeperOptions } from './collect/sweeper.ts'
import type { StateNews } from './forward/stateNews.ts'
import type { GivenLimits } from './http/limits.ts'
import type { RefusedEvent } from './http/refusedEvent.ts'
import type { RequestLine } from './logs/requestLines.ts'
import type { ClusterNews } from './nats/clusterNews.ts'
import type { NatsOptions } from './nats/natsOptions.ts'
import type { LiveLimits } from './operators/live.ts'
import type { DiskSpace, DiskState } from './sqlite/disk.ts'

/** Options of a gateway. Only the folder of its data has no default. */
export type GatewayOptions = {
  /** Folder of the databases. Created if it is missing. */
  readonly dataDir: string
  /** The cluster that keeps the data. Default none: SQLite, in `dataDir`. */
  readonly cluster?: NatsOptions | undefined
  /** Port. 0 is any free port. Default 0. */
  readonly port?: number
  /** Address to listen on. Default 127.0.0.1. */
  readonly host?: string
  /**
   * Whether to create the demo customer with its campaign and serve the demo shop, on this machine without a sign-in.
   * Has no effect if `findDemoBlock` returns a reason. Default false.
   */
  readonly demo?: boolean
  /**
   * The gateway's public address, without a slash at its end. Default none: the script takes the address from its tag,
   * and can not be inlined.
   */
  readonly publicUrl?: string | undefined
  /** Addresses and networks of the proxies in front. Default none. */
  readonly trustedProxies?: readonly string[]
  /** Loopback port of GET /metrics. 0 is any free port. Default none. */
  readonly metricsPort?: number | undefined
  /** Secret of GET /metrics on `port`. Default none: 404. */
  readonly metricsToken?: string | undefined
  /** Folder of `track`, `inspector.js` and `presence.js`. Default: the folder of this bundle. */
  readonly scriptFolder?: string
  /** Folder of `live`, `campaigns`, `people`, `forward`, `setup` and `shop`. Default: `public` in the folder of this bundle. */
  readonly publicFolder?: string
  /** Bundle of sqlite/worker.ts, with report-worker.js, person-worker.js and forward-worker.js in the same folder. Default: in the folder of this bundle. */
  readonly workerFile?: URL
  /**
   * Connections that are open at once. Above it an idle one is closed for a new one. If none is idle, a slow one is
   * closed. If none is slow, the new one is closed. Default 2,048, or fewer if the process may not open that many
   * files.
   */
  readonly maxConnections?: number | undefined
  /** Memory of all requests (head and body) and answers above 16 KiB together, bytes. Above it 503. Default 32 MiB. */
  readonly bodyBudgetBytes?: number | undefined
  /** Limits of the queue in front of the log. */
  readonly queue?: QueueLimits
  /** Limits of the live views. */
  readonly live?: LiveLimits
  /** Limits of one address and one customer. Default DEFAULT_LIMITS. */
  readonly limits?: GivenLimits
  /** Time in which a whole request must arrive, ms. Default 10,000. */
  readonly requestTimeoutMs?: number
  /** A connection is closed if its other end takes nothing of an answer for this long, ms. Default 30,000. */
  readonly sendTimeoutMs?: number | undefined
  /** Bytes of the line and the headers of a request. Above it 431. Default 65,536. */
  readonly maxHeaderBytes?: number | undefined
  /** Pace of the removal of events whose retention is over. */
  readonly sweep?: Pick<SweeperOptions, 'firstMs' | 'pauseMs'> | undefined
  /** The clock, ms since 1970. Default Date.now. */
  readonly now?: () => number
  /** A monotonic clock, ms, for durations and limits. Default performance.now. */
  readonly monotonicNow?: () => number
  /** Called with each unexpected error. Default none. */
  readonly onError?: (error: unknown, route: string) => void
  /**
   * Called, at most once an hour, when an address is limited that sends headers of a proxy and is not one of
   * `trustedProxies`. If it is a proxy, all its visitors share the limits of one address. Default none.
   */
  readonly onUnknownProxy?: (peer: string) => void
  /** Called for each request when it is over. Default none. */
  readonly onRequest?: ((line: RequestLine) => void) | undefined
  /** Called for each event or call that is refused, which may be thousands a second. Default none. */
  readonly onRefused?: ((event: RefusedEvent) => void) | undefined
  /** Whether databases of an earlier version are backed up before they are upgraded. Default true. */
  readonly upgradeBackup?: boolean | undefined
  /**
   * Free space on the disk of `dataDir` that events do not use, bytes, but at most a tenth of the disk. Below it 503.
   * Default 512 MiB.
   */
  readonly diskReserveBytes?: number | undefined
  /** Called when that disk gets low (less than four reserves) or full, and when it is not any more. Default none. */
  readonly onDisk?: ((state: DiskState, space: DiskSpace) => void) | undefined
  /**
   * Called when a destination has not taken events for a minute or has stopped, and when it takes them again. Default
   * none.
   */
  readonly onDestination?: ((news: StateNews) => void) | undefined
  /** Called when the state of the cluster, or of a partition, changes. Default none. */
  readonly onCluster?: ((news: ClusterNews) => void) | undefined
  /** Called with each step of an upgrade of the databases. Default none. */
  readonly onUpgrade?: ((step: string) => void) | undefined
  /** Called after each pass that has removed events, because their retention is over. Default none. */
  readonly onRemoved?: (events: number) => void
  /**
   * Called each time the readiness or its reason changes; undefined is ready. Called at the start only if the gateway
   * is not ready. Default none.
   */
  readonly onReadiness?: (reason: string | undefined) => void
  /**
   * Called once, when only a new process may help: an open database was removed or replaced, or the log's thread has
   * ended too often. The gateway answers 503 until it is closed. Default none.
   */
  readonly onFatal?: (error: Error) => void
}

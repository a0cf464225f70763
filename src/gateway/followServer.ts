import type { GatewayOptions } from './gatewayOptions.ts'
import { createAddresses } from './http/address.ts'
import { createBodyBudget } from './http/bodyBudget.ts'
import { closeServer, createHttpServer } from './http/httpServer.ts'
import { listen } from './http/listen.ts'
import { createMetrics } from './http/metrics.ts'
import { createMetricsPort, MAX_METRICS_CONNECTIONS, METRICS_HOST } from './http/metricsServer.ts'
import { watchReadiness } from './http/readiness.ts'
import type { Base } from './nats/base.ts'
import type { NatsOptions } from './nats/natsOptions.ts'
import { throwAway } from './nats/passing.ts'
import { openOrWait } from './sqlite/opening.ts'

/** A follower without a gateway. */
export type Following = {
  /** Address of GET /metrics. Undefined without that port. */
  readonly metricsUrl: string | undefined
  /** Number of streams. Undefined until the cluster was reached. */
  readonly partitions: () => number | undefined
  /** Why it is not ready; undefined if it is. */
  readonly findUnready: () => string | undefined
  /** Makes its partitions free for others, and closes everything. Later calls return the promise of the first one. */
  close(): Promise<void>
}

export type FollowingOptions = Pick<
  GatewayOptions,
  | 'dataDir'
  | 'metricsPort'
  | 'workerFile'
  | 'sweep'
  | 'now'
  | 'monotonicNow'
  | 'onDestination'
  | 'onCluster'
  | 'onRemoved'
  | 'onReadiness'
  | 'onFatal'
> & {
  readonly cluster: NatsOptions
  /** @param what The subject of the error. */
  readonly onError: (error: unknown, what: string) => void
}

/** How long the first connection to the cluster may take before the start continues without it, ms. */
const CLUSTER_PATIENCE_MS = 10_000
/** How long a stop waits for answers of the metrics, ms. */
const METRICS_PATIENCE_MS = 500
const STOPPING = 'stopping'

/**
 * Starts a follower: it copies all partitions, and makes the reports, forwards and answers the gateways for those that
 * it holds. It has no public port. While the cluster can not be reached it tries again.
 *
 * @throws Error if the settings of the cluster are wrong, or the port of the metrics is in use.
 */
export async function startFollowing(options: FollowingOptions): Promise<Following> {
  const {
    dataDir,
    metricsPort,
    workerFile = new URL('./sqlite-worker.js', import.meta.url),
    now = Date.now,
    monotonicNow = () => performance.now(),
    onError,
  } = options
  let isStopping = false
  let fatal: string | undefined
  const metrics = createMetrics(() => 0, undefined, {
    dataDir,
    forwarding: async () => (await opening?.opened()?.forwarding.figures()) ?? [],
    reportsLag: async () => opening?.opened()?.reports.lag(),
    cluster() {
      const base = opening?.opened()
      return base && { ...base.figures(), repeatedMessages: 0, closedOff: [] }
    },
  })
  const readiness = watchReadiness(findUnready, options.onReadiness ?? (() => {}))

  function findUnready(): string | undefined {
    if (isStopping) return STOPPING
    const base = opening?.opened()
    if (!base) return opening?.reason()
    return fatal ?? (base.isConnected() ? undefined : 'the connection to the cluster is lost')
  }

  async function open(): Promise<Base> {
    const { openBase } = await import('./nats/base.ts')
    return openBase({
      dataDir,
      cluster: { ...options.cluster, follow: true },
      workerFile,
      now,
      monotonicNow,
      sweep: options.sweep,
      onRemoved: metrics.removed,
      onPass: options.onRemoved,
      onDestination: options.onDestination,
      onCluster: options.onCluster ?? (() => {}),
      onChange: readiness.check,
      onFatal(error) {
        fatal = error.message
        readiness.check()
        options.onFatal?.(error)
      },
      onError,
    })
  }

  let opening: Awaited<ReturnType<typeof openOrWait<Base>>> | undefined
  const server = createHttpServer({
    addresses: createAddresses([], undefined),
    bodies: createBodyBudget(undefined),
    onClosed: metrics.connectionClosed,
    fetch: createMetricsPort(metrics, onError),
    maxConnections: MAX_METRICS_CONNECTIONS,
  })
  try {
    const bound =
      metricsPort === undefined ? undefined : await listen(server, metricsPort, METRICS_HOST)
    opening = await openOrWait(
      () => open().catch(throwAway),
      readiness.check,
      (error) => onError(error, 'the data'),
      CLUSTER_PATIENCE_MS,
    )
    // After the caller has logged the start.
    setImmediate(readiness.check)
    const { opened, stop } = opening
    let closed: Promise<void> | undefined

    async function close(): Promise<void> {
      isStopping = true
      readiness.stop()
      const base = await stop()
      if (bound) await closeServer(server, METRICS_PATIENCE_MS)
      await base?.close()
    }

    return {
      metricsUrl: bound && `http://${METRICS_HOST}:${bound.port}/metrics`,
      partitions: () => opened()?.broker.partitions,
      findUnready,
      close() {
        closed ??= close()
        return closed
      },
    }
  } catch (error) {
    readiness.stop()
    server.close()
    throw error
  }
}

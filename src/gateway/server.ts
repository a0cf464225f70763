import { fileURLToPath } from 'node:url'
import { addDemoCampaign } from './campaigns/demoCampaign.ts'
import { viewOf } from './campaigns/reportView.ts'
import { createAdmission } from './collect/admission.ts'
import { countStored } from './collect/countStored.ts'
import { createQuota } from './collect/quota.ts'
import { type Sweeper, startSweeper } from './collect/sweeper.ts'
import { addDemoCustomer, findRetiredDemo } from './customers/demoCustomer.ts'
import { createKeyThrottle } from './customers/keyThrottle.ts'
import { findDemoBlock } from './demo.ts'
import { createAnswerDoctor } from './doctor/answerDoctor.ts'
import type { Data } from './engine/data.ts'
import type { Gateway } from './gateway.ts'
import type { GatewayOptions } from './gatewayOptions.ts'
import { createAddresses } from './http/address.ts'
import { createBodyBudget } from './http/bodyBudget.ts'
import { chooseMaxConnections } from './http/descriptors.ts'
import { createHttpServer } from './http/httpServer.ts'
import { completeLimits } from './http/limits.ts'
import { listen, urlHost } from './http/listen.ts'
import { createMetrics } from './http/metrics.ts'
import { createMetricsPort, MAX_METRICS_CONNECTIONS, METRICS_HOST } from './http/metricsServer.ts'
import { removePathPrefix } from './http/pathPrefix.ts'
import { watchReadiness } from './http/readiness.ts'
import { Unavailable } from './lib/unavailable.ts'
import { reportRequests } from './logs/requestLines.ts'
import type { NatsData } from './nats/data.ts'
import type { NatsOptions } from './nats/natsOptions.ts'
import { throwAway } from './nats/passing.ts'
import { type ProblemRecorder, startRecorder } from './problems/recorder.ts'
import { createRoutes } from './routes.ts'
import { readScriptFiles } from './script/serveScript.ts'
import { openData } from './sqlite/data.ts'
import { type Opening, openOrWait } from './sqlite/opening.ts'
import { createStop } from './stop.ts'
import { answerWaiting } from './waiting.ts'
import { openWaitingScripts, type WaitingScripts } from './waitingScripts.ts'

/** How long a gateway waits for clients that are reading answers after a fatal error, ms. */
const FATAL_PATIENCE_MS = 500

/** How long the first connection to a cluster may take before the gateway listens and is not ready, ms. */
const CLUSTER_PATIENCE_MS = 10_000

/** Everything that exists only while the data is open. */
type Opened = Pick<Gateway, 'demo' | 'demoBlock' | 'demoRestKey'> & {
  readonly data: Data
  readonly routes: ReturnType<typeof createRoutes>
  readonly sweeper: Sweeper | undefined
  readonly problems: ProblemRecorder
}

/**
 * Starts a gateway. If the databases are not those of the last start, it listens, is not ready, and becomes ready
 * within about a second after they are put back or accepted (`shoptrail data accept`).
 *
 * @throws Error if the port is in use (`code` is EADDRINUSE), the data can not be opened, the script has not been
 * built, or the process may not open as many files as `maxConnections` needs.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const {
    dataDir,
    port = 0,
    host = '127.0.0.1',
    scriptFolder = fileURLToPath(new URL('.', import.meta.url)),
    publicFolder = fileURLToPath(new URL('public', import.meta.url)),
    workerFile = new URL('./sqlite-worker.js', import.meta.url),
    now = Date.now,
    monotonicNow = () => performance.now(),
    onError = () => {},
  } = options
  const { trustedProxies = [], publicUrl, metricsPort, cluster } = options
  const maxConnections = chooseMaxConnections(options.maxConnections)
  const script = readScriptFiles(scriptFolder)
  const addresses = createAddresses(trustedProxies, publicUrl)
  const metrics = createMetrics(
    () => opening?.opened()?.data.log.depth() ?? 0,
    () => opening?.opened()?.problems.stopped() ?? new Map(),
    {
      dataDir,
      onRefused: options.onRefused,
      forwarding: async () => (await opening?.opened()?.data.forwarding.figures()) ?? [],
      reportsLag: async () => opening?.opened()?.data.reports.lag(),
      cluster: cluster && (() => clusterData?.figures()),
    },
  )
  let clusterData: NatsData | undefined
  let isStopping = false
  /** How long a stop waits for clients that are reading answers, ms. */
  let patienceMs = options.requestTimeoutMs
  let opening: Opening<Opened> | undefined
  let waitingScripts: WaitingScripts | undefined
  const readiness = watchReadiness(findUnready, options.onReadiness ?? (() => {}))

  function findUnready(): string | undefined {
    if (isStopping) return 'stopping'
    const open = opening?.opened()
    return open ? open.data.findFault() : opening?.reason()
  }

  const ofData = {
    dataDir,
    workerFile,
    now,
    queue: options.queue,
    onCommit: metrics.commit,
    onDestination: options.onDestination,
    onChange: readiness.check,
    onFatal(error: Error) {
      patienceMs = FATAL_PATIENCE_MS
      readiness.check()
      options.onFatal?.(error)
    },
  }

  async function openCluster(cluster: NatsOptions): Promise<Data> {
    // Loaded only here, so that a start with SQLite does not take longer.
    const { openNatsData } = await import('./nats/data.ts')
    const data = await openNatsData({
      ...ofData,
      cluster,
      monotonicNow,
      sweep: options.sweep,
      onRemoved: metrics.removed,
      onPass: options.onRemoved,
      onCluster: options.onCluster ?? (() => {}),
      onError,
    })
    clusterData = data
    return data
  }

  /** Opens everything that needs the data. */
  async function open(): Promise<Opened> {
    const data = cluster
      ? await openCluster(cluster)
      : await openData({
          ...ofData,
          upgradeBackup: options.upgradeBackup,
          onUpgrade: options.onUpgrade,
          diskReserveBytes: options.diskReserveBytes,
          onDisk: options.onDisk,
          onReportsEnd: (error) => onError(error, 'the thread of the reports'),
          onSaltError: (error) => onError(error, 'the salt of the day'),
          onPeopleEnd: (error) => onError(error, 'the thread of persons'),
          onForwardingError: (error) => onError(error, 'the forwarding'),
        })
    const problems = startRecorder({
      store: data.counts,
      customers: data.customers,
      now,
      monotonicNow,
      onFault: ({ reason, source }, times) => metrics.problem(reason, source, times),
      onRefused: metrics.refusedOf,
      onError(error) {
        // A fault of the log is reported by the readiness. A follower that is started or replaced answers later.
        const isExpected = cluster !== undefined && error instanceof Unavailable
        if (data.findFault() === undefined && !isExpected) onError(error, 'the counts of problems')
      },
    })
    try {
      const { customers, pinned, sessions, log, campaigns, reports, people, forwarding, daySalt } =
        data
      const demoBlock =
        findDemoBlock({ host, trustedProxies, publicUrl }) ?? findRetiredDemo(customers)
      const demo = options.demo === true && !demoBlock
      const demoRestKey = demo ? addDemoCustomer(customers) : undefined
      if (demoRestKey) await data.saved()
      const limits = completeLimits(options.limits)
      const quota = createQuota(limits.daily, now)
      await log.watchUsage(quota.learn)
      const admission = createAdmission({
        limits,
        quota,
        log: countStored(log, problems, metrics),
        metrics,
        addresses,
        monotonicNow,
        onUnknownProxy: options.onUnknownProxy ?? (() => {}),
      })
      if (demo) await addDemoCampaign(campaigns, now())
      if (!cluster && (await campaigns.hasEmail())) reports.follow()
      const routes = createRoutes({
        customers,
        pinned,
        sessions,
        saved: data.saved,
        log,
        campaigns,
        orders: data.orders,
        reports,
        people,
        forwarding,
        problems,
        addresses,
        admission,
        quota,
        metrics,
        daySalt,
        script,
        keyThrottle: createKeyThrottle(monotonicNow),
        monotonicNow,
        now,
        publicFolder,
        demo,
        publicUrl,
        metricsToken: options.metricsToken,
        live: options.live,
        onError,
        findUnready,
        answerDoctor: createAnswerDoctor({ dataDir, addresses, findUnready, now }),
      })
      const sweeper =
        data.expiredEvents &&
        startSweeper({
          ...options.sweep,
          events: data.expiredEvents,
          retentions: customers.retentions,
          async beforeRemoval(customer, before) {
            if (!(await campaigns.hasEmail())) return
            await reports.closeFigures(customer, before, viewOf(customers, customer).timeZone)
          },
          now,
          onRemoved: metrics.removed,
          onPass: options.onRemoved,
          onError: (error) => onError(error, 'the removal of old events'),
        })
      return { data, routes, sweeper, problems, demo, demoBlock, demoRestKey }
    } catch (error) {
      await problems.close()
      await data.close()
      throw error
    }
  }

  const answerUnopened = (request: Request): Response =>
    answerWaiting(request, opening?.reason() ?? '', metrics)

  /** Opens what can be served without the cluster. */
  function openScripts(): WaitingScripts | undefined {
    const { limits, publicUrl } = options
    try {
      return openWaitingScripts(
        {
          ...{ dataDir, script, addresses, metrics, publicUrl, now, monotonicNow },
          limits: completeLimits(limits),
        },
        answerUnopened,
      )
    } catch (error) {
      onError(error, 'the copy of the customers')
      return undefined
    }
  }

  function closeScripts(): void {
    waitingScripts?.close()
    waitingScripts = undefined
  }

  try {
    opening = await openOrWait(
      cluster ? () => open().catch(throwAway) : open,
      () => {
        closeScripts()
        readiness.check()
      },
      (error) => onError(error, 'the data'),
      cluster && CLUSTER_PATIENCE_MS,
    )
    const { opened, reason, stop: stopOpening } = opening
    if (cluster && !opened()) waitingScripts = openScripts()
    const bounds = {
      addresses,
      bodies: createBodyBudget(options.bodyBudgetBytes),
      requestTimeoutMs: options.requestTimeoutMs,
      sendTimeoutMs: options.sendTimeoutMs,
      maxHeaderBytes: options.maxHeaderBytes,
      onClosed: metrics.connectionClosed,
    }
    const server = createHttpServer({
      ...bounds,
      fetch: (request, env) =>
        opened()?.routes.fetch(request, env) ??
        waitingScripts?.answer(request, env.peer) ??
        answerUnopened(request),
      findHotPaths: () => opened()?.routes.hotPaths,
      maxConnections,
    })
    removePathPrefix(server, publicUrl)
    if (options.onRequest) reportRequests(server, options.onRequest)
    const metricsServer = createHttpServer({
      ...bounds,
      fetch: createMetricsPort(metrics, onError),
      maxConnections: MAX_METRICS_CONNECTIONS,
    })
    // The public port is opened last, so that the requests it accepts are answered.
    const metricsBound =
      metricsPort === undefined ? undefined : await listen(metricsServer, metricsPort, METRICS_HOST)
    const bound = await listen(server, port, host).catch((error) => {
      metricsServer.close()
      throw error
    })
    // After the caller has logged the start.
    setImmediate(readiness.check)

    const { stop, describe } = createStop({
      leave() {
        isStopping = true
        readiness.stop()
      },
      async endStreams() {
        const open = await stopOpening()
        open?.routes.close()
        await open?.sweeper?.stop()
        return open !== undefined
      },
      servers: metricsBound ? [server, metricsServer] : [server],
      patienceMs: () => patienceMs,
      async closeData() {
        const open = opened()
        closeScripts()
        await open?.problems.close()
        await open?.data.close()
      },
      queued: () => opened()?.data.log.depth() ?? 0,
    })
    const use = (): Opened => {
      const open = opened()
      if (!open) throw new Error(reason())
      return open
    }
    return {
      port: bound.port,
      url: `http://${urlHost(bound)}:${bound.port}`,
      findUnready,
      isOpen: () => opened() !== undefined,
      get customers() {
        return use().data.customers
      },
      get log() {
        return use().data.log
      },
      get campaigns() {
        return use().data.campaigns
      },
      get forwarding() {
        return use().data.forwarding
      },
      metricsUrl: metricsBound && `http://${METRICS_HOST}:${metricsBound.port}/metrics`,
      get partitions() {
        return opened() && clusterData?.partitions
      },
      get demo() {
        return use().demo
      },
      get demoBlock() {
        return use().demoBlock
      },
      get demoRestKey() {
        return use().demoRestKey
      },
      close: stop,
      describeStop: describe,
    }
  } catch (error) {
    readiness.stop()
    const open = await opening?.stop()
    closeScripts()
    await open?.sweeper?.stop()
    await open?.problems.close()
    await open?.data.close()
    throw error
  }
}

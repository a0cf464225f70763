import { resolve } from 'node:path'
import type { Customer } from './customers/customers.ts'
import { DEMO_CUSTOMER_ID, DEMO_TRACKING_KEY } from './customers/demoCustomer.ts'
import type { Gateway } from './gateway.ts'
import { print, printError } from './lib/printable.ts'
import { version } from './lib/version.ts'
import { createRefusalLines } from './logs/refusalLines.ts'
import { isMoved } from './move/moveState.ts'
import { createLines, createLog, describeCluster } from './processLog.ts'
import { startGateway } from './server.ts'
import type { Settings } from './settings.ts'

/** Deadline of a stop after a fatal error, ms. Then the process exits. */
const FATAL_EXIT_MS = 5_000
/** Time for the last line, ms: what reads the log may have stopped too. */
const LAST_LINE_MS = 1_000
const DAY_MS = 86_400_000

/**
 * Runs a gateway in this process, until SIGTERM, SIGINT or a fatal error.
 *
 * @returns Exit code: 0 after a clean stop, 1 if it could not start or after a fatal error, so that a supervisor starts
 * it again. A stop that takes too long ends the process by SIGKILL.
 */
export async function runGateway(settings: Settings): Promise<number> {
  const { log, stdout } = createLog(settings.logLevel)
  // Before the start, since a signal may come during it. `on`, not `once`: a terminal and npm both send Ctrl-C, and the
  // second one must not interrupt the stop.
  let begin: (why: string | Error) => void = () => {}
  const stopped = new Promise<string | Error>((resolve) => {
    begin = resolve
  })
  /** Ends the drain, with the second signal. */
  const hurry = new AbortController()
  let signals = 0
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      begin(signal)
      if (++signals > 1) hurry.abort()
    })
  const onRemoved = createDailySum((events) =>
    log.info({ events }, 'Events were removed, since their retention is over'),
  )
  const refusals = createRefusalLines(
    (event) => log.info(event, 'Refused'),
    (count) => log.info(count, 'Further ones were refused, without a line each'),
  )
  const { logLevel: _, logRequests, drainMs, stopTimeoutMs, ...options } = settings
  let gateway: Gateway
  let isAnnounced = false
  /** Called when the data is open, which may be after the start. */
  function announce(): void {
    if (isAnnounced || !gateway.isOpen()) return
    isAnnounced = true
    const folder = resolve(settings.dataDir)
    if (!settings.cluster && isMoved(folder))
      log.warn(
        { dataDir: folder },
        'This folder was moved to a cluster, which does not get what is stored here from now on. Stop this gateway, and repeat shoptrail move, or set ENGINE and another DATA_DIR',
      )
    if (gateway.demo) {
      print(welcome(gateway, settings))
      return
    }
    // Not a log line, which LOG_LEVEL could hide.
    if (settings.demo)
      printError([
        `${gateway.demoBlock}. To add a customer of your own: npx shoptrail customer add --origin https://shop.example`,
      ])
    const { publicUrl, cluster } = settings
    log.info(
      {
        ...{ url: gateway.url, publicUrl, metricsUrl: gateway.metricsUrl, version },
        ...(cluster && describeCluster(cluster, gateway.partitions)),
      },
      'Listening',
    )
    if (!publicUrl)
      log.info('PUBLIC_URL is not set: scripts that are inlined or evaluated do not start')
    if (gateway.customers.findByTrackingKey(DEMO_TRACKING_KEY))
      log.warn(
        'The demo customer of an earlier start still exists, and its tracking key is public. Remove it: npx shoptrail customer remove demo --yes',
      )
  }
  try {
    gateway = await startGateway({
      ...options,
      ...createLines(log),
      onReadiness: (reason) => {
        announce()
        if (reason === undefined) log.info('Ready')
        else log.warn({ reason, dataDir: resolve(settings.dataDir) }, 'Not ready')
      },
      onUnknownProxy: (peer) =>
        log.warn(
          { peer },
          'This address exceeds the limits of an address, and sends headers of a proxy. If it is your proxy, all its visitors share these limits: add it to TRUSTED_PROXIES',
        ),
      onRemoved,
      ...(log.isLevelEnabled('info') && { onRefused: refusals.add }),
      ...(logRequests && { onRequest: (line) => log.info(line, 'Request') }),
      onUpgrade: (step) => log.info(step),
      onDisk: (state, { left }) => {
        const now = { leftBytes: left, dataDir: resolve(settings.dataDir) }
        if (state === 'ample') log.info(now, 'The disk has room again')
        else if (state === 'low') log.warn(now, 'The disk is nearly full')
        else log.error(now, 'The disk is full: events are refused with 503 until there is room')
      },
      onFatal: begin,
    })
  } catch (error) {
    printError([explain(error, settings)])
    return 1
  }
  announce()
  if (!gateway.isOpen()) {
    const { cluster, dataDir } = settings
    const place = cluster ? 'the cluster' : `its data in ${resolve(dataDir)}`
    printError([`The gateway at ${gateway.url} waits for ${place}: ${gateway.findUnready()}`])
  }

  const why = await stopped
  const isFatal = why instanceof Error
  const timeoutMs = isFatal ? FATAL_EXIT_MS : stopTimeoutMs
  setTimeout(async () => {
    log.fatal(await gateway.describeStop(), 'The stop took too long')
    // process.exit would wait for a thread that waits for the disk. What is acknowledged is on the disk.
    const end = () => process.kill(process.pid, 'SIGKILL')
    stdout.once('drain', end)
    setTimeout(end, LAST_LINE_MS)
  }, timeoutMs).unref()
  // Nobody waits for a balancer after Ctrl-C.
  const stop = { drainMs: why === 'SIGTERM' ? drainMs : 0, timeoutMs, hurry: hurry.signal }
  if (isFatal)
    log.fatal(
      { dataDir: resolve(settings.dataDir) },
      `The gateway can not continue. ${why.message}`,
    )
  else if (!gateway.isOpen() || !gateway.demo)
    log.info({ signal: why, drainMs: stop.drainMs }, 'Stopping')
  await gateway.close(stop)
  refusals.close()
  return isFatal ? 1 : 0
}

function explain(error: unknown, { port, host, metricsPort }: Settings): string {
  const { code, message, ...failed } = error as NodeJS.ErrnoException & { port?: number }
  if (metricsPort !== undefined && failed.port === metricsPort && code === 'EADDRINUSE')
    return `METRICS_PORT ${metricsPort} is in use. Choose another one, or 0 for any free port`
  if (metricsPort !== undefined && failed.port === metricsPort && code === 'EACCES')
    return `METRICS_PORT ${metricsPort} needs more rights than this process has. Choose one above 1023`
  if (code === 'EADDRINUSE')
    return `Port ${port} of ${host} is in use. Set PORT to another one, or to 0 for any free port`
  if (code === 'EACCES' && port < 1024)
    return `Port ${port} needs more rights than this process has. Set PORT to one above 1023, such as 8787`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EINVAL')
    return `HOST ${host} is not an address of this machine. Choose another one: HOST=127.0.0.1, or HOST=0.0.0.0 for every address`
  return `The gateway can not start. ${message}`
}

function welcome(gateway: Gateway, { dataDir, publicUrl, cluster }: Settings): string[] {
  const base = publicUrl ?? gateway.url.replace('//127.0.0.1:', '//localhost:')
  // Not DEMO_TRACKING_KEY: the key may have been rotated.
  const { trackingKey } = gateway.customers.find(DEMO_CUSTOMER_ID) as Customer
  return [
    `shoptrail ${version}`,
    '',
    `  Demo shop    ${base}/shop/`,
    `  Live view    ${base}/live/`,
    `  Campaigns    ${base}/campaigns/`,
    `  Set up       ${base}/setup/`,
    `  Script tag   <script async src="${base}/t/j/${trackingKey}"></script>`,
    ...(gateway.demoRestKey
      ? [`  REST key     ${gateway.demoRestKey} (of the customer demo; shown only now)`]
      : []),
    ...(gateway.metricsUrl ? [`  Metrics      ${gateway.metricsUrl}`] : []),
    '',
    `Events are kept in ${cluster ? 'the cluster' : dataDir}. Ctrl-C ends the gateway.`,
    '',
  ]
}

/** Adds up numbers, and reports the sum at most once a day. */
function createDailySum(report: (sum: number) => void): (added: number) => void {
  let sum = 0
  let reportedAt = Number.NEGATIVE_INFINITY
  return (added) => {
    sum += added
    const now = performance.now()
    if (now - reportedAt < DAY_MS) return
    report(sum)
    sum = 0
    reportedAt = now
  }
}

import { resolve } from 'node:path'
import { type Following, startFollowing } from './followServer.ts'
import { printError } from './lib/printable.ts'
import { version } from './lib/version.ts'
import type { NatsOptions } from './nats/natsOptions.ts'
import { createLines, createLog, describeCluster } from './processLog.ts'
import type { Settings } from './settings.ts'

/** Deadline of a stop after a fatal error, ms. Then the process exits. */
const FATAL_EXIT_MS = 5_000
/** Time for the last line, ms: what reads the log may have stopped too. */
const LAST_LINE_MS = 1_000

/**
 * Runs a follower in this process, until SIGTERM, SIGINT or a fatal error.
 *
 * @returns Exit code: 0 after a clean stop, 1 if it could not start or after a fatal error. A stop that takes too long
 * ends the process by SIGKILL; then others take its partitions when the leases are over.
 */
export async function runFollower(settings: Settings, cluster: NatsOptions): Promise<number> {
  const { log, stdout } = createLog(settings.logLevel)
  let begin: (why: string | Error) => void = () => {}
  const stopped = new Promise<string | Error>((resolve) => {
    begin = resolve
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => begin(signal))
  const dataDir = resolve(settings.dataDir)
  const lines = createLines(log)
  let following: Following
  try {
    following = await startFollowing({
      dataDir: settings.dataDir,
      metricsPort: settings.metricsPort,
      cluster,
      ...lines,
      onError: lines.onBackgroundError,
      onReadiness(reason) {
        if (reason === undefined) log.info('Ready')
        else log.warn({ reason, dataDir }, 'Not ready')
      },
      onRemoved: (events) =>
        log.info({ events }, 'Events were removed, since their retention is over'),
      onFatal: begin,
    })
  } catch (error) {
    printError([explain(error as NodeJS.ErrnoException, settings)])
    return 1
  }
  const { metricsUrl } = following
  log.info(
    {
      metricsUrl,
      version,
      dataDir,
      ...describeCluster({ ...cluster, follow: true }, following.partitions()),
    },
    'Following',
  )
  const why = await stopped
  const isFatal = why instanceof Error
  setTimeout(
    () => {
      log.fatal('The stop took too long')
      const end = () => process.kill(process.pid, 'SIGKILL')
      stdout.once('drain', end)
      setTimeout(end, LAST_LINE_MS)
    },
    isFatal ? FATAL_EXIT_MS : settings.stopTimeoutMs,
  ).unref()
  if (isFatal) log.fatal({ dataDir }, `The follower can not continue. ${why.message}`)
  else log.info({ signal: why }, 'Stopping')
  await following.close()
  return isFatal ? 1 : 0
}

function explain({ code, message }: NodeJS.ErrnoException, { metricsPort }: Settings): string {
  if (code === 'EADDRINUSE')
    return `METRICS_PORT ${metricsPort} is in use. Choose another one, or 0 for any free port`
  return `The follower can not start. ${message}`
}

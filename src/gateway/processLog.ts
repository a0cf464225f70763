import { pino } from 'pino'
import type { StateNews } from './forward/stateNews.ts'
import { printableJson } from './lib/printable.ts'
import { type ClusterNews, newsLine } from './nats/clusterNews.ts'
import type { NatsOptions } from './nats/natsOptions.ts'
import { findPassing } from './nats/passing.ts'

/** Log lines about errors in a second. On a full disk every request fails. */
const MAX_ERROR_LINES = 10
/** The same reason why a cluster does not answer is logged once in this time, ms, and so many reasons. */
const PASSING_MS = 60_000
const MAX_PASSING = 20

/** Lines of JSON on stdout. Characters that a terminal would execute are escaped, in addition to those of JSON. */
export function createLog(level: string) {
  const stdout = pino.destination(1)
  const write = (line: string): void => void stdout.write(`${printableJson(line.slice(0, -1))}\n`)
  return { log: pino({ level }, { write }), stdout }
}

/** The log of a process. */
export type Log = ReturnType<typeof createLog>['log']

/**
 * Callbacks that write a line each.
 *
 * @param monotonicNow A clock, ms.
 */
export function createLines(
  log: Pick<Log, 'info' | 'warn' | 'error'>,
  monotonicNow = () => performance.now(),
) {
  const mayLog = createLineLimit(MAX_ERROR_LINES)
  const logPassing = createPassingLines(log, monotonicNow)

  /** @param what The subject of the error. */
  function onBackgroundError(error: unknown, what: string): void {
    if (logPassing(error, { what })) return
    if (mayLog()) log.error({ err: error, what }, 'Something failed in the background')
  }

  return {
    /** @param route A pattern, or the subject of the error. The address is not logged, since it contains keys. */
    onError(error: unknown, route: string) {
      if (!/^[/*]/.test(route)) onBackgroundError(error, route)
      else if (!logPassing(error, { route }) && mayLog())
        log.error({ err: error, route }, 'A request failed')
    },
    onBackgroundError,
    onDestination({ state, ...destination }: StateNews) {
      if (state === 'running') log.info(destination, 'A destination takes events again')
      else
        log.warn(
          destination,
          state === 'waiting'
            ? 'A destination does not take events. They wait, and are sent again. The reason: shoptrail forward list'
            : 'A destination has stopped. The reason, and what to do: shoptrail forward list',
        )
    },
    onCluster(news: ClusterNews) {
      const { level, message, ...line } = newsLine(news)
      log[level](line, message)
    },
  }
}

/**
 * What a start logs of a cluster. Without credentials.
 *
 * @param partitions Undefined while it is not known.
 */
export const describeCluster = (
  { servers, follow = true }: NatsOptions,
  partitions: number | undefined,
) => ({ cluster: servers, partitions, follows: follow })

/**
 * While a cluster elects leaders every request and every background work fails, so a reason is one line a minute,
 * without a stack.
 *
 * @returns Whether the error was one of these.
 */
function createPassingLines(log: Pick<Log, 'warn'>, monotonicNow: () => number) {
  const reasons = new Set<string>()
  let since = Number.NEGATIVE_INFINITY
  return (error: unknown, subject: { readonly what: string } | { readonly route: string }) => {
    const reason = findPassing(error)
    if (reason === undefined) return false
    if (monotonicNow() - since > PASSING_MS) {
      reasons.clear()
      since = monotonicNow()
    }
    if (!reasons.has(reason) && reasons.size < MAX_PASSING)
      log.warn(
        { ...subject, reason },
        'The cluster has not answered in time. It is tried again. This reason is logged once a minute',
      )
    reasons.add(reason)
    return true
  }
}

function createLineLimit(maxInSecond: number): () => boolean {
  let second = 0
  let lines = 0
  return () => {
    const now = Math.floor(performance.now() / 1000)
    if (now !== second) {
      second = now
      lines = 0
    }
    lines++
    return lines <= maxInSecond
  }
}

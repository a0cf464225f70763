import { pino } from 'pino'
import type { StateNews } from './forward/stateNews.ts'
import { printableJson } from './lib/printable.ts'
import { type ClusterNews, newsLine } from './nats/clusterNews.ts'
import type { NatsOptions } from './nats/natsOptions.ts'

/** Log lines about errors in a second. On a full disk every request fails. */
const MAX_ERROR_LINES = 10

/** Lines of JSON on stdout. Characters that a terminal would execute are escaped, in addition to those of JSON. */
export function createLog(level: string) {
  const stdout = pino.destination(1)
  const write = (line: string): void => void stdout.write(`${printableJson(line.slice(0, -1))}\n`)
  return { log: pino({ level }, { write }), stdout }
}

/** The log of a process. */
export type Log = ReturnType<typeof createLog>['log']

/** Callbacks that write a line each. */
export function createLines(log: Log) {
  const mayLog = createLineLimit(MAX_ERROR_LINES)

  /** @param what The subject of the error. */
  function onBackgroundError(error: unknown, what: string): void {
    if (!mayLog()) return
    // While streams elect a leader, such as after a node has failed. A stack would not help.
    if (isLate(error)) log.warn({ what }, 'The cluster has not answered in time. It is tried again')
    else log.error({ err: error, what }, 'Something failed in the background')
  }

  return {
    /**
     * @param route A pattern, since the address contains keys, or the subject of an error in the background.
     */
    onError(error: unknown, route: string) {
      if (!/^[/*]/.test(route)) onBackgroundError(error, route)
      else if (mayLog()) log.error({ err: error, route }, 'A request failed')
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

/** Whether it is the error of the client of NATS for an answer that did not come. */
const isLate = (error: unknown): boolean =>
  error instanceof Error && error.name === 'TimeoutError' && error.message === 'timeout'

/**
 * What a start logs of a cluster. Without credentials.
 *
 * @param partitions Undefined while it is not known.
 */
export const describeCluster = (
  { servers, follow = true }: NatsOptions,
  partitions: number | undefined,
) => ({ cluster: servers, partitions, follows: follow })

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

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
  return {
    /** `route` is a pattern. The address is not logged, since it contains keys. */
    onError(error: unknown, route: string) {
      if (mayLog()) log.error({ err: error, route }, 'A request failed')
    },
    /** @param what The subject of the error. */
    onBackgroundError(error: unknown, what: string) {
      if (mayLog()) log.error({ err: error, what }, 'Something failed in the background')
    },
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

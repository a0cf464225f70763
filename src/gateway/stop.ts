import type { Server } from 'node:http'
import { closeServer, REQUEST_TIMEOUT_MS } from './http/httpServer.ts'

/** How a gateway stops. */
export type StopOptions = {
  /**
   * The drain, ms: the gateway is unready and still answers, so that a balancer sends its requests elsewhere. Default 0.
   */
  readonly drainMs?: number
  /** Ends the drain early. */
  readonly hurry?: AbortSignal
  /** Time for the whole stop, ms. Clients that read slowly are closed in time for it. Default: no limit. */
  readonly timeoutMs?: number
}

/** What a stop still waits for. */
export type StopState = {
  readonly stage: 'the drain' | 'open requests' | 'accepted events'
  readonly connections: number
  /** Events that wait for their commit. */
  readonly queued: number
}

/** The parts of a gateway that end, in this order. */
export type Stoppable = {
  /** Makes the gateway unready. */
  readonly leave: () => void
  /** Ends what needs no drain: streams, timers. Resolves with whether the gateway has anything to drain. */
  readonly endStreams: () => Promise<boolean>
  /** The public server, then others. */
  readonly servers: readonly Server[]
  /** Time for clients to read their answers, ms. Default 10,000. */
  readonly patienceMs: () => number | undefined
  /** Stores the accepted events and closes the data. */
  readonly closeData: () => Promise<void>
  readonly queued: () => number
}

/** Time that a stop keeps for the commits and the files, ms. At most half of what is left after the drain. */
const CLOSE_DATA_MS = 3_000

/** @returns `stop`, whose later calls return the promise of the first one, and `describe`. */
export function createStop(parts: Stoppable) {
  const { servers } = parts
  let stage: StopState['stage'] = 'the drain'
  let stopped: Promise<void> | undefined

  async function run({ drainMs = 0, hurry, timeoutMs }: StopOptions): Promise<void> {
    const startedAt = performance.now()
    parts.leave()
    // Clients and proxies open their next connection elsewhere.
    for (const server of servers)
      server.prependListener('request', (_, response) => {
        response.shouldKeepAlive = false
      })
    if (await parts.endStreams()) await pause(drainMs, hurry)
    stage = 'open requests'
    for (const server of servers) {
      const left =
        timeoutMs === undefined
          ? Number.POSITIVE_INFINITY
          : Math.max(0, timeoutMs - (performance.now() - startedAt))
      await closeServer(
        server,
        Math.min(
          parts.patienceMs() ?? REQUEST_TIMEOUT_MS,
          Math.max(left - CLOSE_DATA_MS, left / 2),
        ),
      )
    }
    stage = 'accepted events'
    await parts.closeData()
  }

  return {
    stop(options: StopOptions = {}): Promise<void> {
      stopped ??= run(options)
      return stopped
    },
    async describe(): Promise<StopState> {
      const counts = await Promise.all(servers.map(countConnections))
      return { stage, connections: counts.reduce((sum, n) => sum + n, 0), queued: parts.queued() }
    },
  }
}

/** Resolves after a time, or when `hurry` is aborted. */
function pause(ms: number, hurry: AbortSignal | undefined): Promise<void> {
  if (ms === 0 || hurry?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      hurry?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    hurry?.addEventListener('abort', end)
  })
}

const countConnections = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { createAddresses } from './address.ts'
import { OPEN_HEADERS, refuse } from './answers.ts'
import type { Campaigns } from './campaigns.ts'
import { type Customers, createCustomers } from './customers.ts'
import { prepareDataFolder } from './dataFolder.ts'
import { addDemoCampaign, addDemoCustomer, findDemoBlock } from './demo.ts'
import type { EventLog } from './eventLog.ts'
import { createGroupCommit, type QueueLimits } from './groupCommit.ts'
import { createMetrics } from './metrics.ts'
import { startMetricsServer } from './metricsServer.ts'
import { createRoutes, type Env } from './routes.ts'
import { readScriptFiles } from './serveScript.ts'
import { createSqliteCampaigns } from './sqlite/campaigns.ts'
import { createSqliteLog } from './sqlite/eventLog.ts'
import { createSqliteReports } from './sqlite/reports.ts'
import { startSqliteThread } from './sqlite/thread.ts'

/** How to start a gateway. Everything has a default but the folder of its data. */
export type GatewayOptions = {
  /** Folder of the databases, made where it is missing. */
  readonly dataDir: string
  /** Port; 0 is any that is free. Default 0. */
  readonly port?: number
  /** Address to listen on. Default 127.0.0.1. */
  readonly host?: string
  /**
   * Whether to make the demo customer with its campaign and serve the demo shop, open without a sign-in on
   * this machine. Has no effect where `findDemoBlock` gives a reason. Default false.
   */
  readonly demo?: boolean
  /**
   * The gateway's address as the world sees it, without a slash at its end. Default none: then the script
   * takes the address from its own tag, and can not be inlined.
   */
  readonly publicUrl?: string | undefined
  /** Addresses and networks of the proxies in front. Default none. */
  readonly trustedProxies?: readonly string[]
  /** Loopback port of GET /metrics; 0 is any that is free. Default none. */
  readonly metricsPort?: number | undefined
  /** Secret with which GET /metrics is answered on `port`. Default none: 404. */
  readonly metricsToken?: string | undefined
  /** Folder of `track.js` and `parts`. Default: where this bundle is. */
  readonly scriptFolder?: string
  /** Folder of `live`, `campaigns` and `shop`. Default: `public` beside the folder of this bundle. */
  readonly publicFolder?: string
  /** Bundle of sqlite/worker.ts, with report-worker.js beside it. Default: beside this bundle. */
  readonly workerFile?: URL
  /** Bounds of the queue in front of the log. */
  readonly queue?: QueueLimits
  /** A request must have arrived whole within this, ms. Default 10,000. */
  readonly requestTimeoutMs?: number
  /** The clock, ms since 1970. Default Date.now. */
  readonly now?: () => number
  /** Told of each error that nobody expected. Default: nobody. */
  readonly onError?: (error: unknown, route: string) => void
}

/** A gateway that listens. */
export type Gateway = {
  readonly port: number
  /** Its address on this machine, without a slash at its end. */
  readonly url: string
  readonly customers: Customers
  readonly log: EventLog
  readonly campaigns: Campaigns
  /** Where GET /metrics is answered on a port of its own, if it is. */
  readonly metricsUrl: string | undefined
  /** Whether the demo is open; see `findDemoBlock`. */
  readonly demo: boolean
  /** The restKey of the demo customer, if this start made it. */
  readonly demoRestKey: string | undefined
  /** Takes no more requests, answers those that are there, stores what was accepted, lets go. */
  close(): Promise<void>
}

/** Longer than the idle time of common load balancers (60 s), which else see resets. */
const KEEP_ALIVE_MS = 72_000
/** A request must have arrived whole within this, ms. */
const REQUEST_TIMEOUT_MS = 10_000
/** How often node looks for senders that are too slow, ms (its default is 30 s). */
const SLOW_SENDER_CHECK_MS = 1_000

/**
 * Starts a gateway.
 *
 * @throws Error when the port is taken (`code` is EADDRINUSE), the data can not be opened, or the
 * script has not been built.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const {
    dataDir,
    port = 0,
    host = '127.0.0.1',
    scriptFolder = fileURLToPath(new URL('.', import.meta.url)),
    publicFolder = fileURLToPath(new URL('../public', import.meta.url)),
    workerFile = new URL('./sqlite-worker.js', import.meta.url),
    now = Date.now,
    onError = () => {},
  } = options
  const { trustedProxies = [], publicUrl, metricsPort } = options
  const demo = options.demo === true && !findDemoBlock({ host, trustedProxies, publicUrl })
  const script = readScriptFiles(scriptFolder)
  const addresses = createAddresses(trustedProxies, publicUrl)
  prepareDataFolder(dataDir)
  const customers = createCustomers(join(dataDir, 'customers.db'), now)
  const eventsFile = join(dataDir, 'events.db')
  let log: ReturnType<typeof createGroupCommit> | undefined
  try {
    const demoRestKey = demo ? addDemoCustomer(customers) : undefined
    const thread = await startSqliteThread(eventsFile, workerFile)
    log = createGroupCommit(createSqliteLog(thread), options.queue, (events, seconds) =>
      metrics.commit(events, seconds),
    )
    const metrics = createMetrics(log.depth)
    const campaigns = createSqliteCampaigns(thread)
    if (demo) await addDemoCampaign(campaigns, now())
    const hasEmail = await campaigns.hasEmail()
    const reports = createSqliteReports({
      eventsFile,
      reportsFile: join(dataDir, 'reports.db'),
      workerFile: new URL('./report-worker.js', workerFile),
    })
    let isReady = true
    const routes = createRoutes({
      ...{ customers, log, campaigns, reports, addresses, metrics, script, publicFolder },
      ...{ demo, now, publicUrl, metricsToken: options.metricsToken },
      onError,
      isReady: () => isReady,
    })
    const server = createHttpServer(routes.fetch, options.requestTimeoutMs)
    const metricsServer =
      metricsPort === undefined ? undefined : await startMetricsServer(metrics, metricsPort)
    const bound = await listen(server, port, host).catch((error) => {
      metricsServer?.close()
      throw error
    })
    const { close: closeLog } = log
    if (hasEmail) reports.follow()

    const stop = async (): Promise<void> => {
      isReady = false
      routes.close()
      await closeServer(server, options.requestTimeoutMs)
      metricsServer?.close()
      metricsServer?.closeAllConnections()
      await reports.close()
      await closeLog()
      customers.close()
    }
    let stopped: Promise<void> | undefined
    return {
      port: bound.port,
      url: `http://${urlHost(bound)}:${bound.port}`,
      customers,
      log,
      campaigns,
      metricsUrl:
        metricsServer &&
        `http://127.0.0.1:${(metricsServer.address() as AddressInfo).port}/metrics`,
      demo,
      demoRestKey,
      close: () => {
        stopped ??= stop()
        return stopped
      },
    }
  } catch (error) {
    await log?.close()
    customers.close()
    throw error
  }
}

function createHttpServer(
  fetch: (request: Request, env: Env['Bindings']) => Response | Promise<Response>,
  requestTimeout = REQUEST_TIMEOUT_MS,
): Server {
  const listener = getRequestListener(
    (request, env) =>
      // A Host such as `xn--` passes the library's look at its characters and is no URL all the same.
      URL.canParse(request.url) ? fetch(request, bindingsOf(env as HttpBindings)) : refuseAddress(),
    // What can not become a Request: a Host or an address that is no URL.
    { errorHandler: refuseAddress },
  )
  const server = createServer(
    {
      requestTimeout,
      headersTimeout: Math.min(requestTimeout, 5_000),
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: SLOW_SENDER_CHECK_MS,
    },
    listener,
  )
  server.on('clientError', refuseMalformed)
  // Who waits before it sends its body is told to go on when somebody reads it: who is refused by the
  // head alone need not send it. (After such an answer node closes the connection.)
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue()
    })
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response) =>
    server.emit('request', request, response),
  )
  // Before the listener that answers: what it has answered may have no socket any more.
  server.prependListener('request', createQueueWatch())
  return server
}

const bindingsOf = ({ incoming }: HttpBindings): Env['Bindings'] => ({
  peer: incoming.socket.remoteAddress ?? '',
  // Not the answer: one that waits behind another has no socket yet, and its end would wait for it.
  hangUp: () => void incoming.socket.destroy(),
})

/**
 * Requests may come before the answer to the one before has gone. Node tells an answer that its connection
 * is gone only once it has its turn, which then never comes, and what it holds would be held for ever. So
 * those that still wait are told at the socket's end.
 */
function createQueueWatch() {
  const queued = new WeakMap<Socket, Set<ServerResponse>>()
  return ({ socket }: IncomingMessage, answer: ServerResponse): void => {
    if (answer.socket) return
    const answers = queued.get(socket) ?? new Set()
    answers.add(answer)
    answer.once('close', () => answers.delete(answer))
    if (queued.has(socket)) return
    queued.set(socket, answers)
    // One listener a socket, and after all others: by then node has told the answer that had its turn.
    socket.once('close', () =>
      process.nextTick(() => {
        for (const waiting of answers) {
          waiting.destroyed = true
          waiting.emit('close')
        }
      }),
    )
  }
}

const refuseAddress = (): Response =>
  refuse({ status: 400, message: 'The address is invalid' }, OPEN_HEADERS)

/** Who has not taken its answer by then gets no more of it: a reader may take as long as it likes. */
async function closeServer(server: Server, patienceMs = REQUEST_TIMEOUT_MS): Promise<void> {
  // A connection that is kept alive becomes idle only after its answer.
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  const patience = setTimeout(() => server.closeAllConnections(), patienceMs)
  await new Promise<void>((resolve) => server.close(() => resolve()))
  clearInterval(idle)
  clearTimeout(patience)
}

function listen(server: Server, port: number, host: string): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve(server.address() as AddressInfo))
  })
}

/** An address that a browser on this machine can open: "every interface" is none. */
function urlHost({ address, family }: AddressInfo): string {
  if (address === '0.0.0.0' || address === '::') return 'localhost'
  return family === 'IPv6' ? `[${address}]` : address
}

/** What node's parser refuses never becomes a Request; it gets a JSON answer all the same. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [status, message] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? ['408 Request Timeout', 'The request took too long to arrive']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? ['431 Request Header Fields Too Large', 'The headers are too large']
        : ['400 Bad Request', 'This is no HTTP request']
  const body = JSON.stringify({ message })
  const headers = { ...OPEN_HEADERS, connection: 'close', 'content-length': `${body.length}` }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}

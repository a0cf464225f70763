import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { type Addresses, networkOf } from './address.ts'
import { headersFor, OPEN_HEADERS, refuse } from './answers.ts'
import { type BodyBudget, createReserve } from './bodyBudget.ts'
import { type CloseReason, createConnections } from './connections.ts'
import { createHotPaths, type HotPaths } from './hotPaths.ts'
import { Incoming } from './incoming.ts'
import { DEFAULT_MAX_HEADER_BYTES, DEFAULT_SEND_TIMEOUT_MS, MAX_HEADERS } from './limits.ts'
import { createReadBody } from './readBody.ts'
import type { RequestEnv } from './requestEnv.ts'
import { bytesOfHead, type RequestHead } from './requestHead.ts'

export type HttpServerOptions = {
  readonly fetch: (request: Request, env: RequestEnv) => Response | Promise<Response>
  /** Finds the handlers of the hot paths. Default: `fetch` handles them too. */
  readonly findHotPaths?: (() => HotPaths | undefined) | undefined
  readonly addresses: Addresses
  readonly bodies: BodyBudget
  /** Connections that are open at once, from 1. */
  readonly maxConnections: number
  /** Time in which a whole request must arrive, ms. Default 10,000. */
  readonly requestTimeoutMs?: number | undefined
  /** A connection is closed if its other end takes nothing of an answer for this long, ms. Default 30,000. */
  readonly sendTimeoutMs?: number | undefined
  /** Bytes of the line and the headers of a request. Above it 431. Default 65,536. */
  readonly maxHeaderBytes?: number | undefined
  /** Called for each connection that is closed to keep a limit. */
  readonly onClosed: (reason: CloseReason) => void
}

/** Longer than the idle time of common load balancers (60 s), which would otherwise see resets. */
export const KEEP_ALIVE_MS = 72_000
export const REQUEST_TIMEOUT_MS = 10_000
export const HEAD_TIMEOUT_MS = 5_000
/** Time between two checks for slow senders, ms. (Default of node: 30 s.) */
const SLOW_SENDER_CHECK_MS = 1_000
/** Host of an HTTP/1.0 request without one. A name that never exists (RFC 6761, 6.4), so it is not a loopback name. */
const NO_HOST = 'no-host.invalid'

/** A server that makes Requests for `fetch`, within limits, but for the hot paths. */
export function createHttpServer(options: HttpServerOptions): Server {
  const { fetch, addresses, bodies, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options

  function answer(request: Request, { incoming, outgoing }: HttpBindings) {
    // A Host such as `xn--` passes the library's check, but is not a URL.
    if (!URL.canParse(request.url)) return refuseAddress()
    const env = toEnv(request, incoming as IncomingMessage, outgoing as ServerResponse)
    // A client may take a long time to read the answer.
    return env.reserve(0) ? fetch(request, env) : refuseHead(request)
  }

  function toEnv(head: RequestHead, incoming: IncomingMessage, outgoing: ServerResponse) {
    const peer = incoming.socket.remoteAddress ?? ''
    const reserve = createReserve(
      bodies,
      outgoing,
      () => networkOf(addresses.visitor(head, peer)),
      bytesOfHead(incoming),
    )
    const readBody = createReadBody(incoming, reserve)
    return { peer, reserve, readBody, breakOff: () => void outgoing.destroy() }
  }

  const answerHot = createHotPaths(options.findHotPaths ?? (() => undefined), toEnv)
  const answerAny = getRequestListener(
    (request, env) => answer(request, env as HttpBindings),
    // A Host or an address that is not a URL.
    { errorHandler: refuseAddress, hostname: NO_HOST },
  )
  const server = createServer({
    IncomingMessage: Incoming,
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(requestTimeoutMs, HEAD_TIMEOUT_MS),
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: options.maxHeaderBytes ?? DEFAULT_MAX_HEADER_BYTES,
    connectionsCheckingInterval: SLOW_SENDER_CHECK_MS,
    // node would answer without a body. malformed.ts checks it.
    requireHostHeader: false,
  })
  server.maxHeadersCount = MAX_HEADERS
  createConnections(
    server,
    (incoming, outgoing) => {
      if (!answerHot(incoming, outgoing)) void answerAny(incoming, outgoing)
    },
    {
      max: options.maxConnections,
      sendTimeoutMs: options.sendTimeoutMs ?? DEFAULT_SEND_TIMEOUT_MS,
    },
    options.onClosed,
  )
  // A client that waits for 100 Continue gets it when the body is read. If it is refused before, it does not have to
  // send the body. (node closes the connection after such an answer.)
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue()
    })
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response) =>
    server.emit('request', request, response),
  )
  return server
}

const refuseAddress = (): Response =>
  refuse({ status: 400, message: 'The address is invalid' }, OPEN_HEADERS)

const refuseHead = ({ url }: Request): Response =>
  refuse(
    { status: 503, message: 'Too many large requests are being received', retryAfterSeconds: 2 },
    headersFor(new URL(url).pathname),
  )

/** @param patienceMs Time for clients to read their answers. Then their connections are closed. */
export async function closeServer(server: Server, patienceMs: number): Promise<void> {
  // A connection that is kept alive becomes idle only after its answer.
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  const patience = setTimeout(() => server.closeAllConnections(), patienceMs)
  await new Promise<void>((resolve) => server.close(() => resolve()))
  clearInterval(idle)
  clearTimeout(patience)
}

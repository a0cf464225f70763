import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { type Addresses, networkOf } from './address.ts'
import { OPEN_HEADERS, refuse } from './answers.ts'
import { type BodyBudget, createReserve } from './bodyBudget.ts'
import { type CloseReason, createConnections } from './connections.ts'
import { Incoming } from './incoming.ts'
import { createReadBody } from './readBody.ts'
import type { RequestEnv } from './requestEnv.ts'

/** What the HTTP server of the gateway is made of. */
export type HttpServerOptions = {
  readonly fetch: (request: Request, env: RequestEnv) => Response | Promise<Response>
  readonly addresses: Addresses
  readonly bodies: BodyBudget
  /** Connections at a time, from 1. */
  readonly maxConnections: number
  /** A request must have arrived whole within this, ms. Default 10,000. */
  readonly requestTimeoutMs?: number | undefined
  /** A connection whose other end takes nothing of an answer for so long is closed, ms. Default 30,000. */
  readonly sendTimeoutMs?: number | undefined
  /** Told of each connection that is closed to keep a bound. */
  readonly onClosed: (reason: CloseReason) => void
}

/** Longer than the idle time of common load balancers (60 s), which else see resets. */
const KEEP_ALIVE_MS = 72_000
const REQUEST_TIMEOUT_MS = 10_000
/** How often node looks for senders that are too slow, ms (its default is 30 s). */
const SLOW_SENDER_CHECK_MS = 1_000
const SEND_TIMEOUT_MS = 30_000
/** Stands for the Host of an HTTP/1.0 request without one: no name of ours, so that it opens nothing (RFC 6761, 6.4). */
const NO_HOST = 'no-host.invalid'

/** A server that turns sockets into requests for `fetch`, within bounds. */
export function createHttpServer(options: HttpServerOptions): Server {
  const { fetch, addresses, bodies, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options

  function answer(request: Request, { incoming, outgoing }: HttpBindings) {
    // A Host such as `xn--` passes the library's look at its characters and is no URL all the same.
    if (!URL.canParse(request.url)) return refuseAddress()
    const peer = incoming.socket.remoteAddress ?? ''
    const reserve = createReserve(bodies, outgoing as ServerResponse, () =>
      networkOf(addresses.visitor(request, peer)),
    )
    const readBody = createReadBody(incoming as IncomingMessage, reserve)
    return fetch(request, { peer, readBody, reserve })
  }

  const listener = getRequestListener(
    (request, env) => answer(request, env as HttpBindings),
    // What can not become a Request: a Host or an address that is no URL.
    { errorHandler: refuseAddress, hostname: NO_HOST },
  )
  const server = createServer({
    IncomingMessage: Incoming,
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(requestTimeoutMs, 5_000),
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: SLOW_SENDER_CHECK_MS,
    // Node would answer without a body; see malformed.ts.
    requireHostHeader: false,
  })
  createConnections(
    server,
    listener,
    { max: options.maxConnections, sendTimeoutMs: options.sendTimeoutMs ?? SEND_TIMEOUT_MS },
    options.onClosed,
  )
  // A client that waits before it sends its body is told to go on when the body is read: one that is
  // refused by the head alone need not send it. (After such an answer node closes the connection.)
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

/** Who has not taken its answer by then gets no more of it: a reader may take as long as it likes. */
export async function closeServer(server: Server, patienceMs = REQUEST_TIMEOUT_MS): Promise<void> {
  // A connection that is kept alive becomes idle only after its answer.
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  const patience = setTimeout(() => server.closeAllConnections(), patienceMs)
  await new Promise<void>((resolve) => server.close(() => resolve()))
  clearInterval(idle)
  clearTimeout(patience)
}

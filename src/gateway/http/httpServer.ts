import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import type { Addresses } from '../address.ts'
import { eventIdOf, headersFor, OPEN_HEADERS, refuse } from '../answers.ts'
import type { Env } from '../routes.ts'
import { type BodyBudget, bodyBytesOf, SMALL_BODY_BYTES } from './bodyBudget.ts'
import { limitConnections } from './connections.ts'
import { refuseMalformed } from './malformed.ts'
import { limitPipelining } from './pipelining.ts'

/** What the HTTP server of the gateway is made of. */
export type HttpServerOptions = {
  readonly fetch: (request: Request, env: Env['Bindings']) => Response | Promise<Response>
  readonly addresses: Addresses
  readonly bodies: BodyBudget
  /** Connections at a time. */
  readonly maxConnections: number
  /** A request must have arrived whole within this, ms. Default 10,000. */
  readonly requestTimeoutMs?: number | undefined
  /** A connection on which nothing moves for so long while it has a request is closed, ms. Default 30,000. */
  readonly stalledMs?: number | undefined
  /** Told of each connection that is closed to make room or refused. */
  readonly onRefusedConnection: (how: 'evicted' | 'refused') => void
  /** Told of each request that is refused before the routes see it, by status. */
  readonly onRefused: (status: number) => void
}

/** Longer than the idle time of common load balancers (60 s), which else see resets. */
const KEEP_ALIVE_MS = 72_000
const REQUEST_TIMEOUT_MS = 10_000
/** How often node looks for senders that are too slow, ms (its default is 30 s). */
const SLOW_SENDER_CHECK_MS = 1_000
/** Who takes nothing of an answer makes it take memory. The live view's stream sends something every 15 s. */
const STALLED_MS = 30_000

/** A server that turns sockets into requests for `fetch`, within bounds. */
export function createHttpServer(options: HttpServerOptions): Server {
  const { fetch, addresses, bodies, onRefused, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options

  function answer(request: Request, { incoming, outgoing }: HttpBindings) {
    // A Host such as `xn--` passes the library's look at its characters and is no URL all the same.
    if (!URL.canParse(request.url)) return refuseAddress()
    const peer = incoming.socket.remoteAddress ?? ''
    const bytes = bodyBytesOf(incoming)
    if (bytes > SMALL_BODY_BYTES) {
      const release = bodies.reserve(bytes, addresses.visitor(request, peer))
      if (!release) {
        onRefused(503)
        return refuseBody(request.url)
      }
      outgoing.once('close', release)
    }
    // Not `outgoing`: an answer that waits behind another has no socket yet, and its end would wait for it.
    return fetch(request, { peer, hangUp: () => void incoming.socket.destroy() })
  }

  const listener = getRequestListener(
    (request, env) => answer(request, env as HttpBindings),
    // What can not become a Request: a Host or an address that is no URL.
    { errorHandler: refuseAddress },
  )
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(requestTimeoutMs, 5_000),
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: SLOW_SENDER_CHECK_MS,
      // Node would answer without a body.
      requireHostHeader: false,
    },
    refuseHosts(limitPipelining(listener)),
  )
  server.setTimeout(options.stalledMs ?? STALLED_MS)
  limitConnections(server, options.maxConnections, options.onRefusedConnection)
  server.on('clientError', refuseMalformed)
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
  // Before the listener that answers: what it has answered may have no socket any more.
  server.prependListener('request', createQueueWatch())
  return server
}

/**
 * Refuses what names the gateway twice or not at all (RFC 9112, 3.2). HTTP/1.0 has no such header; a Host
 * that is no URL is refused later.
 */
const refuseHosts =
  (listener: RequestListener): RequestListener =>
  (request, response) => {
    let hosts = 0
    // Names stand at even places.
    for (let i = 0; i < request.rawHeaders.length; i += 2) {
      const name = request.rawHeaders[i] as string
      if (name.length === 4 && name.toLowerCase() === 'host') hosts++
    }
    if (hosts === 1 || (hosts === 0 && request.httpVersionMinor === 0)) {
      listener(request, response)
      return
    }
    const message = hosts > 1 ? 'Expected one Host header' : 'The Host header is missing'
    response.writeHead(400, { ...OPEN_HEADERS, connection: 'close' })
    response.end(JSON.stringify({ message }))
  }

const refuseBody = (url: string): Response =>
  refuse(
    { status: 503, message: 'Too many large bodies are being received', id: eventIdOf(url) },
    { ...headersFor(new URL(url).pathname), 'retry-after': '2' },
  )

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
export async function closeServer(server: Server, patienceMs = REQUEST_TIMEOUT_MS): Promise<void> {
  // A connection that is kept alive becomes idle only after its answer.
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  const patience = setTimeout(() => server.closeAllConnections(), patienceMs)
  await new Promise<void>((resolve) => server.close(() => resolve()))
  clearInterval(idle)
  clearTimeout(patience)
}

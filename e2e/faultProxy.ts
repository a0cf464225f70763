import {
  createServer,
  request as forwardRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

/** How often it is tried to listen again, with pauses of 100 ms. */
const UP_ATTEMPTS = 50

/**
 * The fault of one request with events.
 *
 * - `{ status }`: the proxy answers; the request does not reach the gateway. `body` is sent as JSON unless it is text;
 *   `cors: false` leaves out the header that lets the page read the answer.
 * - `'hang'`: the body is read, and no answer is sent.
 * - `'lose'`: the connection ends after the body was read; the request does not reach the gateway.
 * - `'loseAnswer'`: the gateway stores the events, and the connection ends before its answer (a lost
 *   acknowledgement).
 * - `{ slowMs }`: the answer is delayed by this time.
 */
export type Fault =
  | {
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: unknown
      readonly cors?: false
    }
  | 'hang'
  | 'lose'
  | 'loseAnswer'
  | { readonly slowMs: number }

/** One request, as the proxy received it. */
export type Seen = {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  /** When it arrived, ms since 1970. */
  readonly at: number
  body: string
  /** Ids of its events, in order. */
  ids: string[]
  /** Ids of the events that it asks about, in order. */
  asked: string[]
  /** When it was sent, by the clock of its page, ms since 1970. */
  sent: number
  /** `aborted`: the browser ended it before it arrived. A number is the status of the answer. */
  outcome: 'open' | 'aborted' | 'lost' | number
}

/** Chooses the fault for a request with events; undefined for no fault. */
export type Plan = (request: Seen) => Fault | undefined

/** A proxy between browser and gateway, with its own address, that causes faults. */
export type FaultProxy = {
  /** Without a slash at its end. */
  readonly url: string
  /** Every request for POST /t/r and /t/batch since the start, and their preflights. */
  readonly events: readonly Seen[]
  /** Requests for anything else, such as the script. */
  readonly others: readonly Seen[]
  /** Sets the faults of the next requests, one each. Later requests follow `always`. */
  next(...faults: readonly Fault[]): void
  /** Sets the fault of every request from now on. */
  always(fault: Fault | Plan): void
  /** Ends all faults, and cuts hanging requests off. */
  heal(): void
  /** Stops listening: new connections are refused, open ones end. */
  down(): Promise<void>
  up(): Promise<void>
  /** How long a request with events takes to arrive, ms. Default 150. */
  delayMs: number
  /** The gateway's address; may change while the proxy runs. */
  target: string
  close(): Promise<void>
}

/** The proxy sends this as the visitor's address. It is from a range for documentation (RFC 5737). */
export const VISITOR_ADDRESS = '203.0.113.7'

/**
 * Starts a proxy on 127.0.0.1, on a free port by default.
 *
 * A request with events arrives after a delay, and only if the browser still holds its connection then. The delay
 * stands for the time that a request needs on a real network: without it, even a plain fetch survives every navigation,
 * and a test of delivery proves nothing. Each such request has its own connection, since a browser repeats a request by
 * itself if it fails on a reused connection.
 */
export async function startFaultProxy(target: string, port = 0): Promise<FaultProxy> {
  const events: Seen[] = []
  const others: Seen[] = []
  let coming: Fault[] = []
  let plan: Plan = () => undefined
  let hanging: ServerResponse[] = []

  const server = createServer((request, response) => {
    // Tests kill browsers in the middle of a request.
    handle(request, response).catch(() => response.destroy())
  })
  const listen = (wanted: number) =>
    new Promise<number>((resolve, reject) => {
      server.once('error', reject)
      server.listen(wanted, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
    })
  const bound = await listen(port)

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://proxy')
    const seen: Seen = {
      method: request.method ?? '',
      path: pathname,
      query: searchParams,
      headers: request.headers,
      at: Date.now(),
      body: '',
      ids: [],
      asked: [],
      sent: 0,
      outcome: 'open',
    }
    const isEvents = pathname === '/t/r' || pathname === '/t/batch'
    if (!isEvents || seen.method !== 'POST') {
      ;(isEvents ? events : others).push(seen)
      return forward(request, response, seen)
    }
    const fault = await decide(seen, request).finally(() => events.push(seen))
    response.shouldKeepAlive = false
    if (!(await stays(response, proxy.delayMs))) seen.outcome = 'aborted'
    else await play(fault, request, response, seen)
  }

  /** The fault is fixed before a test sees the request. So a test's next fault is for later requests. */
  async function decide(seen: Seen, request: IncomingMessage): Promise<Fault | undefined> {
    try {
      seen.body = await textOf(request)
    } catch (error) {
      seen.outcome = 'aborted'
      throw error
    }
    Object.assign(seen, contentOf(seen))
    return coming.shift() ?? plan(seen)
  }

  async function play(
    fault: Fault | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    seen: Seen,
  ): Promise<void> {
    if (fault === 'hang') hanging.push(response)
    else if (fault === 'lose') {
      seen.outcome = 'lost'
      response.destroy()
    } else if (fault && typeof fault === 'object' && 'status' in fault)
      answer(fault, response, seen)
    else await forward(request, response, seen, fault)
  }

  function forward(
    request: IncomingMessage,
    response: ServerResponse,
    seen: Seen,
    fault?: 'loseAnswer' | { readonly slowMs: number },
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const inner = forwardRequest(
        proxy.target + request.url,
        {
          method: seen.method,
          agent: false,
          headers: { ...request.headers, connection: 'close', 'x-forwarded-for': VISITOR_ADDRESS },
        },
        async (answered) => {
          const body = await bytesOf(answered)
          if (fault && typeof fault === 'object') await stays(response, fault.slowMs)
          if (fault === 'loseAnswer') {
            seen.outcome = 'lost'
            response.destroy()
          } else {
            const { connection: _, 'keep-alive': __, ...headers } = answered.headers
            seen.outcome = answered.statusCode ?? 0
            response.writeHead(seen.outcome, headers).end(body)
          }
          resolve()
        },
      )
      inner.on('error', reject)
      inner.end(seen.body)
    })
  }

  const proxy: FaultProxy = {
    url: `http://127.0.0.1:${bound}`,
    events,
    others,
    next(...faults) {
      coming = [...faults]
    },
    always(fault) {
      plan = typeof fault === 'function' ? fault : () => fault
    },
    heal() {
      coming = []
      plan = () => undefined
      for (const response of hanging) response.destroy()
      hanging = []
    },
    down() {
      return new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
    async up() {
      // A connection of another process may have the port for a moment.
      for (let attempt = 1; ; attempt++)
        try {
          return void (await listen(bound))
        } catch (error) {
          if (attempt === UP_ATTEMPTS) throw error
          await new Promise((resolve) => setTimeout(resolve, 100))
        }
    },
    delayMs: 150,
    target,
    async close() {
      proxy.heal()
      if (server.listening) await proxy.down()
    },
  }
  return proxy
}

function answer(
  { status, headers = {}, body = '', cors }: Extract<Fault, { status: number }>,
  response: ServerResponse,
  seen: Seen,
): void {
  seen.outcome = status
  response
    .writeHead(status, {
      'content-type': typeof body === 'string' ? 'text/html' : 'application/json',
      ...(cors !== false && {
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'Retry-After',
      }),
      ...headers,
    })
    .end(typeof body === 'string' ? body : JSON.stringify(body))
}

/** Waits. @returns Whether the browser still holds the connection then. */
function stays(response: ServerResponse, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => done(true), ms)
    const gone = () => done(false)
    const done = (stayed: boolean) => {
      clearTimeout(timer)
      response.off('close', gone)
      resolve(stayed && !response.destroyed)
    }
    response.once('close', gone)
  })
}

function contentOf({ path, query, body }: Seen): Pick<Seen, 'ids' | 'asked' | 'sent'> {
  if (path === '/t/r')
    return { ids: [query.get('id') ?? ''], asked: [], sent: Number(query.get('sent')) }
  const { sent, events } = JSON.parse(body) as {
    sent: number
    events: { id: string; payload?: object }[]
  }
  const idsWhere = (has: boolean) =>
    events.filter(({ payload }) => !!payload === has).map(({ id }) => id)
  return { ids: idsWhere(true), asked: idsWhere(false), sent }
}

async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const textOf = async (stream: AsyncIterable<Buffer>): Promise<string> =>
  (await bytesOf(stream)).toString()

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as the server received it. */
export type Received = {
  readonly method: string
  /** Path and query, as they were sent. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/**
 * Answers a request, or fails as a broken server would.
 *
 * @param count Number of requests so far, this one included.
 */
export type Respond = (response: ServerResponse, received: Received, count: number) => void

/** An API server on a free port. It answers each request with `respond`, and records the requests. */
export async function startApi(respond: Respond) {
  const received: Received[] = []
  let sockets = 0
  const server = createServer(async (request, response) => {
    const body = await readBody(request)
    const { method = '', url: target = '', headers } = request
    const one = { method, target, headers, body }
    received.push(one)
    respond(response, one, received.length)
  })
  server.on('connection', () => {
    sockets += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    /** Connections made so far. */
    sockets: () => sockets,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk)
  } catch {
    // The client has closed the connection.
  }
  return Buffer.concat(chunks).toString()
}

/** Answers JSON. */
export const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Respond =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  }

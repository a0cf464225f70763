import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** One answered request. It has no address, no query and no key. */
export type RequestLine = {
  readonly method: string
  /** Without the query. The tracking key of a script is replaced by `*`. At most 200 characters. */
  readonly path: string
  /** 0 if the connection ended before the head of the answer. */
  readonly status: number
  /** From the arrival of the head to the end of the answer. */
  readonly ms: number
  /** Of the answer, with its head. */
  readonly bytes: number
}

const MAX_PATH_CHARACTERS = 200

/** Reports each request of a server when it is over. */
export function reportRequests(server: Server, report: (line: RequestLine) => void): void {
  const written = new WeakMap<Socket, number>()
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket, method = '' } = request
    const begun = performance.now()
    response.once('close', () => {
      const before = written.get(socket) ?? 0
      written.set(socket, socket.bytesWritten)
      report({
        method,
        path: pathOf(request.url ?? ''),
        status: response.headersSent ? response.statusCode : 0,
        ms: Math.round((performance.now() - begun) * 10) / 10,
        bytes: socket.bytesWritten - before,
      })
    })
  })
}

/** Of an address that may be absolute. */
function pathOf(url: string): string {
  const path = url.replace(/^[a-z]+:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? ''
  // A path of a proxy may come before it.
  return path.replace(/\/t\/j\/[^/]+/gi, '/t/j/*').slice(0, MAX_PATH_CHARACTERS)
}

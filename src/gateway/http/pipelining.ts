import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that are answered at a time; the rest wait, unread where possible. */
const MAX_IN_PROGRESS = 8
/**
 * Requests that wait for their turn, all connections together, some 6 kB each: more than the smallest ones
 * that one read of 64 KiB brings.
 */
const MAX_WAITING = 4_000

type Connection = { inProgress: number; readonly waiting: (() => void)[] }

/**
 * Bounds the requests of a connection that are in progress. A client may send requests without waiting for
 * answers (RFC 9112, 9.3.2): above the bound the socket is not read. What one read has brought already, up
 * to 64 KiB of requests, waits in order; where too many wait in all, the connection that brings more is
 * closed.
 *
 * @param maxWaiting Default 4,000.
 */
export function limitPipelining(
  listener: RequestListener,
  maxWaiting = MAX_WAITING,
): RequestListener {
  const connections = new WeakMap<Socket, Connection>()
  let waitingInAll = 0

  function open(socket: Socket): Connection {
    const connection: Connection = { inProgress: 0, waiting: [] }
    connections.set(socket, connection)
    // Node resumes a socket whenever a body is read.
    socket.on('resume', () => {
      if (connection.waiting.length > 0) socket.pause()
    })
    socket.once('close', () => {
      waitingInAll -= connection.waiting.length
      connection.waiting.length = 0
    })
    return connection
  }

  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const connection = connections.get(socket) ?? open(socket)

    function start(): void {
      connection.inProgress++
      response.once('close', () => {
        connection.inProgress--
        const next = connection.waiting.shift()
        if (next) {
          waitingInAll--
          next()
        }
        if (connection.waiting.length === 0) socket.resume()
      })
      listener(request, response)
    }

    if (connection.inProgress < MAX_IN_PROGRESS) start()
    else if (waitingInAll >= maxWaiting) socket.destroy()
    else {
      waitingInAll++
      connection.waiting.push(start)
      socket.pause()
    }
  }
}

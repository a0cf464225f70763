import type { Socket } from 'node:net'
import { OPEN_HEADERS } from '../answers.ts'

/** How long the other end has to take the answer and close, ms. */
const LINGER_MS = 1_000

/**
 * Answers what node's parser refuses, which never becomes a Request, and lets the connection go a moment
 * later, whatever the other end does: one that never closes its half would keep the descriptor.
 */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
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
  const linger = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(linger))
}

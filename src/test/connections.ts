import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, vi } from 'vitest'
import { type ConnectionLimits, createConnections } from '../gateway/http/connections.ts'
import { Incoming } from '../gateway/http/incoming.ts'

// They are closed after each test.
const running: Server[] = []
const sockets = new Set<Socket>()
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
  for (const server of running.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/**
 * A server that answers each request with its path, unless the test gives another listener.
 *
 * @returns `requests`: all requests that Node has parsed, also those that the listener did not get. `accepted`: how many
 * connections there were, `count`: how many are open.
 */
export async function startServer(
  limits: Partial<ConnectionLimits> = {},
  listener: RequestListener = ({ url }, response) => void response.end(url),
  options: ServerOptions = {},
) {
  const closed: string[] = []
  const server = createServer({ IncomingMessage: Incoming, requireHostHeader: false, ...options })
  createConnections(server, listener, { max: 1_000, sendTimeoutMs: 60_000, ...limits }, (reason) =>
    closed.push(reason),
  )
  running.push(server)
  const requests: IncomingMessage[] = []
  server.on('request', (request) => requests.push(request))
  const open = new Set<Socket>()
  let accepted = 0
  server.on('connection', (socket) => {
    accepted++
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { server, port, closed, requests, accepted: () => accepted, count: () => open.size }
}

/** A connection of a peer that never closes it by itself. */
export function open(port: number) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  sockets.add(socket)
  let received = ''
  let isOver = false
  socket.setEncoding('utf8')
  socket.on('data', (text) => {
    received += text
  })
  socket.on('error', () => {})
  for (const event of ['end', 'close'])
    socket.on(event, () => {
      isOver = true
    })
  return { socket, received: () => received, isOver: () => isOver }
}

export const HOST = 'Host: a\r\n'
export const get = (path: string) => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`
/** Waits until a condition is true, for at most 20 s: a busy machine needs time. */
export const until = (check: () => unknown) =>
  vi.waitFor(() => expect(check()).toBeTruthy(), { timeout: 20_000, interval: 10 })
export const statusesOf = (received: string) => received.match(/(?<=HTTP\/1\.1 )\d+/g)
export const bodyOf = (received: string) =>
  JSON.parse(received.slice(received.lastIndexOf('\r\n\r\n') + 4))

/** More bytes than the socket buffers of both sides hold. */
export const LARGE = Buffer.alloc(32 * 2 ** 20, 'x')

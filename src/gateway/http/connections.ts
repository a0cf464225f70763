import { readFileSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The most connections where neither the setting nor the machine says less: some 20 kB of memory each. */
const DEFAULT_MAX_CONNECTIONS = 4_096
/** Descriptors left to databases, logs and threads. */
const OTHER_DESCRIPTORS = 64
const FEWEST_CONNECTIONS = 16

/**
 * How many connections this process may hold: the setting, else 4,096, and never more than its limit of
 * open files leaves room for.
 */
export function readMaxConnections(setting = DEFAULT_MAX_CONNECTIONS): number {
  return Math.max(FEWEST_CONNECTIONS, Math.min(setting, readOpenFilesLimit() - OTHER_DESCRIPTORS))
}

function readOpenFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1]) || Number.POSITIVE_INFINITY
  } catch {
    // Not Linux: node does not tell the limit.
    return Number.POSITIVE_INFINITY
  }
}

/**
 * Bounds the connections of a server. Before the last one is taken, the oldest connection without a request
 * in progress is closed (idle, silent, or slow with its headers), so that a stranger who holds connections
 * open does not keep visitors out. Where every connection has a request in progress, a new one is closed
 * at once.
 *
 * @param onRefused Called for each connection that is closed to make room or refused.
 */
export function limitConnections(
  server: Server,
  max: number,
  onRefused: (how: 'evicted' | 'refused') => void,
): void {
  server.maxConnections = max
  /** Requests in progress of each connection, the oldest connection first. */
  const connections = new Map<Socket, number>()

  /** Where all are taken, closes the oldest one without a request in progress. */
  function makeRoom(newest?: Socket): void {
    if (connections.size < max) return
    for (const [socket, requests] of connections)
      if (requests === 0 && socket !== newest) {
        onRefused('evicted')
        connections.delete(socket)
        socket.destroy()
        return
      }
  }

  server.on('connection', (socket: Socket) => {
    connections.set(socket, 0)
    socket.once('close', () => connections.delete(socket))
    makeRoom(socket)
  })
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const requests = connections.get(socket)
    if (requests === undefined) return
    connections.set(socket, requests + 1)
    response.once('close', () => {
      const left = connections.get(socket)
      if (left !== undefined) connections.set(socket, left - 1)
      makeRoom()
    })
  })
  server.on('drop', () => onRefused('refused'))
}

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { CONNECT_FAULT, type Fault, faultOf, findFault, toText } from './malformed.ts'

/** Limits of connections. */
export type ConnectionLimits = {
  /** Connections that are open at once. */
  readonly max: number
  /**
   * A connection is closed if the other end takes nothing of an answer in this time, ms. A longer answer has this time
   * for each mebibyte.
   */
  readonly sendTimeoutMs: number
}

/**
 * Why a connection was closed: `idle` and `slow` made room for a new one, `full` was a new one without room, `unread`
 * did not read its answers, `pipelined` sent too many requests ahead.
 */
export type CloseReason = 'idle' | 'slow' | 'full' | 'unread' | 'pipelined'

/**
 * Time from an answer that ends a connection to its end, ms. If it ended at once, a client that is still sending would
 * get a reset and lose the answer (RFC 9112, 9.6).
 */
const LINGER_MS = 500
/**
 * Each part of an answer of this size has the time of `sendTimeoutMs`, bytes. The gateway does not see how much of a
 * part the other end has taken.
 */
const SEND_BYTES = 2 ** 20
/** Time between two checks of all connections, ms. */
const SWEEP_MS = 1_000
/**
 * A connection is slow if the gateway has waited this long for its other end, ms. Slow ones are closed to make room.
 */
const SLOW_MS = 2_000
/** The least time between two searches for slow connections, ms. A search checks every connection. */
const SEARCH_MS = 100
/**
 * Requests that wait for the answer to the one before, all connections together, about 6 kB each. One read of a socket
 * brings at most 64 KiB, so fewer than 1,000 requests of the usual size (66 bytes or more).
 */
export const MAX_PARKED = 1_000

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse }

type Connection = {
  readonly socket: Socket
  /** The exchange that is being handled. Never more than one. */
  current: Exchange | undefined
  /** When the current exchange began, ms of the monotonic clock. */
  since: number
  /** Requests that wait for the current one. The socket is not read meanwhile. */
  parked: Exchange[]
  isPaused: boolean
  /** The fault that ends the connection once `current` is answered. */
  fault: Fault | undefined
  /** Whether the connection was answered with a fault, and is about to be destroyed. */
  isEnding: boolean
  /** Bytes that the other end had taken at the last check. */
  taken: number
  /** Since when it has taken nothing, ms of the monotonic clock. */
  unreadSince: number | undefined
  readonly onAnswered: () => void
  readonly keepPaused: () => void
}

/**
 * Passes requests to a listener, one at a time for each connection, and limits the connections and the memory that
 * strangers can hold:
 *
 * - Above `max` the connection that has been idle for longest is closed, even if it has sent nothing yet. If none is
 *   idle, the slowest one is closed. If none is slow, the new one is closed.
 * - While a request is handled, the next ones of its connection wait, and its socket is not read.
 * - Invalid HTTP is answered in JSON, and the connection ends a moment later, whatever the other end does.
 * - A connection that does not read its answers is closed.
 * - `server.closeIdleConnections` closes the connections without an exchange.
 *
 * @param server Without listeners for requests. Its `IncomingMessage` is `Incoming`.
 * @param onClosed Called for each connection that was closed for one of these reasons.
 */
export function createConnections(
  server: Server,
  listener: RequestListener,
  { max, sendTimeoutMs }: ConnectionLimits,
  onClosed: (reason: CloseReason) => void,
): void {
  const open = new Map<Socket, Connection>()
  /**
   * Connections without an exchange, and those about to be destroyed. The one that has been idle for longest is the
   * first.
   */
  const idle = new Set<Connection>()
  /** The slow connections that the last search found, the slowest last. */
  let slow: Connection[] = []
  let searchedAt = Number.NEGATIVE_INFINITY
  let parked = 0

  server.on('connection', (socket) => {
    const connection: Connection = {
      socket,
      current: undefined,
      since: 0,
      parked: [],
      isPaused: false,
      fault: undefined,
      isEnding: false,
      taken: 0,
      unreadSince: undefined,
      onAnswered: () => handleNext(connection),
      keepPaused: () => void socket.pause(),
    }
    if (open.size >= max && !makeRoom()) {
      close(connection, 'full')
      return
    }
    open.set(socket, connection)
    idle.add(connection)
    socket.once('close', () => forget(connection))
  })

  server.on('request', (request, response) => {
    const connection = open.get(request.socket)
    if (!connection || connection.isEnding) return
    if (connection.current) park(connection, { request, response })
    else begin(connection, { request, response })
  })

  server.on('connect', (_request, socket) => {
    // node has removed its own listener. Without one a reset would end the process.
    socket.on('error', () => {})
    const connection = open.get(socket as Socket)
    if (connection && !connection.current) end(connection, CONNECT_FAULT)
    else socket.destroy()
  })

  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const connection = open.get(socket as Socket)
    // A client that continues to send after its answer causes an error with each read.
    if (connection?.isEnding && error.code !== 'ECONNRESET') return
    const { current } = connection ?? {}
    if (!connection || !socket.writable || error.code === 'ECONNRESET') socket.destroy()
    // The error is in the bytes after a request that is being answered.
    else if (current?.request.complete) connection.fault ??= faultOf(error)
    else if (current?.response.headersSent) socket.destroy()
    else end(connection, faultOf(error))
  })

  function sweep(): void {
    const now = performance.now()
    for (const connection of open.values()) {
      recordTaken(connection, now)
      const { socket, unreadSince = now } = connection
      const times = Math.ceil(socket.writableLength / SEND_BYTES)
      const patienceMs = socket.writableEnded ? LINGER_MS : sendTimeoutMs * times
      if (now - unreadSince > patienceMs) close(connection, 'unread')
    }
  }

  // That of node, which `close` calls too, would cut an answer that the other end is still reading.
  server.closeIdleConnections = () => {
    for (const { socket, isEnding } of idle) if (!isEnding) socket.destroy()
  }

  server.on('listening', () => {
    const timer = setInterval(sweep, SWEEP_MS)
    server.once('close', () => clearInterval(timer))
  })

  function begin(connection: Connection, exchange: Exchange): void {
    idle.delete(connection)
    connection.current = exchange
    connection.since = performance.now()
    const { request, response } = exchange
    // It closes once. A listener that removes itself would cost more.
    response.on('close', connection.onAnswered)
    const fault = findFault(request)
    if (fault) end(connection, fault)
    else listener(request, response)
  }

  /** After an answer: handles the next request. */
  function handleNext(connection: Connection): void {
    connection.current = undefined
    if (connection.socket.destroyed || connection.isEnding) return
    const next = connection.parked.length > 0 ? connection.parked.shift() : undefined
    if (!next) {
      if (connection.fault) end(connection, connection.fault)
      else idle.add(connection)
      return
    }
    connection.current = next
    parked--
    if (connection.parked.length === 0) unpause(connection)
    // Other connections get a turn in between, since one read may bring thousands of requests.
    setImmediate(() => {
      if (open.has(connection.socket) && !connection.isEnding) begin(connection, next)
    })
  }

  function park(connection: Connection, exchange: Exchange): void {
    // Clients do not send chunks ahead, and chunks of one byte in one read would be 6 MB of buffers.
    const isChunked = exchange.request.headers['transfer-encoding'] !== undefined
    if (isChunked || parked === MAX_PARKED) {
      close(connection, 'pipelined')
      // Without this the chunks of the same read would stay in memory.
      exchange.request.destroy()
      return
    }
    parked++
    connection.parked.push(exchange)
    if (!connection.isPaused) pause(connection)
  }

  function forget(connection: Connection): void {
    open.delete(connection.socket)
    idle.delete(connection)
    parked -= connection.parked.length
    connection.parked = []
  }

  function close(connection: Connection, reason: CloseReason): void {
    onClosed(reason)
    forget(connection)
    connection.socket.destroy()
  }

  /** Answers a fault and ends the connection. */
  function end(connection: Connection, fault: Fault): void {
    const { socket } = connection
    connection.isEnding = true
    // It has its answer, so it may be closed at once to make room.
    idle.add(connection)
    unpause(connection)
    socket.end(toText(fault))
    const late = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(late))
  }

  /** Closes one connection for a new one. False if all of them are in use. */
  function makeRoom(): boolean {
    const [oldest] = idle
    if (oldest) close(oldest, 'idle')
    else {
      const slowest = findSlowest()
      if (!slowest) return false
      close(slowest, 'slow')
    }
    return true
  }

  function findSlowest(): Connection | undefined {
    const now = performance.now()
    if (slow.length === 0 && now - searchedAt >= SEARCH_MS) {
      searchedAt = now
      slow = [...open.values()]
        .filter((connection) => isSlow(connection, now))
        .sort((a, b) => b.since - a.since)
    }
    for (;;) {
      const slowest = slow.pop()
      if (!slowest || (open.has(slowest.socket) && isSlow(slowest, now))) return slowest
    }
  }
}

/** Records whether the other end takes the bytes that are written. */
function recordTaken(connection: Connection, now: number): void {
  const { bytesWritten, writableLength } = connection.socket
  const taken = bytesWritten - writableLength
  if (writableLength === 0 || taken !== connection.taken) connection.unreadSince = undefined
  else connection.unreadSince ??= now
  connection.taken = taken
}

/** Whether the gateway has waited long for the rest of the request, or for the other end to read the answer. */
const isSlow = ({ current, since, unreadSince }: Connection, now: number): boolean =>
  !!current && now - (current.request.complete ? (unreadSince ?? now) : since) >= SLOW_MS

function pause(connection: Connection): void {
  connection.isPaused = true
  connection.socket.pause()
  // node resumes the socket at the end of each message, and when an answer has drained.
  connection.socket.on('resume', connection.keepPaused)
}

function unpause(connection: Connection): void {
  if (!connection.isPaused) return
  connection.isPaused = false
  connection.socket.off('resume', connection.keepPaused)
  connection.socket.resume()
}

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { CONNECT_FAULT, type Fault, faultOf, findFault, toText } from './malformed.ts'

/** What connections may hold, each and together. */
export type ConnectionLimits = {
  /** Connections that are open at the same time. */
  readonly max: number
  /**
   * A connection is closed where the other end does not take in this time what was written at once, ms; more than
   * a mebibyte has the time for each.
   */
  readonly sendTimeoutMs: number
}

/**
 * Why a connection was closed: `idle` and `slow` made room for another one, `full` found no room itself,
 * `unread` did not take its answers, `pipelined` sent too many requests ahead.
 */
export type CloseReason = 'idle' | 'slow' | 'full' | 'unread' | 'pipelined'

/**
 * From an answer that ends a connection to the connection's end, ms: at once, a sender that is still busy
 * would lose the answer to a reset (RFC 9112, 9.6).
 */
const LINGER_MS = 500
/** So much of an answer has the time of `sendTimeoutMs`, bytes: whether a part of it was taken can not be seen. */
const SEND_BYTES = 2 ** 20
/** How often connections are looked at, ms. */
const SWEEP_MS = 1_000
/** Where there is no room, a connection whose other end has kept us waiting for so long is closed, ms. */
const SLOW_MS = 2_000
/** How often all connections are searched for slow ones, ms: a search looks at each. */
const SEARCH_MS = 100
/**
 * Requests that wait for the answer to the one before, all connections together, some 6 kB each. One read of a
 * socket brings at most 64 KiB, which is fewer requests of the size that clients send (66 bytes or more).
 */
const MAX_PARKED = 1_000

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse }

type Connection = {
  readonly socket: Socket
  /** The exchange that is handled; there is never a second one. */
  current: Exchange | undefined
  /** When it began, ms of the monotonic clock. */
  since: number
  /** Requests behind it, while the socket is not read. */
  parked: Exchange[]
  isPaused: boolean
  /** What ends the connection as soon as `current` is answered. */
  fault: Fault | undefined
  /** Answered by hand, and about to be destroyed. */
  isEnding: boolean
  /** Bytes that the other end had taken at the last look. */
  taken: number
  /** Since when it has taken nothing of what is written, ms of the monotonic clock. */
  unreadSince: number | undefined
  readonly onAnswered: () => void
  readonly keepPaused: () => void
}

/**
 * Hands requests to a listener, one of a connection at a time, and bounds what strangers can hold:
 *
 * - Above `max` the connection that has been idle for longest is closed, also one that has sent nothing
 *   yet; then one that is slow; where there is none, the new one.
 * - While a request is handled those behind it wait, and the socket is not read.
 * - What is no HTTP request is answered in JSON. The connection ends a moment later, whatever the other end
 *   does.
 * - Who does not take its answers is closed.
 *
 * @param server Without listeners for requests; its `IncomingMessage` is `Incoming`.
 * @param onClosed Told of each connection that was closed for one of these reasons.
 */
export function createConnections(
  server: Server,
  listener: RequestListener,
  { max, sendTimeoutMs }: ConnectionLimits,
  onClosed: (reason: CloseReason) => void,
): void {
  const open = new Map<Socket, Connection>()
  /** Those without an exchange, and those about to be destroyed; who has been idle for longest comes first. */
  const idle = new Set<Connection>()
  /** Slow ones that were found, the slowest last. */
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
      onAnswered: () => goOn(connection),
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
    // node has taken its own listener away, and without one a reset would end the process.
    socket.on('error', () => {})
    const connection = open.get(socket as Socket)
    if (connection && !connection.current) end(connection, CONNECT_FAULT)
    else socket.destroy()
  })

  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const connection = open.get(socket as Socket)
    // Who goes on sending after its answer causes an error a read.
    if (connection?.isEnding && error.code !== 'ECONNRESET') return
    const { current } = connection ?? {}
    if (!connection || !socket.writable || error.code === 'ECONNRESET') socket.destroy()
    // It concerns what came behind a request that is being answered.
    else if (current?.request.complete) connection.fault ??= faultOf(error)
    else if (current?.response.headersSent) socket.destroy()
    else end(connection, faultOf(error))
  })

  function sweep(): void {
    const now = performance.now()
    for (const connection of open.values()) {
      look(connection, now)
      const { socket, unreadSince = now } = connection
      const times = Math.ceil(socket.writableLength / SEND_BYTES)
      const patienceMs = socket.writableEnded ? LINGER_MS : sendTimeoutMs * times
      if (now - unreadSince > patienceMs) close(connection, 'unread')
    }
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
    response.once('close', connection.onAnswered)
    const fault = findFault(request)
    if (fault) end(connection, fault)
    else listener(request, response)
  }

  /** After an answer: what came behind it. */
  function goOn(connection: Connection): void {
    connection.current = undefined
    if (connection.socket.destroyed || connection.isEnding) return
    const next = connection.parked.shift()
    if (!next) {
      if (connection.fault) end(connection, connection.fault)
      else idle.add(connection)
      return
    }
    connection.current = next
    parked--
    if (connection.parked.length === 0) unpause(connection)
    // Others have their turn in between: what one read brings may be thousands.
    setImmediate(() => {
      if (open.has(connection.socket) && !connection.isEnding) begin(connection, next)
    })
  }

  function park(connection: Connection, exchange: Exchange): void {
    // No client sends chunks ahead, and those of one byte in one read are 6 MB of buffers.
    const isChunked = exchange.request.headers['transfer-encoding'] !== undefined
    if (isChunked || parked === MAX_PARKED) {
      close(connection, 'pipelined')
      // Else the chunks that the same read brought would be kept.
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

  /** Answers by hand and ends the connection. */
  function end(connection: Connection, fault: Fault): void {
    const { socket } = connection
    connection.isEnding = true
    // It is owed nothing more: where there is no room it goes at once.
    idle.add(connection)
    unpause(connection)
    socket.end(toText(fault))
    const late = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(late))
  }

  /** Closes one connection for a new one; false where each is at work. */
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

/** Notes whether the other end takes what is written. */
function look(connection: Connection, now: number): void {
  const { bytesWritten, writableLength } = connection.socket
  const taken = bytesWritten - writableLength
  if (writableLength === 0 || taken !== connection.taken) connection.unreadSince = undefined
  else connection.unreadSince ??= now
  connection.taken = taken
}

/** Whether we have waited for long for the rest of a request, or for the other end to read. */
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

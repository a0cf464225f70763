import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { type FuzzConnection, type FuzzTarget, fuzzConnections } from './fuzzRequests.ts'

/** What a run has seen. */
export type FuzzResult = {
  readonly requests: number
  /** Answers, by status. */
  readonly statuses: ReadonlyMap<number, number>
  /** Connections whose answers break a rule, with their bytes, at most ten. */
  readonly faults: readonly string[]
}

/** Connections that are open at a time. */
const SIDE_BY_SIDE = 24
/** A connection without a byte for this long is closed by the sender, ms. Requests that are cut off get no answer. */
const QUIET_MS = 250
const CHUNK = 1_000

/**
 * Sends generated requests to a gateway over real sockets.
 *
 * @param count Requests, about.
 * @param seed The same seed makes the same requests, ids of events aside.
 * @param onProgress Called after some thousand requests with their number so far.
 */
export async function runFuzz(
  port: number,
  target: FuzzTarget,
  count: number,
  seed: number,
  onProgress: (requests: number) => Promise<void> = async () => {},
): Promise<FuzzResult> {
  const statuses = new Map<number, number>()
  const faults: string[] = []
  let requests = 0
  for (let turn = 0; requests < count; turn++) {
    const connections = fc.sample(fuzzConnections(target), { numRuns: CHUNK, seed: seed + turn })
    await Promise.all(
      Array.from({ length: SIDE_BY_SIDE }, async () => {
        for (let one = connections.pop(); one && requests < count; one = connections.pop()) {
          requests += one.requests
          const received = await exchange(port, one)
          const fault = readAnswers(received, statuses)
          if (fault && faults.length < 10)
            faults.push(
              `${fault}\n--- sent\n${show(Buffer.concat(one.pieces))}\n--- received\n${show(received)}`,
            )
        }
      }),
    )
    await onProgress(requests)
  }
  return { requests, statuses, faults }
}

/** Writes a connection's bytes. Resolves with all that was received when either side has closed it. */
function exchange(port: number, { pieces, ends }: FuzzConnection): Promise<Buffer> {
  return new Promise((resolve) => {
    const received: Buffer[] = []
    const socket = connect(port, '127.0.0.1')
    socket.setTimeout(QUIET_MS, () => socket.destroy())
    socket.on('data', (chunk: Buffer) => received.push(chunk))
    // The gateway may reset a connection that sends no HTTP. The answers before it count.
    socket.on('error', () => {})
    socket.on('close', () => resolve(Buffer.concat(received)))
    const write = async () => {
      for (const piece of pieces) {
        socket.write(piece)
        if (pieces.length > 1) await nextTurn()
      }
      if (ends) socket.end()
    }
    void write()
  })
}

const HEAD_END = Buffer.from('\r\n\r\n')

/** Counts the statuses. Returns the first fault: an answer that is no HTTP, a 500, or an error without a message. */
function readAnswers(received: Buffer, statuses: Map<number, number>): string | undefined {
  let rest = received
  while (rest.length > 0) {
    const end = rest.indexOf(HEAD_END)
    // The gateway or the sender has closed the connection in the middle of an answer.
    if (end < 0) return /^HTTP\/1\.1 \d{3} /.test(rest.toString('latin1')) ? undefined : 'no HTTP'
    const head = rest.toString('latin1', 0, end)
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1])
    if (!status) return 'no HTTP'
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status === 500) return 'a 500'
    if (status === 100) {
      rest = rest.subarray(end + 4)
      continue
    }
    const after = rest.subarray(end + 4)
    // An answer to HEAD may have a length, and has no body.
    if (after.toString('latin1', 0, 9) === 'HTTP/1.1 ') {
      rest = after
      continue
    }
    const declared = /^content-length: (\d+)/im.exec(head)?.[1]
    // A stream. It does not end.
    if (declared === undefined) return undefined
    const length = Number(declared)
    const body = after.subarray(0, length)
    if (status >= 400 && body.length === length && length > 0) {
      const isJson = /^content-type: application\/json/im.test(head)
      if (isJson && typeof messageOf(body) !== 'string') return `a ${status} without a message`
      if (!isJson && !/^content-type: text\/javascript/im.test(head))
        return `a ${status} that is neither JSON nor JavaScript`
    }
    rest = after.subarray(length)
  }
  return undefined
}

function messageOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()).message
  } catch {
    return undefined
  }
}

const show = (bytes: Buffer): string => JSON.stringify(bytes.toString('latin1').slice(0, 2_000))

import type { IncomingMessage } from 'node:http'
import { Unavailable } from '../lib/unavailable.ts'
import type { Reserve } from './bodyBudget.ts'

/**
 * Reads the body of a request, once. It takes as much memory as it has bytes, however small its chunks are.
 *
 * @param maxBytes The largest body that is read.
 * @returns undefined if the body is larger. Rejects with Unavailable if all larger heads and bodies together take too much
 * memory; a body of known length is then not read at all. Rejects with another Error if the connection ends, also if it
 * is ended here because the chunks are too small.
 */
export type ReadBody = (maxBytes: number) => Promise<Buffer | undefined>

type Incoming = Pick<IncomingMessage, 'headers' | 'destroyed' | 'destroy' | 'on' | 'off'>

/**
 * Above `FREE_CHUNKS` chunks their average size must be at least `MIN_CHUNK_BYTES`. A chunk of one byte takes a
 * microsecond: a body of 131,072 of them blocked all other requests for 0.2 s.
 */
const FREE_CHUNKS = 1_000
const MIN_CHUNK_BYTES = 16

export const createReadBody =
  (incoming: Incoming, reserve: Reserve): ReadBody =>
  async (maxBytes) => {
    const declared = incoming.headers['content-length']
    const length = declared === undefined ? undefined : Number(declared)
    if (length !== undefined && length > maxBytes) return undefined
    if (incoming.destroyed) throw aborted()
    if (!reserve(length ?? 0)) throw tooMuch()
    return receive(incoming, length, maxBytes, reserve)
  }

function receive(
  incoming: Incoming,
  length: number | undefined,
  maxBytes: number,
  reserve: Reserve,
): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    let buffer: Buffer = EMPTY
    let bytes = 0
    let chunks = 0
    let isOver = false

    function take(chunk: Buffer): void {
      const total = bytes + chunk.length
      if (total > maxBytes) {
        discard()
        resolve(undefined)
        return
      }
      chunks++
      if (chunks > FREE_CHUNKS && total < chunks * MIN_CHUNK_BYTES) {
        // There is no answer, since the rest of the body would have to be received first.
        incoming.destroy()
        return
      }
      if (total > buffer.length) {
        // Most bodies are one chunk, which is used without a copy.
        if (bytes === 0 && chunk.length === length) {
          buffer = chunk
          bytes = total
          return
        }
        const size = length ?? Math.min(Math.max(total, 2 * buffer.length, 4_096), maxBytes)
        if (length === undefined && !reserve(size)) {
          discard()
          reject(tooMuch())
          return
        }
        const larger = Buffer.allocUnsafeSlow(size)
        buffer.copy(larger, 0, 0, bytes)
        buffer = larger
      }
      chunk.copy(buffer, bytes)
      bytes = total
    }

    function finish(): void {
      isOver = true
      resolve(buffer.subarray(0, bytes))
    }

    function fail(error?: Error): void {
      if (!isOver) reject(error ?? aborted())
      isOver = true
    }

    /** The rest of the body is discarded: the stream flows without a listener. */
    function discard(): void {
      isOver = true
      incoming.off('data', take)
    }

    incoming.on('end', finish)
    incoming.on('error', fail)
    incoming.on('close', fail)
    incoming.on('data', take)
  })
}

const EMPTY = Buffer.alloc(0)

const aborted = () => new Error('The request was aborted')
const tooMuch = () => new Unavailable('Too many large bodies are being received', 2)

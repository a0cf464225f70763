import type { IncomingMessage } from 'node:http'
import { Unavailable } from '../lib/unavailable.ts'
import type { Reserve } from './bodyBudget.ts'

/**
 * Reads the body of a request, once, into as much memory as it has bytes, however small the pieces are in
 * which it comes.
 *
 * @param maxBytes The largest that is read.
 * @returns undefined where it is larger. Rejects with Unavailable where all larger bodies together hold too
 * much, a body of known length before anything of it is read; with another Error where the connection ends,
 * or is ended since the body comes in crumbs.
 */
export type ReadBody = (maxBytes: number) => Promise<Buffer | undefined>

type Incoming = Pick<IncomingMessage, 'headers' | 'destroyed' | 'destroy' | 'on' | 'off'>

/**
 * Above so many pieces they must have so many bytes on average. A chunk of one byte takes a microsecond: a
 * body of 131,072 of them took 0.2 s, in which nobody else was answered.
 */
const FREE_PIECES = 1_000
const MIN_PIECE_BYTES = 16

export const createReadBody =
  (incoming: Incoming, reserve: Reserve): ReadBody =>
  async (maxBytes) => {
    const declared = incoming.headers['content-length']
    const length = declared === undefined ? undefined : Number(declared)
    if (length !== undefined && length > maxBytes) return undefined
    if (incoming.destroyed) throw givenUp()
    if (length !== undefined && !reserve(length)) throw tooMuch()
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
    let pieces = 0

    function take(chunk: Buffer): void {
      const total = bytes + chunk.length
      if (total > maxBytes) {
        end()
        resolve(undefined)
        return
      }
      pieces++
      if (pieces > FREE_PIECES && total < pieces * MIN_PIECE_BYTES) {
        // Without an answer: what is still to come would have to be taken apart first.
        incoming.destroy()
        return
      }
      if (total > buffer.length) {
        // Most bodies come in one piece, which is kept as it is.
        if (bytes === 0 && chunk.length === length) {
          buffer = chunk
          bytes = total
          return
        }
        const size = length ?? Math.min(Math.max(total, 2 * buffer.length, 4_096), maxBytes)
        if (length === undefined && !reserve(size)) {
          end()
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
      end()
      resolve(buffer.subarray(0, bytes))
    }

    function fail(error?: Error): void {
      end()
      reject(error ?? givenUp())
    }

    /** What comes from now on is let go: the stream flows on without a listener. */
    function end(): void {
      incoming.off('data', take)
      incoming.off('end', finish)
      incoming.off('error', fail)
      incoming.off('close', fail)
    }

    incoming.on('end', finish)
    incoming.on('error', fail)
    incoming.on('close', fail)
    incoming.on('data', take)
  })
}

const EMPTY = Buffer.alloc(0)

const givenUp = () => new Error('The request was given up')
const tooMuch = () => new Unavailable('Too many large bodies are being received', 2)

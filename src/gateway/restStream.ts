/** A JSON answer that is written piece by piece. */
export type Written = {
  /** What stands before the first item. */
  readonly before: string
  readonly ids: readonly string[]
  /** Reads one item as JSON, UTF-8; undefined where there is none any more, and it is left out. */
  readonly read: (id: string) => Promise<Uint8Array | undefined>
  /** What stands behind the last. */
  readonly after: string
  /** Breaks the connection, which is how the other end learns that the answer is no whole one. */
  readonly hangUp: () => void
  /** Told once, when the answer has ended for whatever reason. */
  readonly onEnd: () => void
}

/** So much is handed over at once, bytes. */
const PIECE_BYTES = 65_536
/** A reader that takes nothing for so long is given up, ms; it holds an item of two megabytes. */
export const STALL_MS = 30_000

/**
 * Writes a list of large items of which never more than one is in memory: the next one is read when the
 * socket has taken the one before.
 */
export function writeList(written: Written): ReadableStream<Uint8Array> {
  const { hangUp, onEnd } = written
  const pieces = piecesOf(written)
  let stalled: NodeJS.Timeout | undefined
  let ended = false

  function end(): void {
    clearTimeout(stalled)
    if (!ended) onEnd()
    ended = true
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(stalled)
        try {
          const { done, value } = await pieces.next()
          if (ended) return
          if (done) {
            controller.close()
            end()
            return
          }
          controller.enqueue(value)
          stalled = setTimeout(hangUp, STALL_MS)
        } catch {
          // The store can not be read any more, and the status has been sent.
          end()
          hangUp()
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}

async function* piecesOf({ before, ids, read, after }: Written): AsyncGenerator<Uint8Array> {
  yield Buffer.from(before)
  let isFirst = true
  for (const id of ids) {
    const item = await read(id)
    if (item === undefined) continue
    if (!isFirst) yield COMMA
    isFirst = false
    for (let at = 0; at < item.length; at += PIECE_BYTES) yield item.subarray(at, at + PIECE_BYTES)
  }
  yield Buffer.from(after)
}

const COMMA = Buffer.from(',')

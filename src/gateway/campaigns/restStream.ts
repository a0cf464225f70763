import type { CampaignSize } from './campaigns.ts'

/** A JSON answer that is written piece by piece. */
export type Written = {
  /** What stands before the first item. */
  readonly before: string
  readonly items: readonly CampaignSize[]
  /** Reads items as JSON, UTF-8, with commas between them; those that are not there any more are left out. */
  readonly read: (ids: readonly string[]) => Promise<Uint8Array>
  /** What stands behind the last. */
  readonly after: string
  /** Breaks the connection, which is how the other end learns that the answer is no whole one. */
  readonly hangUp: () => void
  /** Told once, when the answer has ended for whatever reason. */
  readonly onEnd: () => void
}

/** So much is handed over at once, bytes. */
const PIECE_BYTES = 65_536
/** So much is read at once, bytes: an item that is larger by itself, small ones together. */
const READ_BYTES = 2 ** 20
/** A reader that takes nothing for so long is given up, ms; it holds an item of two megabytes. */
export const STALL_MS = 30_000

/** What a list takes of memory while it is written, bytes. */
export const weigh = (items: readonly CampaignSize[]): number =>
  Math.max(0, ...groupsOf(items).map(({ bytes }) => bytes))

/**
 * Writes a list of items of which never more than a mebibyte, or one, is in memory: the next ones are read
 * when the socket has taken those before.
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

async function* piecesOf({ before, items, read, after }: Written): AsyncGenerator<Uint8Array> {
  yield Buffer.from(before)
  let isFirst = true
  for (const { ids } of groupsOf(items)) {
    const group = await read(ids)
    if (group.length === 0) continue
    if (!isFirst) yield COMMA
    isFirst = false
    for (let at = 0; at < group.length; at += PIECE_BYTES)
      yield group.subarray(at, at + PIECE_BYTES)
  }
  yield Buffer.from(after)
}

/** Items in their order, as many together as are read at once. */
function groupsOf(items: readonly CampaignSize[]) {
  const groups: { ids: string[]; bytes: number }[] = []
  for (const { id, bytes } of items) {
    const last = groups.at(-1)
    if (last && last.bytes + bytes <= READ_BYTES) {
      last.ids.push(id)
      last.bytes += bytes
    } else groups.push({ ids: [id], bytes })
  }
  return groups
}

const COMMA = Buffer.from(',')

import type { Broker } from './broker.ts'
import { isDeletion } from './mirrorEntries.ts'
import { readMessages } from './readMessages.ts'

/** How long a bucket remembers deleted rows, ms. */
export const TOMBSTONE_MS = 24 * 3_600_000

/**
 * Removes the marks of rows that were deleted more than a day ago. A mirror calls it by itself.
 *
 * @param subjects The prefix of the subjects of the entries.
 * @param now Ms since 1970.
 */
export async function purgeTombstones(
  { js, jsm }: Pick<Broker, 'js' | 'jsm'>,
  stream: string,
  subjects: string,
  now: number,
): Promise<void> {
  const { state } = await jsm.streams.info(stream)
  // The last message stays: a writer that waits until everything was read waits for its sequence.
  const upTo = state.last_seq - 1
  const range = { stream, subject: `${subjects}>`, after: 0, upTo, headersOnly: true }
  for await (const { subject, seq, headers, info } of readMessages({ js, jsm }, range)) {
    const isOld = now - info.timestampNanos / 1e6 > TOMBSTONE_MS
    if (isDeletion(headers) && isOld)
      // Not the row, if it was created again meanwhile.
      await jsm.streams.purge(stream, { filter: subject, seq: seq + 1 })
  }
}

import { DeliverPolicy } from '@nats-io/jetstream'
import type { Broker } from './broker.ts'
import { isDeletion } from './mirrorEntries.ts'

/** How long a bucket remembers deleted rows, ms. */
export const TOMBSTONE_MS = 24 * 3_600_000
/** Times of the requests, ms, and messages at once. */
const REQUESTS = { max_messages: 500, expires: 5_000, idle_heartbeat: 1_000 }

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
  const consumer = await js.consumers.get(stream, {
    ...{ filter_subjects: `${subjects}>`, deliver_policy: DeliverPolicy.LastPerSubject },
    headers_only: true,
  })
  const { num_pending: pending } = await consumer.info(true)
  if (pending === 0) return
  const messages = await consumer.consume(REQUESTS)
  try {
    for await (const { subject, seq, headers: head, info } of messages) {
      const isOld = now - info.timestampNanos / 1e6 > TOMBSTONE_MS
      // The last message stays: a writer that waits until everything was read waits for its sequence.
      if (isDeletion(head) && isOld && seq < state.last_seq)
        // Not the row, if it was created again meanwhile.
        await jsm.streams.purge(stream, { filter: subject, seq: seq + 1 })
      if (info.pending === 0) return
    }
  } finally {
    messages.stop()
  }
}

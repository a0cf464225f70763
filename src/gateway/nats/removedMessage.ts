import type { ErasedEvent } from '../sqlite/copyRemovals.ts'
import { isUuid } from '../sqlite/uuid.ts'

/** The most events in one message: about 13 kB. */
export const MAX_REMOVED_EVENTS = 200

/**
 * The events of a customer that were erased, as the data of a message. Their own messages are deleted from the stream,
 * so the copies know only from this one what to remove. They keep the ids, so that the same events are not stored again.
 *
 * @param events At most MAX_REMOVED_EVENTS.
 */
export const encodeRemoved = (events: readonly ErasedEvent[]): string =>
  JSON.stringify(events.map(({ seq, id }) => [seq, id]))

/** @throws Error if the data is not that of erased events. */
export function decodeRemoved(data: Uint8Array): ErasedEvent[] {
  const list: readonly (readonly [unknown, unknown])[] = JSON.parse(Buffer.from(data).toString())
  return list.map(([seq, id]) => {
    // SQLite refuses other numbers, which would stop the copy of the whole stream. An event that was erased before a
    // move has a negative position, which no event of the stream has.
    if (!Number.isSafeInteger(seq) || !isUuid(id))
      throw new SyntaxError('Expected sequences and ids of events')
    return { seq: seq as number, id }
  })
}

/** Up to which sequence all events of a customer have expired, as the data of a message. */
export const encodeExpired = (upTo: number): string => JSON.stringify(upTo)

/** @throws Error if the data is not a sequence. */
export function decodeExpired(data: Uint8Array): number {
  const upTo: unknown = JSON.parse(Buffer.from(data).toString())
  if (!Number.isSafeInteger(upTo) || (upTo as number) < 0)
    throw new SyntaxError('Expected a sequence')
  return upTo as number
}

import type { ErasedEvent } from '../sqlite/copyRemovals.ts'
import { isUuid } from '../sqlite/uuid.ts'

/** The most events in one message: about 13 kB. */
export const MAX_REMOVED_EVENTS = 200

/**
 * The events of a customer that were erased, as the data of a message. Their own messages are deleted from the stream,
 * so only this tells the copies what to remove. The ids stay known, so that the same events are not stored again.
 *
 * @param events At most MAX_REMOVED_EVENTS.
 */
export const encodeRemoved = (events: readonly ErasedEvent[]): string =>
  JSON.stringify(events.map(({ seq, id }) => [seq, id]))

/** @throws Error if the data is not that of erased events. */
export function decodeRemoved(data: Uint8Array): ErasedEvent[] {
  const list: readonly (readonly [unknown, unknown])[] = JSON.parse(Buffer.from(data).toString())
  return list.map(([seq, id]) => {
    if (!isSequence(seq) || !isUuid(id))
      throw new SyntaxError('Expected sequences and ids of events')
    return { seq, id }
  })
}

/** Up to which sequence all events of a customer have expired, as the data of a message. */
export const encodeExpired = (upTo: number): string => JSON.stringify(upTo)

/** @throws Error if the data is not a sequence. */
export function decodeExpired(data: Uint8Array): number {
  const upTo: unknown = JSON.parse(Buffer.from(data).toString())
  if (!isSequence(upTo)) throw new SyntaxError('Expected a sequence')
  return upTo
}

/** A value that SQLite refuses would stop the copy of the whole stream. */
const isSequence = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0

import { encodeEvent, messageIdOf } from '../nats/eventMessage.ts'
import { eventSubject, removedSubject } from '../nats/names.ts'
import type { Message } from '../nats/publisher.ts'
import { encodeRemoved, MAX_REMOVED_EVENTS } from '../nats/removedMessage.ts'
import type { MoveState } from './moveState.ts'
import type { LogRow, MoveSource } from './source.ts'
import type { MoveTarget } from './target.ts'

/** Rows of the log that are in flight together, and the bytes of payloads after which a batch ends. */
const BATCH_ROWS = 1_000
const BATCH_BYTES = 2 ** 22

export type Moved = { readonly events: number; readonly seconds: number }

/**
 * Publishes the events in order, in batches, and saves the state after each. The first batches of a continued move can
 * be in the streams already, in whole or in part: one if a process has ended, more if the disk has lost a state too. The
 * search ends with the first batch that has no stored message.
 *
 * @param onProgress Called after each batch with the events that this process has moved, and the position.
 * @param signal Ends it after a batch.
 */
export async function moveEvents(
  source: MoveSource,
  target: MoveTarget,
  state: MoveState,
  signal: AbortSignal,
  onProgress: (moved: Moved) => void,
): Promise<Moved> {
  const { partitionOf, partitions } = target.broker
  const begun = performance.now()
  const none = Array.from({ length: partitions }, () => 0)
  let { source: position, sequences } = state.last() ?? { source: 0, sequences: none }
  let mayBeStored = true
  let events = 0
  const moved = (): Moved => ({ events, seconds: (performance.now() - begun) / 1_000 })

  while (!signal.aborted) {
    const rows = source.logRows(position, BATCH_ROWS, BATCH_BYTES)
    const last = rows.at(-1)
    if (!last) break
    const messages = messagesOf(rows, source.id, partitionOf)
    const published = await target.publish(messages, sequences, mayBeStored)
    mayBeStored = published.wereStored
    const next = [...sequences]
    messages.forEach(({ partition }, i) => {
      next[partition] = Math.max(next[partition] as number, published.sequences[i] as number)
    })
    position = last.seq
    sequences = next
    state.save({ source: position, sequences })
    events += rows.length
    onProgress(moved())
  }
  return moved()
}

function messagesOf(
  rows: readonly LogRow[],
  log: string,
  partitionOf: (customer: string) => number,
): Message[] {
  const messages: Message[] = []
  const removed = new Map<string, LogRow[]>()
  for (const row of rows) {
    const { customer, event } = row
    if (!event) {
      removed.set(customer, [...(removed.get(customer) ?? []), row])
      continue
    }
    const partition = partitionOf(customer)
    messages.push({
      ...{ partition, subject: eventSubject(partition, customer) },
      ...{ id: messageIdOf(event), data: encodeEvent(event) },
    })
  }
  for (const [customer, all] of removed) {
    const partition = partitionOf(customer)
    for (let i = 0; i < all.length; i += MAX_REMOVED_EVENTS) {
      const part = all.slice(i, i + MAX_REMOVED_EVENTS)
      // No message has a sequence below 0, so a copy puts nothing else there.
      const data = encodeRemoved(part.map(({ seq, id }) => ({ seq: -seq, id })))
      messages.push({
        ...{ partition, subject: removedSubject(partition, customer) },
        ...{ id: `move/${log}/${part[0]?.seq}`, data: Buffer.from(data) },
      })
    }
  }
  return messages
}

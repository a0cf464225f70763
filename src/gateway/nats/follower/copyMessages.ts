import type { LogEvent } from '../../collect/eventLog.ts'
import { toCells } from '../../sqlite/cells.ts'
import type { CopyBatch, OtherMessage } from '../../sqlite/copying.ts'
import { decodeCounts } from '../countsMessage.ts'
import { decodeEvent } from '../eventMessage.ts'
import { fromToken } from '../names.ts'
import { decodeExpired, decodeRemoved } from '../removedMessage.ts'

/** A message of a partition's stream. */
export type StreamMessage = {
  readonly seq: number
  readonly subject: string
  readonly data: Uint8Array
  /** When the broker has stored it. */
  readonly time: Date
}

/** Messages in the order of the stream, for one transaction of the copy. */
export type Collected = {
  /** @throws Error if the message can not be decoded. It counts as read. */
  add(message: StreamMessage): void
  /** Number of messages and bytes of their data. */
  size(): { readonly messages: number; readonly bytes: number }
  /** @param after The sequence that the copy has reached. */
  batch(after: number): CopyBatch
}

export function collectMessages(): Collected {
  const events: LogEvent[] = []
  const seqs: number[] = []
  const others: OtherMessage[] = []
  let messages = 0
  let bytes = 0
  let last = 0

  return {
    add(message) {
      const { seq, subject, data } = message
      messages++
      bytes += data.length
      last = seq
      const [kind, , customer = ''] = subject.split('.')
      if (kind === 'events') {
        events.push(decodeEvent(fromToken(customer), data))
        seqs.push(seq)
      } else if (kind === 'removed')
        others.push({ seq, customer: fromToken(customer), erased: decodeRemoved(data) })
      else if (kind === 'expired')
        others.push({ seq, customer: fromToken(customer), expiredTo: decodeExpired(data) })
      else if (kind === 'counts')
        others.push({ seq, counts: decodeCounts(data, message.time.getTime()) })
      else throw new Error(`It is of an unknown kind: ${subject}. Upgrade shoptrail`)
    },
    size: () => ({ messages, bytes }),
    batch: (after) => ({ after, last, cells: toCells(events), seqs, others }),
  }
}

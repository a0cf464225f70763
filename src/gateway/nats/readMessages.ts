import { AckPolicy, DeliverPolicy, type JsMsg, type MsgRequest } from '@nats-io/jetstream'
import { delay, nanos } from '@nats-io/transport-node'
import type { Broker } from './broker.ts'
import { fetchMessages } from './fetchMessages.ts'

/** Which messages of a stream to read. */
export type MessageRange = {
  readonly stream: string
  /** Only messages of this subject, which may have wildcards. Default: all. */
  readonly subject?: string
  /** Only messages after this sequence. */
  readonly after: number
  /** Only messages up to this sequence. */
  readonly upTo: number
  /** Whether the messages come without their data. Default: with it. */
  readonly headersOnly?: boolean
}

/** Messages of one request. Events of 64 KiB are then 8 MiB. */
const CHUNK = 128
/** How long a request waits for messages that were announced, ms. */
const FETCH_MS = 5_000
/** When the server deletes a consumer that could not be deleted, ms. */
const INACTIVE_MS = 30_000
/** How long it is tried again without a message, ms: servers are restarted or elect a leader. */
const PATIENCE_MS = 60_000
const RETRY_MS = 500

/**
 * Reads messages of a stream in order, by a consumer that the server forgets afterwards. At most one request's messages
 * are in memory. Continues after the last message with a new consumer if a server ends.
 *
 * @throws Error if no server answers for a minute.
 */
export async function* readMessages(
  { js, jsm }: Pick<Broker, 'js' | 'jsm'>,
  { stream, subject, after, upTo, headersOnly = false }: MessageRange,
): AsyncGenerator<JsMsg> {
  /** Whether the stream has a message after a sequence, by its leader. */
  async function hasMore(seq: number): Promise<boolean> {
    // The type lacks the two together, which servers have since 2.9.
    const query = { seq: seq + 1, next_by_subj: subject ?? '>' } as MsgRequest
    const next = await jsm.streams.getMessage(stream, query)
    return next !== null && next.seq <= upTo
  }

  let last = after
  let since = performance.now()
  while (last < upTo) {
    let fault: unknown
    try {
      const info = await jsm.consumers.add(stream, {
        ...(subject !== undefined && { filter_subject: subject }),
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: last + 1,
        ack_policy: AckPolicy.None,
        headers_only: headersOnly,
        inactive_threshold: nanos(INACTIVE_MS),
        num_replicas: 1,
        mem_storage: true,
      })
      const consumer = js.consumers.getConsumerFromInfo(info)
      try {
        let left = info.num_pending
        while (left > 0) {
          const before = last
          const max = Math.min(left, CHUNK)
          for (const message of await fetchMessages(consumer, max, FETCH_MS)) {
            // The consumer delivers a message again after some failures.
            if (message.seq <= last) continue
            if (message.seq > upTo) return
            yield message
            last = message.seq
            if (last >= upTo) return
            left = message.info.pending
            since = performance.now()
          }
          // The announced messages do not exist any more, or the server is gone.
          if (last === before) break
        }
        // The announced messages may be too few, if a replica lags, or too many, if some were replaced or deleted.
        if (!(await hasMore(last))) return
      } finally {
        jsm.consumers.delete(stream, info.name).catch(() => {})
      }
    } catch (error) {
      fault = error
    }
    if (performance.now() - since > PATIENCE_MS)
      throw new Error('The cluster does not answer. Try again', { cause: fault })
    await delay(RETRY_MS)
  }
}

import { JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream'
import { delay } from '@nats-io/transport-node'
import { Unavailable } from '../lib/unavailable.ts'

/** Error code of the JetStream API: there is no message with this sequence. */
const NO_MESSAGE = 10057
/** Messages that are deleted at the same time. Each is a proposal that the nodes of the stream agree on. */
const PARALLEL = 16
/** How long a message is tried, ms. A cluster that elects a leader answers after some seconds. */
const PATIENCE_MS = 60_000
const RETRY_MS = 250
/** Retry-After, seconds. */
const RETRY_SECONDS = 5

/**
 * Deletes messages from a stream, and overwrites their bytes on every node. Messages that are not there are left out.
 *
 * @param seqs Sequences that the stream has reached.
 * @param signal Ends it.
 * @throws Unavailable if some of them may still be there.
 */
export async function eraseMessages(
  jsm: JetStreamManager,
  stream: string,
  seqs: readonly number[],
  signal?: AbortSignal,
): Promise<void> {
  const left = [...seqs]
  const work = async (): Promise<void> => {
    for (let seq = left.pop(); seq !== undefined; seq = left.pop())
      await eraseOne(jsm, stream, seq, signal)
  }
  await Promise.all(Array.from({ length: Math.min(PARALLEL, seqs.length) }, work))
}

async function eraseOne(
  jsm: JetStreamManager,
  stream: string,
  seq: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    signal?.throwIfAborted()
    try {
      await jsm.streams.deleteMessage(stream, seq, true)
      return
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === NO_MESSAGE) return
      if (performance.now() > until)
        throw new Unavailable(
          'The cluster does not delete messages at the moment. Erase again',
          RETRY_SECONDS,
          error,
        )
      await delay(RETRY_MS)
    }
  }
}

import { type JsMsg, jetstream, type OrderedConsumerOptions } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { stopWithoutHeartbeats } from './heartbeats.ts'

/** Messages of a stream in order, as they come. */
export type Following = {
  /**
   * For one reader. Ends when the server that sends them is silent or has not sent what is expected, when the connection
   * is lost, or with `stop`.
   */
  readonly messages: AsyncIterable<JsMsg>
  /**
   * Says that the stream has a message with this sequence for the reader, as its leader knows. If nothing comes for 3
   * seconds while the reader waits, the messages end: a consumer reads a replica, and one that lags sends heartbeats
   * only. The next consumer can be on another node.
   */
  expect(sequence: number): void
  stop(): void
}

export type FollowingOptions = Partial<OrderedConsumerOptions> & {
  /** Messages that are asked of the server at once. */
  readonly prefetch: number
}

/**
 * Time for an answer of the JetStream API, ms. The server that was chosen for the consumer may be down or busy. The next
 * attempt chooses again.
 */
const API_MS = 3_000
/** Time between two heartbeats of a consumer without messages, ms. Two that do not come show that its server is gone. */
const HEARTBEAT_MS = 1_000
const EXPIRES_MS = 10_000
/** Time without a message, while one is expected, after which a consumer is given up, ms. */
const STALL_MS = 3_000

/**
 * Follows a stream by a consumer that the server forgets afterwards.
 *
 * @throws Error if the consumer can not be created. Try again.
 */
export async function followStream(
  nc: NatsConnection,
  stream: string,
  { prefetch, ...options }: FollowingOptions,
): Promise<Following> {
  const consumer = await jetstream(nc, { timeout: API_MS }).consumers.get(stream, options)
  const messages = await consumer.consume({
    max_messages: prefetch,
    expires: EXPIRES_MS,
    idle_heartbeat: HEARTBEAT_MS,
  })
  stopWithoutHeartbeats(messages)
  const unlisten = onDisconnect(nc, () => messages.stop())
  let last = (options.opt_start_seq ?? 1) - 1
  /** Whether the reader waits for a message, and does not still use the last one. */
  let isWaiting = false
  let isStopped = false
  let stall: NodeJS.Timeout | undefined

  function endStall(): void {
    clearTimeout(stall)
    stall = undefined
  }

  async function* deliver(): AsyncGenerator<JsMsg> {
    isWaiting = true
    for await (const message of messages) {
      isWaiting = false
      last = message.seq
      endStall()
      yield message
      isWaiting = true
    }
  }

  return {
    messages: deliver(),
    expect(sequence) {
      if (sequence <= last || stall || isStopped) return
      stall = setTimeout(() => {
        stall = undefined
        if (isWaiting) messages.stop()
      }, STALL_MS)
    },
    stop() {
      isStopped = true
      endStall()
      unlisten()
      messages.stop()
      // Not awaited: its server may be down.
      consumer.delete().catch(() => {})
    },
  }
}

/** Calls back when the connection is lost: the consumer may be gone when it is there again. @returns Ends that. */
function onDisconnect(nc: NatsConnection, callback: () => void): () => void {
  const events = nc.status()
  async function listen(): Promise<void> {
    for await (const { type } of events as AsyncIterable<{ type: string }>)
      if (type === 'disconnect') callback()
  }
  listen().catch(() => {})
  return () => (events as unknown as { stop(): void }).stop()
}

import type { ConsumerMessages } from '@nats-io/jetstream'

/**
 * Ends messages whose server is gone: two heartbeats in a row are missing. The library would wait for that server, but
 * a new consumer can be on another node.
 *
 * It returns no promise: the status of messages whose reader has left early never ends.
 */
export function stopWithoutHeartbeats(messages: ConsumerMessages): void {
  async function watch(): Promise<void> {
    for await (const { type } of messages.status())
      if (type === 'heartbeats_missed') messages.stop()
  }
  watch().catch(() => messages.stop())
}

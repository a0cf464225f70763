import type { ConsumerMessages } from '@nats-io/jetstream'

/**
 * Ends messages whose server is gone: two heartbeats in a row are missing. The library would wait for it; a new
 * consumer is on another node.
 *
 * There is nothing to wait for: messages whose reader has left early never say that they have ended.
 */
export function stopWithoutHeartbeats(messages: ConsumerMessages): void {
  async function watch(): Promise<void> {
    for await (const { type } of messages.status())
      if (type === 'heartbeats_missed') messages.stop()
  }
  watch().catch(() => messages.stop())
}

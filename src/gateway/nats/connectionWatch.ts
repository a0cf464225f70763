import type { NatsConnection } from '@nats-io/transport-node'

/** Calls back when the connection is lost, and when it is there again. Ends with the connection, or with `stop`. */
export function watchConnection(
  nc: NatsConnection,
  { onLost, onBack }: { readonly onLost: () => void; readonly onBack: () => void },
): () => void {
  let isStopped = false
  async function watch(): Promise<void> {
    for await (const { type } of nc.status()) {
      if (isStopped) return
      if (type === 'disconnect') onLost()
      if (type === 'reconnect') onBack()
    }
    if (!isStopped) onLost()
  }
  watch()
  return () => {
    isStopped = true
  }
}

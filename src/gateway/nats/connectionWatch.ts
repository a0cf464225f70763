import type { NatsConnection } from '@nats-io/transport-node'

export type ConnectionCallbacks = {
  readonly onLost: () => void
  readonly onBack: () => void
  /**
   * Called with what the server refuses, such as the credentials at a reconnection, or a subject that the user may not
   * publish. Each reason once, until the connection is there again.
   */
  readonly onRefused?: (error: Error) => void
}

/** Reasons that are remembered. More are not reported. */
const MAX_REASONS = 20

/** Calls back when the connection is lost, and when it is there again. Ends with the connection, or with `stop`. */
export function watchConnection(
  nc: NatsConnection,
  { onLost, onBack, onRefused = () => {} }: ConnectionCallbacks,
): () => void {
  const reported = new Set<string>()
  let isStopped = false

  function refuse(error: Error): void {
    const { message } = error
    if (reported.has(message) || reported.size >= MAX_REASONS) return
    reported.add(message)
    onRefused(error)
  }

  async function watch(): Promise<void> {
    for await (const status of nc.status()) {
      if (isStopped) return
      if (status.type === 'error') refuse(status.error)
      if (status.type === 'disconnect') onLost()
      if (status.type === 'reconnect') {
        reported.clear()
        onBack()
      }
    }
    if (!isStopped) onLost()
  }
  watch()
  return () => {
    isStopped = true
  }
}

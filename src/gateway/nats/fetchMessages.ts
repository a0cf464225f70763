import type { Consumer, JsMsg } from '@nats-io/jetstream'
import { errors } from '@nats-io/transport-node'

/** Time after the end of a request for the server's answer to arrive, ms. */
const GRACE_MS = 2_000

/**
 * The messages of one request to a consumer: as many as asked for, or those that have come when the time is over. They
 * are read at once, since the library gives up a request whose reader is slow.
 *
 * Rejects with TimeoutError if the server does not say that the time is over. The library would wait for ever if the
 * node of the consumer was also that of the connection, and is gone. What the server has sent may be lost then: go on
 * with a new consumer.
 *
 * @param max Messages.
 * @param expiresMs How long the server waits for them. At least 1,000.
 */
export async function fetchMessages(
  consumer: Consumer,
  max: number,
  expiresMs: number,
): Promise<readonly JsMsg[]> {
  const messages = await consumer.fetch({ max_messages: max, expires: expiresMs })
  const timer = setTimeout(() => messages.stop(new errors.TimeoutError()), expiresMs + GRACE_MS)
  const fetched: JsMsg[] = []
  try {
    for await (const message of messages) fetched.push(message)
    return fetched
  } finally {
    clearTimeout(timer)
  }
}

import type { ConsumerInfo } from '@nats-io/jetstream'
import type { Broker } from '../gateway/nats/broker.ts'

/**
 * The consumer of a stream that was created last. Older ones may be left: their deletion is not waited for, and fails
 * while their node is down.
 *
 * @param since When the consumer was asked for, ms since 1970.
 * @throws Error if there is none since then. Try again.
 */
export async function findNewestConsumer(
  { jsm }: Pick<Broker, 'jsm'>,
  stream: string,
  since: number,
): Promise<ConsumerInfo> {
  const createdAt = ({ created }: ConsumerInfo) => Date.parse(created)
  let newest: ConsumerInfo | undefined
  for await (const one of jsm.consumers.list(stream))
    if (createdAt(one) >= (newest ? createdAt(newest) : since)) newest = one
  if (!newest) throw new Error(`${stream} has no consumer that was created since then`)
  return newest
}

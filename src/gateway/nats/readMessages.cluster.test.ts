import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { makeLogEvent, publishEvent } from '../../test/followers.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { connectBroker } from './broker.ts'
import { streamOf } from './names.ts'
import { readMessages } from './readMessages.ts'

/** Longer than the library waits for the heartbeats of a request (5 s), and than its whole time (7 s). */
const LATE_MS = 7_500

test('messages that have come are read by one consumer, however slowly', async () => {
  const broker = await connectBroker({ ...takeAccount(), partitions: 1 })
  const sent = [
    await publishEvent(broker, makeLogEvent({ customer: 'shop' })),
    await publishEvent(broker, makeLogEvent({ customer: 'shop' })),
  ]
  const range = { stream: streamOf(0), after: 0, upTo: sent.at(-1) as number }
  const read: number[] = []
  for await (const { seq, info } of readMessages(broker, range)) {
    read.push(seq)
    // The first and the second of the same consumer.
    expect(info.deliverySequence).toBe(read.length)
    if (read.length === 1) await delay(LATE_MS)
  }
  expect(read).toEqual(sent)
  await broker.close()
})

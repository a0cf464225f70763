import { setTimeout as delay } from 'node:timers/promises'
import { DeliverPolicy } from '@nats-io/jetstream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeLogEvent, publishEvent } from '../../test/followers.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { silenceFirstConsumer } from '../../test/silentConsumer.ts'
import { type Broker, connectBroker } from './broker.ts'
import { type Following, followStream } from './followStream.ts'
import { createLiveTails } from './liveTails.ts'
import { streamOf } from './names.ts'

/** Longer than a consumer may bring nothing while a message is expected, ms. */
const STALLED_MS = 3_500
const account = { ...takeAccount(), partitions: 1 }
let connected: Broker
beforeAll(async () => {
  connected = await connectBroker(account)
})
afterAll(() => connected?.close())

const publish = (customer: string) => publishEvent(connected, makeLogEvent({ customer }))

const follow = (broker: Broker, first: number): Promise<Following> =>
  followStream(broker.nc, streamOf(0), {
    ...{ deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: first, prefetch: 10 },
  })

test('a consumer that does not bring what is expected ends', async () => {
  const { broker, held } = silenceFirstConsumer(connected)
  const first = await publish('shop')
  const following = await follow(broker, first)
  following.expect(first)
  const read: number[] = []
  for await (const { seq } of following.messages) read.push(seq)
  expect(read).toEqual([])
  expect(held()).toBe(1)
  following.stop()
})

test('a consumer is kept while its reader is slow, and when nothing newer is expected', async () => {
  const first = await publish('shop')
  const second = await publish('shop')
  const following = await follow(connected, first)
  following.expect(first - 1)
  const read: number[] = []
  for await (const { seq } of following.messages) {
    read.push(seq)
    if (seq === second) break
    following.expect(second)
    await delay(STALLED_MS)
  }
  expect(read).toEqual([first, second])
  following.stop()
})

test('a live view whose consumer brings nothing reads by another one', async () => {
  const { broker, held } = silenceFirstConsumer(connected)
  const tails = createLiveTails(broker)
  let news = 0
  const end = tails.subscribe(() => news++, 'live')
  // It follows the stream.
  await expect.poll(() => news).toBe(1)
  const missed = await publish('live')
  // Then the log is read, which has the event.
  await expect.poll(() => tails.find('live', { after: missed - 1, max: 9 })).toBeUndefined()
  expect(held()).toBe(1)
  await expect.poll(() => news).toBe(2)
  const next = await publish('live')
  await expect
    .poll(() => tails.find('live', { after: missed, max: 9 })?.map(({ seq }) => seq))
    .toEqual([next])
  end()
  tails.close()
})

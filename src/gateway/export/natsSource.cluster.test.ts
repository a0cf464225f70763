import { expect, test } from 'vitest'
import { makeLogEvent, publishEvent } from '../../test/followers.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { silenceFirstConsumer } from '../../test/silentConsumer.ts'
import { connectBroker } from '../nats/broker.ts'
import { openNatsSource } from './natsSource.ts'

test('the position of a time is found although the first consumer brings nothing', async () => {
  const connected = await connectBroker({ ...takeAccount(), partitions: 1 })
  const { broker, held } = silenceFirstConsumer(connected)
  const first = await publishEvent(broker, makeLogEvent({ customer: 'shop' }))
  await publishEvent(broker, makeLogEvent({ customer: 'shop' }))
  const source = openNatsSource(broker, 'shop')
  expect(await source.before(0)).toBe(first - 1)
  expect(held()).toBeGreaterThan(0)
  await source.close()
})

import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { makeLogEvent, publishEvent } from '../../../test/followers.ts'
import { makeFolder, workerFile } from '../../../test/gateway.ts'
import { takeAccount } from '../../../test/sharedCluster.ts'
import { silenceFirstConsumer } from '../../../test/silentConsumer.ts'
import { connectBroker } from '../broker.ts'
import { openCopy } from './copy.ts'

test('a copy whose consumer brings nothing reads by another one', async () => {
  const connected = await connectBroker({ ...takeAccount(), partitions: 1 })
  const folder = makeFolder()
  const errors: unknown[] = []
  const { broker, held } = silenceFirstConsumer(connected)
  const sequence = await publishEvent(broker, makeLogEvent({ customer: 'shop' }))
  const copy = await openCopy({
    ...{ broker, partition: 0, dataDir: folder, workerFile: workerFile(), isDamaged: false },
    ...{ now: Date.now, onStuck() {} },
    onError: (error) => errors.push(error),
    onLost: (error) => errors.push(error),
  })
  await copy.reach(sequence)
  expect(held()).toBeGreaterThan(0)
  expect(copy.position()).toBe(sequence)
  expect(errors).toEqual([])
  await copy.close()
  await connected.close()
  rmSync(folder, { recursive: true })
})

import { errors } from '@nats-io/transport-node'
import { expect, test, vi } from 'vitest'
import { takeAccount } from '../../test/sharedCluster.ts'
import { connectBroker } from '../nats/broker.ts'
import { streamOf } from '../nats/names.ts'
import { createMoveTarget } from './target.ts'

test('a move asks again while the cluster elects a leader, and not if a stream is missing', async () => {
  const broker = await connectBroker({ ...takeAccount(), partitions: 1 })
  const info = vi.spyOn(broker.jsm.streams, 'info')
  const lose = () => info.mockRejectedValueOnce(new errors.TimeoutError())
  lose()
  const target = await createMoveTarget(broker)
  for (const count of [target.ends, target.eventCounts, target.customerCount]) {
    lose()
    await count()
  }
  expect(info.mock.settledResults.filter(({ type }) => type === 'rejected')).toHaveLength(4)
  await broker.jsm.streams.delete(streamOf(0))
  await expect(target.ends()).rejects.toThrow('stream not found')
  await target.close()
  await broker.close()
})

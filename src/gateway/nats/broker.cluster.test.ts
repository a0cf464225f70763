import { randomUUID } from 'node:crypto'
import { jetstreamManager } from '@nats-io/jetstream'
import { expect, test } from 'vitest'
import { startNatsCluster } from '../../test/natsCluster.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { connectBroker, connectNats, refuseSmallPayload } from './broker.ts'
import { encodeEvent, messageIdOf } from './eventMessage.ts'
import { eventSubject, streamOf } from './names.ts'

const EVENT = {
  customer: 'demo',
  id: randomUUID(),
  at: 1,
  receivedAt: 2,
  operation: 'search',
  event: 'search',
  did: null,
  bot: false,
  version: null,
  payload: '{}',
}

test('several processes create the layout at once, and agree on it', async () => {
  const account = takeAccount()
  const brokers = await Promise.all([0, 1, 2].map(() => connectBroker(account)))
  expect(new Set(brokers.map(({ id }) => id)).size).toBe(1)
  expect(brokers.map(({ partitions }) => partitions)).toEqual([4, 4, 4])
  for (const { jsm } of brokers.slice(0, 1))
    for (let partition = 0; partition < 4; partition++) {
      const { config } = await jsm.streams.info(streamOf(partition))
      expect(config).toMatchObject({ num_replicas: 3, storage: 'file', discard: 'new' })
    }
  await Promise.all(brokers.map((broker) => broker.close()))
})

test('another number of partitions is refused, with the number to set', async () => {
  const account = takeAccount()
  const broker = await connectBroker({ ...account, partitions: 2 })
  await expect(connectBroker({ ...account, partitions: 3 })).rejects.toThrow(
    'Set NATS_PARTITIONS to 2',
  )
  const unasked = await connectBroker(account)
  expect(unasked.partitions).toBe(2)
  await unasked.close()
  await broker.close()
})

test('an event is stored once within the duplicate window', async () => {
  const broker = await connectBroker(takeAccount())
  const partition = broker.partitionOf(EVENT.customer)
  const publish = () =>
    broker.js.publish(eventSubject(partition, EVENT.customer), encodeEvent(EVENT), {
      msgID: messageIdOf(EVENT),
    })
  expect(await publish()).toMatchObject({ stream: streamOf(partition), duplicate: false })
  expect(await publish()).toMatchObject({ duplicate: true })
  await broker.close()
})

test('wrong credentials are refused with the settings to check', async () => {
  await expect(connectBroker({ ...takeAccount(), password: 'wrong' })).rejects.toThrow(
    /ENGINE.*does not let this process in: Authorization.*NATS_/,
  )
})

test('a process that starts before the last node waits for it', async () => {
  const cluster = await startNatsCluster(3, 2)
  try {
    const account = cluster.takeAccount()
    const nc = await connectNats(account)
    const jsm = await jetstreamManager(nc)
    const create = () => jsm.streams.add({ name: 'one', subjects: ['one'], num_replicas: 3 })
    await expect(create()).rejects.toThrow('no suitable peers')
    const connecting = connectBroker(account)
    await Promise.allSettled([connecting, cluster.start(2)])
    const broker = await connecting
    expect(broker.partitions).toBe(4)
    await broker.close()
    await nc.close()
  } finally {
    await cluster.end()
  }
}, 120_000)

test('servers that do not take the largest event are refused with the setting to change', () => {
  expect(() => refuseSmallPayload(65_536)).toThrow('Set max_payload to 262144 or more')
  expect(refuseSmallPayload(1_048_576)).toBeUndefined()
})

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { jetstreamManager } from '@nats-io/jetstream'
import { expect, test, vi } from 'vitest'
import { findPort } from '../../test/findPort.ts'
import { startNatsCluster } from '../../test/natsCluster.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { connectBroker, connectNats, refuseSmallPayload } from './broker.ts'
import { encodeEvent, messageIdOf } from './eventMessage.ts'
import { ensureLayout } from './layout.ts'
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
  const brokers = await Promise.all([0, 1, 2, 3, 4, 5].map(() => connectBroker(account)))
  expect(new Set(brokers.map(({ id }) => id)).size).toBe(1)
  expect(brokers.map(({ partitions }) => partitions)).toEqual([4, 4, 4, 4, 4, 4])
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

test('a process that starts with the first of three nodes waits for the others', async () => {
  const cluster = await startNatsCluster()
  try {
    const account = cluster.takeAccount()
    const before = await connectBroker(account)
    await before.close()
    await Promise.all([0, 1, 2].map(cluster.kill))
    await cluster.start(0)
    const connecting = connectBroker(account)
    await Promise.allSettled([connecting, cluster.start(1), cluster.start(2)])
    const broker = await connecting
    expect(broker.id).toBe(before.id)
    await broker.close()
  } finally {
    await cluster.end()
  }
}, 120_000)

test('servers and accounts without JetStream are refused with what to add, and servers are tried again', async () => {
  const sys = connectBroker({ ...takeAccount(), user: 'sys' })
  await expect(sys).rejects.toThrow('JetStream is not enabled for this account. Add `jetstream {')

  const port = await findPort()
  const server = spawn('nats-server', ['-a', '127.0.0.1', '-p', `${port}`], { stdio: 'ignore' })
  const options = { servers: [`127.0.0.1:${port}`] }
  const nc = await vi.waitUntil(() => connectNats(options).catch(() => undefined), 60_000)
  try {
    const jsm = await jetstreamManager(nc, { checkAPI: false })
    await expect(ensureLayout(nc, jsm, options, 0)).rejects.toMatchObject({
      name: 'EngineAway',
      message: expect.stringMatching(/Check that JetStream is enabled. Add `jetstream {/),
    })
  } finally {
    await nc.close()
    server.kill()
  }
}, 60_000)

test('servers that do not take the largest event are refused with the setting to change', () => {
  expect(() => refuseSmallPayload(65_536)).toThrow('Set max_payload to 262144 or more')
  expect(refuseSmallPayload(1_048_576)).toBeUndefined()
})

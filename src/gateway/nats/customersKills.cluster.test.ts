import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { type NatsCluster, startNatsCluster } from '../../test/natsCluster.ts'
import { type Broker, connectBroker } from './broker.ts'
import { type NatsCustomers, openNatsCustomers } from './customers.ts'
import { CUSTOMERS_BUCKET } from './names.ts'

const folder = makeFolder()
/** For elections, and for servers that start, on a busy machine. */
const PATIENCE = { timeout: 45_000, interval: 100 }

let cluster: NatsCluster
const brokers: Broker[] = []
const gateways: NatsCustomers[] = []

beforeAll(async () => {
  cluster = await startNatsCluster()
  const account = { ...cluster.takeAccount(), partitions: 1 }
  for (const name of ['one', 'two']) {
    const broker = await connectBroker(account)
    brokers.push(broker)
    mkdirSync(join(folder, name))
    const options = { broker, folder: join(folder, name), onError: () => {} }
    gateways.push(await openNatsCustomers(options))
  }
})
afterAll(async () => {
  for (const gateway of gateways) await gateway.close()
  for (const broker of brokers) await broker.nc.close()
  await cluster.end()
  rmSync(folder, { recursive: true })
})

const names = (): string[][] =>
  gateways.map(({ customers }) => customers.list().map(({ customerId }) => customerId))

test('customers survive the loss of the leader, of the majority, and of all nodes', async () => {
  const [one, two] = gateways as [NatsCustomers, NatsCustomers]
  const leader = async () => {
    const { jsm } = brokers[0] as Broker
    return cluster.nodeOf((await jsm.streams.info(`KV_${CUSTOMERS_BUCKET}`)).cluster?.leader)
  }
  one.customers.add({ customerId: 'first' })
  await vi.waitFor(() => one.saved(), PATIENCE)
  await vi.waitFor(() => expect(names()).toEqual([['first'], ['first']]), PATIENCE)

  const killed = await vi.waitFor(leader, PATIENCE)
  await cluster.kill(killed)
  one.customers.add({ customerId: 'second' })
  await vi.waitFor(() => one.saved(), PATIENCE)
  await vi.waitFor(() => expect(two.customers.find('second')).toBeDefined(), PATIENCE)

  const other = (killed + 1) % 3
  await cluster.kill(other)
  two.customers.add({ customerId: 'third' })
  await expect(two.saved()).rejects.toMatchObject({ name: 'Unavailable' })
  expect(names()).toEqual([
    ['first', 'second'],
    ['first', 'second', 'third'],
  ])
  await cluster.kill((killed + 2) % 3)
  expect(one.customers.find('second')).toBeDefined()

  for (const node of [0, 1, 2]) await cluster.start(node)
  await vi.waitFor(() => two.saved(), PATIENCE)
  await vi.waitFor(() => expect(one.customers.find('third')).toBeDefined(), PATIENCE)
}, 180_000)

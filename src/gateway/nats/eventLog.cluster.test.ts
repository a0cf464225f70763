import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { checkEventLog } from '../../test/eventLogContract.ts'
import { makeFolder, workerFile } from '../../test/gateway.ts'
import type { NatsAccount } from '../../test/natsCluster.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import type { EventLog } from '../collect/eventLog.ts'
import type { Customers } from '../customers/customers.ts'
import { createAsk } from './ask.ts'
import { type Broker, connectBroker } from './broker.ts'
import { createNatsLog } from './eventLog.ts'
import { startFollower } from './follower/follower.ts'
import { startEvents } from './follower/tasks/events.ts'
import { streamOf } from './names.ts'

let account: NatsAccount
let broker: Broker
let follower: ReturnType<typeof startFollower>
const PARTITIONS = 2
const folder = makeFolder()

beforeAll(async () => {
  account = takeAccount()
  broker = await connectBroker({ ...account, partitions: PARTITIONS })
  follower = startFollower({
    broker,
    dataDir: folder,
    customers: {} as Customers,
    customersFile: join(folder, 'customers.db'),
    workerFile: workerFile(),
    tasks: [startEvents],
    now: Date.now,
    monotonicNow: () => performance.now(),
    onError: (error, what) => console.error(what, error),
  })
  await vi.waitFor(
    () => expect(follower.status().filter(({ isHeld }) => isHeld)).toHaveLength(PARTITIONS),
    { timeout: 60_000 },
  )
})
afterAll(async () => {
  await follower.close()
  await broker.close()
  rmSync(folder, { recursive: true })
})

const opened = new Set<Broker>()
afterAll(async () => {
  await Promise.all([...opened].map((one) => one.close()))
})

async function open(): Promise<EventLog> {
  const own = await connectBroker({ ...account })
  opened.add(own)
  return createNatsLog({ broker: own, ask: createAsk(own.nc) })
}

checkEventLog('NATS', async () => ({
  open,
  place: { account },
  async remove(customer, seq) {
    await broker.jsm.streams.deleteMessage(streamOf(broker.partitionOf(customer)), seq)
  },
}))

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { checkEventLog } from '../../test/eventLogContract.ts'
import { makeFolder, workerFile } from '../../test/gateway.ts'
import { makeLogEvent } from '../../test/logEvents.ts'
import type { NatsAccount } from '../../test/natsCluster.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import type { EventLog } from '../collect/eventLog.ts'
import type { Customers } from '../customers/customers.ts'
import { createLivePages } from '../operators/livePages.ts'
import { streamEvents } from '../operators/liveStream.ts'
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

/** Opens a live view on a gateway's log. `readUntil` resolves when it has got an event with this name. */
function openView(log: EventLog, customer: string, lastEventId?: number) {
  const stream = streamEvents({
    ...{ pages: createLivePages(log), subscribe: log.subscribe, customer, lastEventId },
    ...{ findEnd: () => undefined, closing: new AbortController().signal, onEnd: () => {} },
  })
  const reader = stream.getReader()
  let text = ''
  return {
    async readUntil(name: string): Promise<void> {
      while (!text.includes(`"${name}"`)) text += Buffer.from((await reader.read()).value ?? [])
    },
    names: () => [...text.matchAll(/"(e\d+)"/g)].map(([, name]) => name),
    lastEventId: () => Number([...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1]),
    close: () => reader.cancel(),
  }
}

test('a live view that reconnects to another gateway gets each event once', async () => {
  const [one, other] = [await open(), await open()]
  const customer = 'live'
  const append = async (log: EventLog, from: number, to: number) => {
    for (let i = from; i < to; i++) await log.append([makeLogEvent({ customer, event: `e${i}` })])
  }
  await append(one, 0, 5)
  const first = openView(one, customer)
  await first.readUntil('e4')
  await append(other, 5, 10)
  await first.readUntil('e9')
  await first.close()
  await append(one, 10, 15)
  const second = openView(other, customer, first.lastEventId())
  await second.readUntil('e14')
  await append(one, 15, 20)
  await second.readUntil('e19')
  await second.close()
  const expected = Array.from({ length: 20 }, (_, i) => `e${i}`)
  expect([...first.names(), ...second.names()]).toEqual(expected)
  await Promise.all([one.close(), other.close()])
})

import { randomUUID } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { awaitForgottenIds } from '../../../test/forgottenIds.ts'
import { makeFolder, workerFile } from '../../../test/gateway.ts'
import { takeAccount } from '../../../test/sharedCluster.ts'
import type { LogEvent } from '../../collect/eventLog.ts'
import type { Customers } from '../../customers/customers.ts'
import type { Usage } from '../../customers/usage.ts'
import { openDatabase } from '../../sqlite/database.ts'
import { createAsk } from '../ask.ts'
import { type Broker, connectBroker } from '../broker.ts'
import type { ClusterNews } from '../clusterNews.ts'
import { encodeEvent, messageIdOf } from '../eventMessage.ts'
import {
  countsSubject,
  eventSubject,
  expiredSubject,
  removedSubject,
  streamOf,
  usageSubject,
} from '../names.ts'
import { decodeUsage } from '../usageMessage.ts'
import { startFollower } from './follower.ts'
import { startEvents } from './tasks/events.ts'

/** Long, for busy machines. A test starts several followers. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })
const SOON = { timeout: 60_000, interval: 50 }
const account = takeAccount()
const folders: string[] = []
const brokers: Broker[] = []
afterAll(async () => {
  await Promise.all(brokers.map((broker) => broker.close()))
  for (const folder of folders) rmSync(folder, { recursive: true })
})

async function open() {
  const broker = await connectBroker({ ...account, partitions: 2, duplicateWindowMs: 1_000 })
  brokers.push(broker)
  return broker
}

/** A follower with a connection and a folder of its own. */
async function start(given: { folder?: string; broker?: Broker; compareMs?: number } = {}) {
  const broker = given.broker ?? (await open())
  const folder = given.folder ?? makeFolder()
  if (!given.folder) folders.push(folder)
  const errors: string[] = []
  const news: ClusterNews[] = []
  const follower = startFollower({
    broker,
    dataDir: folder,
    customers: {} as Customers,
    customersFile: join(folder, 'customers.db'),
    workerFile: workerFile(),
    tasks: [startEvents],
    now: Date.now,
    monotonicNow: () => performance.now(),
    compareMs: given.compareMs,
    onNews: (one) => news.push(one),
    onError: (error, what) => errors.push(`${what}: ${(error as Error).message}`),
  })
  const held = () => follower.status().filter(({ isHeld }) => isHeld).length
  return { broker, folder, follower, errors, news, held }
}

const makeEvent = (customer: string, id: string = randomUUID()): LogEvent => ({
  customer,
  id,
  at: 1,
  receivedAt: Date.now(),
  operation: 'search',
  event: 'search',
  did: null,
  bot: false,
  version: null,
  payload: '{}',
})

const publish = (broker: Broker, event: LogEvent) =>
  broker.js.publish(
    eventSubject(broker.partitionOf(event.customer), event.customer),
    encodeEvent(event),
    {
      msgID: messageIdOf(event),
    },
  )

/** Messages that no version of the gateway writes. SQLite would refuse the values of most of them. */
const junkOf = (partition: number): [subject: string, data: string][] => [
  [eventSubject(partition, 'shop'), 'no event'],
  [eventSubject(partition, 'shop'), '[1, null, {}, [], 5, false, 0, null, null]\n{}'],
  [`events.${partition}.=FF`, encodeEvent(makeEvent('shop')).toString()],
  [removedSubject(partition, 'shop'), '[["1", 5]]'],
  [expiredSubject(partition, 'shop'), '1.5'],
  [countsSubject(partition), '{"problems":[null]}'],
]

/** What the copy of the customer's partition has, in order, and what is counted of the customer. */
function readCopy(folder: string, partition: number, customer: string) {
  const database = openDatabase(join(folder, `partition-${partition}`, 'events.db'))
  try {
    const ids = database
      .prepare<[string], string>(
        'SELECT lower(hex(id)) FROM events WHERE customer = ? ORDER BY seq',
      )
      .pluck()
    const count = database
      .prepare<[string], number>('SELECT sum(events) FROM usage WHERE customer = ?')
      .pluck()
    return { ids: ids.all(customer), counted: count.get(customer) ?? 0 }
  } finally {
    database.close()
  }
}

const bare = (event: LogEvent) => event.id.replaceAll('-', '')

test('every follower copies every partition, each partition has one holder, and an id counts once', async () => {
  const [one, other] = await Promise.all([start(), start()])
  const partition = one.broker.partitionOf('demo')
  const [first, second] = [makeEvent('demo'), makeEvent('demo')]
  await publish(one.broker, first)
  await expect.poll(() => [one.held(), other.held()], SOON).toEqual([1, 1])

  const usages: Usage[] = []
  other.broker.nc.subscribe(usageSubject(partition), {
    callback: (_, { data }) => void usages.push(...(decodeUsage(data)?.usages ?? [])),
  })
  const ask = createAsk(other.broker.nc)
  const has = () => ask(partition, 'has', ['demo', [first.id, second.id]])
  await expect.poll(() => has().catch(() => []), SOON).toEqual([true, false])

  await awaitForgottenIds(one.broker)
  const repeated = await publish(one.broker, { ...first, id: first.id.toUpperCase() })
  expect(repeated.duplicate).toBe(false)
  await publish(one.broker, second)
  await expect.poll(has, SOON).toEqual([true, true])
  const whole = { ids: [first, second].map(bare), counted: 2 }
  for (const { folder } of [one, other])
    await expect.poll(() => readCopy(folder, partition, 'demo'), SOON).toEqual(whole)
  await expect.poll(() => usages.at(-1), SOON).toMatchObject({ customer: 'demo', events: 2 })

  // A stop makes the partitions free. Nothing has to expire.
  await one.follower.close()
  await expect.poll(other.held, SOON).toBe(2)
  expect(await one.broker.leases.get(`partition.${partition}`)).toMatchObject({ operation: 'PUT' })
  await expect.poll(() => has().catch(() => []), SOON).toEqual([true, true])
  await other.follower.close()
  expect([...one.errors, ...other.errors]).toEqual([])
})

test('a copy continues after a restart, is compared with its stream, and is made again when it is lost', async () => {
  const first = await start()
  const { broker, folder } = first
  const partition = broker.partitionOf('shop')
  const events = Array.from({ length: 700 }, () => makeEvent('shop'))
  await Promise.all(events.slice(0, 650).map((event) => publish(broker, event)))
  for (const [subject, data] of junkOf(partition)) await broker.js.publish(subject, data)
  const end = async () => (await broker.jsm.streams.info(streamOf(partition))).state.last_seq
  const positionOf = (one: typeof first) => one.follower.status()[partition]?.position
  await expect.poll(() => positionOf(first), SOON).toBe(await end())
  expect(first.errors).toEqual(
    junkOf(partition).map(() =>
      expect.stringMatching(/^partition \d: Message \d+ of shoptrail-events-\d can not be read/),
    ),
  )
  await first.follower.close()

  const database = openDatabase(join(folder, `partition-${partition}`, 'events.db'))
  const seq = database.prepare('DELETE FROM events WHERE seq = 50 RETURNING seq').pluck().get()
  database.close()
  await Promise.all(events.slice(650).map((event) => publish(broker, event)))
  const second = await start({ folder, broker, compareMs: 100 })
  await expect.poll(() => positionOf(second), SOON).toBe(await end())
  expect(readCopy(folder, partition, 'shop').counted).toBe(700)
  // The messages that can not be read are not read again.
  expect(second.errors).toEqual([])

  await expect.poll(second.held, SOON).toBe(2)
  const differs = () => second.follower.status()[partition]?.differs
  await expect.poll(differs, SOON).toBe(true)
  expect(second.news).toContainEqual({ what: 'differs', partition, seq, fault: 'lacks' })
  const ask = createAsk(broker.nc)
  const find = () => ask(partition, 'findDifference', []).catch(() => undefined)
  await expect.poll(find, SOON).toEqual({ seq, fault: 'lacks' })

  rmSync(join(folder, `partition-${partition}`), { recursive: true })
  const removed = expect.stringMatching(/was removed or replaced/)
  await expect.poll(() => second.errors, SOON).toContainEqual(removed)
  await expect.poll(differs, SOON).toBe(false)
  await expect.poll(() => positionOf(second), SOON).toBe(await end())
  await expect.poll(second.held, SOON).toBe(2)
  await second.follower.close()
  const { ids, counted } = readCopy(folder, partition, 'shop')
  expect(counted).toBe(700)
  expect(ids.sort()).toEqual(events.map(bare).sort())
})

test('a copy of another installation is moved aside', async () => {
  const first = await start()
  await expect.poll(first.held, SOON).toBe(2)
  await first.follower.close()
  const [partition] = [0]
  const file = join(first.folder, `partition-${partition}`, 'events.db')
  const database = openDatabase(file)
  database.exec("UPDATE copied SET source = 'another one'")
  database.close()
  const second = await start({ folder: first.folder, broker: first.broker })
  await expect.poll(second.held, SOON).toBe(2)
  await second.follower.close()
  expect(second.errors).toEqual([expect.stringContaining('is of another installation')])
  expect(existsSync(join(first.folder, `partition-${partition}.old`, 'events.db'))).toBe(true)
})

test('a copy that can not be written is reported once, and another follower holds the partition', async () => {
  const [one, other] = await Promise.all([start(), start()])
  const partition = one.broker.partitionOf('full')
  const isHeldBy = ({ follower }: typeof one) => follower.status()[partition]?.isHeld
  await expect.poll(() => [one, other].filter(isHeldBy).length, SOON).toBe(1)
  const [holder, next] = isHeldBy(one) ? [one, other] : [other, one]
  const database = openDatabase(join(holder.folder, `partition-${partition}`, 'events.db'))
  // Like a full disk: reading works.
  database.exec(
    "CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no space'); END",
  )
  await publish(one.broker, makeEvent('full'))
  await expect.poll(() => isHeldBy(next), SOON).toBe(true)
  expect(holder.errors.filter((error) => !error.includes('can not be read'))).toEqual([
    `partition ${partition}: The copy of partition ${partition} can not be written: no space`,
  ])
  database.exec('DROP TRIGGER full')
  database.close()
  const counted = () => readCopy(holder.folder, partition, 'full').counted
  await expect.poll(counted, SOON).toBe(1)
  await Promise.all([one.follower.close(), other.follower.close()])
})

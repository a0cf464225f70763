import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { takeAccount } from '../../../test/sharedCluster.ts'
import { type Broker, connectBroker } from '../broker.ts'
import { LEASES_BUCKET } from '../names.ts'
import { type LeaseOptions, startLeases } from './leases.ts'

/** Long, for busy machines. A test waits more than once. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })
const SOON = { timeout: 60_000, interval: 50 }
const PARTITIONS = 5
const STREAM = `KV_${LEASES_BUCKET}`

let broker: Broker
beforeAll(async () => {
  broker = await connectBroker({ ...takeAccount(), partitions: 1 })
})
afterAll(() => broker.close())

/** Leases with clocks that can be set, and what they hold. */
function start(given: Partial<LeaseOptions> = {}) {
  const clock = { monotonic: 0, wall: 0 }
  const held = new Set<number>()
  const lost: number[] = []
  const errors: unknown[] = []
  const leases = startLeases({
    broker,
    partitions: PARTITIONS,
    canHold: () => true,
    onHeld: (partition) => held.add(partition),
    async onLost(partition, isGivenUp) {
      held.delete(partition)
      if (!isGivenUp) lost.push(partition)
    },
    onError: (error) => errors.push(error),
    monotonicNow: () => performance.now() + clock.monotonic,
    now: () => Date.now() + clock.wall,
    ...given,
  })
  return { leases, clock, held, lost, errors }
}

test('partitions are shared among followers, given up for one that joins, and free after a stop', async () => {
  const one = start()
  await expect.poll(() => one.held.size, SOON).toBe(PARTITIONS)
  const other = start()
  await expect.poll(() => [one.held.size, other.held.size].sort(), SOON).toEqual([2, 3])
  expect([...one.held, ...other.held].sort()).toEqual([0, 1, 2, 3, 4])
  expect(one.leases.followers()).toBe(2)

  await other.leases.close()
  await expect.poll(() => one.held.size, SOON).toBe(PARTITIONS)
  await one.leases.close()
  expect(one.held.size).toBe(0)
  expect([...one.errors, ...other.errors]).toEqual([])
  for (const key of ['partition.0', 'partition.4'])
    expect(await broker.leases.get(key)).toMatchObject({ operation: 'DEL' })
})

test('a process that was suspended knows at once that it may have lost its partitions', async () => {
  const one = start()
  await expect.poll(() => one.held.size, SOON).toBe(PARTITIONS)
  const isHeld = () => one.leases.isHeld(0)
  expect(isHeld()).toBe(true)
  // Set back, the clock changes nothing.
  one.clock.wall = -86_400_000
  expect(isHeld()).toBe(true)
  // No timer has run.
  one.clock.monotonic = 4_000
  expect(isHeld()).toBe(false)
  await expect.poll(() => one.lost.length, SOON).toBe(PARTITIONS)
  await expect.poll(isHeld, SOON).toBe(true)
  // A machine that was suspended: the monotonic clock has stopped.
  one.clock.wall = 4_000
  expect(isHeld()).toBe(false)
  await one.leases.close()
})

test('a partition whose tasks can not be started is free for others, and taken again after a while', async () => {
  const one = start()
  await expect.poll(() => one.held.size, SOON).toBe(PARTITIONS)
  await one.leases.release(0)
  expect([...one.held].sort()).toEqual([1, 2, 3, 4])
  expect(await broker.leases.get('partition.0')).toMatchObject({ operation: 'DEL' })
  await expect.poll(() => one.held.size, SOON).toBe(PARTITIONS)
  expect(one.lost).toEqual([])
  await one.leases.close()
})

test('a partition is free at once when a renewal is stored just before it is given up', async () => {
  const { leases, jsm, nc } = broker
  /** The bucket, in which a last renewal overtakes every deletion. */
  const late = Object.assign(Object.create(leases), {
    put: leases.put.bind(leases),
    async delete(key: string, options: { previousSeq: number }) {
      const entry = await leases.get(key)
      if (entry?.revision === options.previousSeq && overtaken.size < PARTITIONS) {
        overtaken.add(key)
        await leases.put(key, entry.value)
      }
      await leases.delete(key, options)
    },
  })
  const overtaken = new Set<string>()
  const one = start({ broker: { leases: late, jsm, nc } })
  await expect.poll(() => one.held.size, SOON).toBe(PARTITIONS)
  await one.leases.close()
  expect(overtaken.size).toBe(PARTITIONS)
  for (const key of overtaken)
    expect(await broker.leases.get(key)).toMatchObject({ operation: 'DEL' })
})

test('a follower whose watch has ended without notice still learns what others do', async () => {
  const [one, other] = [start(), start()]
  await expect.poll(() => [one.held.size, other.held.size].sort(), SOON).toEqual([2, 3])
  const { consumers } = broker.jsm
  for await (const { name } of consumers.list(STREAM)) await consumers.delete(STREAM, name)
  await other.leases.close()
  await expect.poll(() => one.held.size, { ...SOON, timeout: 30_000 }).toBe(PARTITIONS)
  await one.leases.close()
})

test('partitions whose tasks start only at one follower are held by that one, above its share', async () => {
  const broken = start({
    onHeld(partition) {
      if (partition < 4) void broken.leases.release(partition)
      else broken.held.add(partition)
    },
  })
  const other = start()
  const both = () => [...broken.held, ...other.held].sort()
  await expect.poll(both, SOON).toEqual([0, 1, 2, 3, 4])
  await Promise.all([broken.leases.close(), other.leases.close()])
})

test('a follower counts again after others have deleted its key', async () => {
  const [one, other] = [start(), start()]
  const counted = () => [one.leases.followers(), other.leases.followers()]
  await expect.poll(counted, SOON).toEqual([2, 2])
  const { leases } = broker
  for await (const key of await leases.keys('follower.*')) {
    await leases.delete(key)
    await expect.poll(() => leases.get(key), SOON).toMatchObject({ operation: 'PUT' })
  }
  await expect.poll(counted, SOON).toEqual([2, 2])
  await Promise.all([one.leases.close(), other.leases.close()])
})

test('of several writes that are stored together only the last one takes the partition', async () => {
  const { leases, jsm, nc } = broker
  const other = JSON.stringify({ id: 'other', name: 'other', attempt: 1 })
  /** The bucket, in which a write of another follower is stored right after that of partition 0. */
  const raced = Object.assign(Object.create(leases), {
    delete: leases.delete.bind(leases),
    async put(...args: Parameters<typeof leases.put>) {
      const revision = await leases.put(...args)
      if (args[0] === 'partition.0') await leases.put('partition.0', other)
      return revision
    },
  })
  const taken = new Set<number>()
  const one = start({
    broker: { leases: raced, jsm, nc },
    onHeld: (partition) => taken.add(partition),
  })
  await expect.poll(() => [...taken].sort(), SOON).toEqual([1, 2, 3, 4])
  await expect.poll(() => leases.get('partition.0'), SOON).toMatchObject({ operation: 'PUT' })
  expect(taken.has(0)).toBe(false)
  await one.leases.close()
  await leases.delete('partition.0')
})

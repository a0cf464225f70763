import { afterEach, expect, test, vi } from 'vitest'
import { type Disk, type DiskState, keepReserve, watchDisk } from './disk.ts'

afterEach(() => {
  vi.useRealTimers()
})

const MIB = 2 ** 20

/** A disk of 100 GiB whose free space a test sets. */
async function watch(left: number, { reserve = 100 * MIB, size = 100 * 2 ** 30 } = {}) {
  vi.useFakeTimers()
  const space = { left, size }
  const seen: [DiskState, number][] = []
  let read = async () => ({ ...space })
  const disk = await watchDisk({
    folder: '/data',
    reserveBytes: reserve,
    onChange: (state, { left, reserve }) => seen.push([state, reserve === left ? 0 : left]),
    read: () => read(),
  })
  return {
    disk,
    seen,
    async set(next: number) {
      space.left = next
      await vi.advanceTimersByTimeAsync(1_000)
      return disk.state()
    },
    fail() {
      read = async () => Promise.reject(new Error('EIO'))
    },
  }
}

test('the state changes at one and at four reserves, and back with some distance', async () => {
  const { disk, seen, set } = await watch(500 * MIB)
  expect(disk.state()).toBe('ample')
  expect(await set(400 * MIB)).toBe('ample')
  expect(await set(399 * MIB)).toBe('low')
  expect(await set(430 * MIB)).toBe('low')
  expect(await set(100 * MIB)).toBe('low')
  expect(await set(99 * MIB)).toBe('full')
  expect(await set(109 * MIB)).toBe('full')
  expect(await set(111 * MIB)).toBe('low')
  expect(await set(441 * MIB)).toBe('ample')
  expect(await set(0)).toBe('full')
  expect(seen.map(([state]) => state)).toEqual(['low', 'full', 'low', 'ample', 'full'])
  disk.stop()
})

test('a full disk is reported at the start', async () => {
  const { disk, seen } = await watch(MIB)
  expect(seen).toEqual([['full', MIB]])
  disk.stop()
})

test('the reserve is at most a tenth of the disk, and 0 is none', async () => {
  const small = await watch(11 * MIB, { size: 100 * MIB })
  expect(small.disk.state()).toBe('low')
  expect(await small.set(9 * MIB)).toBe('full')
  small.disk.stop()
  const none = await watch(0, { reserve: 0 })
  expect(none.disk.state()).toBe('ample')
  none.disk.stop()
})

test('a disk that can not be read keeps its state', async () => {
  const { disk, set, fail } = await watch(50 * MIB)
  fail()
  expect(await set(500 * MIB)).toBe('full')
  disk.stop()
  expect(vi.getTimerCount()).toBe(0)
})

test('a full disk stores nothing, and everything else goes on', async () => {
  let state: DiskState = 'full'
  const called: string[] = []
  const thread = keepReserve(
    {
      call: (async (name: string) => {
        called.push(name)
      }) as never,
      fault: () => undefined,
      close: async () => {},
    },
    { state: () => state } satisfies Pick<Disk, 'state'>,
  )
  const refused = await thread.call('append', [] as never).catch((error) => error)
  expect(refused).toMatchObject({ name: 'Unavailable', retryAfterSeconds: 30 })
  await expect(thread.call('createCampaign', {} as never)).rejects.toThrow('disk')
  await thread.call('removeEvents', [])
  await thread.call('clearWal')
  expect(called).toEqual(['removeEvents', 'clearWal'])
  expect(thread.fault()).toMatch(/^the disk is full: .*DISK_RESERVE_BYTES/)
  state = 'low'
  expect(thread.fault()).toBeUndefined()
  await thread.call('append', [] as never)
  expect(called.at(-1)).toBe('append')
})

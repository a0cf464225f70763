import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSemaphore, type Semaphore, TooMany } from './semaphore.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const LIMITS = { permits: 4, maxWaiting: 6, waitMs: 1_000, message: 'Too many here' }

/** Acquires permits, each under a name, and records in which order they were given. */
function watch(semaphore: Semaphore = createSemaphore(LIMITS)) {
  const begun: string[] = []
  const refused: string[] = []
  const releases = new Map<string, () => void>()
  async function acquire(owner: string, name: string) {
    await semaphore.acquire(owner).then(
      (release) => {
        begun.push(name)
        releases.set(name, release)
      },
      (error) => {
        expect(error).toBeInstanceOf(TooMany)
        expect(error).toMatchObject({ message: 'Too many here', retryAfterSeconds: 1 })
        refused.push(name)
      },
    )
  }
  return {
    begun,
    refused,
    /** Acquires without waiting for the permit. */
    async ask(owner: string, name: string) {
      void acquire(owner, name)
      await vi.advanceTimersByTimeAsync(0)
    },
    async release(...names: string[]) {
      for (const name of names) releases.get(name)?.()
      await vi.advanceTimersByTimeAsync(0)
    },
  }
}

test('one owner gets half of the permits, in its own order; the others get the rest', async () => {
  const { ask, release, begun } = watch()
  for (const name of ['a1', 'a2', 'a3', 'a4']) await ask('a', name)
  expect(begun).toEqual(['a1', 'a2'])
  for (const name of ['b1', 'b2', 'b3']) await ask('b', name)
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2'])
  await release('b1')
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2', 'b3'])
  // Only the first call of a release counts.
  await release('a1', 'a1', 'a1')
  expect(begun.slice(5)).toEqual(['a3'])
  await release('a2')
  expect(begun.slice(6)).toEqual(['a4'])
})

test('owners are served in turn, and a new one joins at the end', async () => {
  const { ask, release, begun } = watch(createSemaphore({ ...LIMITS, permits: 2, maxWaiting: 20 }))
  for (const name of ['a1', 'a2', 'a3']) await ask('a', name)
  for (const name of ['b1', 'b2', 'b3']) await ask('b', name)
  for (const name of ['c1', 'c2', 'c3']) await ask('c', name)
  for (let at = 0; at < 9; at++) await release(begun[at] as string)
  expect(begun).toEqual(['a1', 'b1', 'a2', 'b2', 'c1', 'a3', 'b3', 'c2', 'c3'])
})

test('a full queue refuses at once, and one owner fills at most half of it', async () => {
  const { ask, release, begun, refused } = watch()
  for (let i = 1; i <= 6; i++) await ask('a', `a${i}`)
  expect(refused).toEqual(['a6'])
  for (let i = 1; i <= 5; i++) await ask('b', `b${i}`)
  expect(refused).toEqual(['a6'])
  await ask('c', 'c1')
  expect(refused).toEqual(['a6', 'c1'])
  await release('a1')
  await ask('c', 'c2')
  await release('a2', 'a3', 'b1')
  expect(begun).toContain('c2')
})

test('a caller that has waited too long is refused and leaves the queue', async () => {
  const { ask, release, begun, refused } = watch()
  for (const name of ['a1', 'a2', 'a3']) await ask('a', name)
  await vi.advanceTimersByTimeAsync(999)
  await ask('a', 'a4')
  expect(refused).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(refused).toEqual(['a3'])
  await release('a1')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(begun).toEqual(['a1', 'a2', 'a4'])
  expect(refused).toEqual(['a3'])
  expect(vi.getTimerCount()).toBe(0)
})

test('without limits of the queue every caller waits for its turn', async () => {
  const { ask, release, begun, refused } = watch(
    createSemaphore({ permits: 1, message: 'Too many here' }),
  )
  for (let i = 1; i <= 100; i++) await ask('a', `a${i}`)
  await vi.advanceTimersByTimeAsync(3_600_000)
  for (let i = 1; i < 100; i++) await release(`a${i}`)
  expect(begun).toHaveLength(100)
  expect(refused).toEqual([])
})

test('one owner may get fewer permits than half', async () => {
  const { ask, release, begun } = watch(createSemaphore({ ...LIMITS, permitsOfOne: 1 }))
  for (const name of ['a1', 'a2', 'b1', 'c1', 'd1']) await ask(name[0] as string, name)
  expect(begun).toEqual(['a1', 'b1', 'c1', 'd1'])
  await release('b1')
  expect(begun).not.toContain('a2')
  await release('a1')
  expect(begun).toContain('a2')
})

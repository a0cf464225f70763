import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPlaces, type Places, TooMany, type Wanted } from './semaphore.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const LIMITS = { max: 4, maxWaiting: 6, waitMs: 1_000, message: 'Too many here' }

/** Takes places under a name each, and tells in which order they were given. */
function watch(places: Places = createPlaces(LIMITS)) {
  const begun: string[] = []
  const refused: string[] = []
  const given = new Map<string, () => void>()
  async function take(owner: string, name: string, wanted?: Wanted) {
    await places.take(owner, wanted).then(
      (release) => {
        begun.push(name)
        given.set(name, release)
      },
      (error) => {
        expect(error).toBeInstanceOf(TooMany)
        expect(error).toMatchObject({ message: 'Too many here', retryAfterSeconds: 1 })
        refused.push(name)
      },
    )
  }
  return {
    ...{ begun, refused },
    /** Takes without waiting for it. */
    async ask(owner: string, name: string, wanted?: Wanted) {
      void take(owner, name, wanted)
      await vi.advanceTimersByTimeAsync(0)
    },
    async giveBack(...names: string[]) {
      for (const name of names) given.get(name)?.()
      await vi.advanceTimersByTimeAsync(0)
    },
  }
}

test('one owner has half of the places, in its order; the others have the rest', async () => {
  const { ask, giveBack, begun } = watch()
  for (const name of ['a1', 'a2', 'a3', 'a4']) await ask('a', name)
  expect(begun).toEqual(['a1', 'a2'])
  for (const name of ['b1', 'b2', 'b3']) await ask('b', name)
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2'])
  await giveBack('b1')
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2', 'b3'])
  await giveBack('a1', 'a1', 'a1')
  expect(begun.slice(5)).toEqual(['a3'])
  await giveBack('a2')
  expect(begun.slice(6)).toEqual(['a4'])
})

test('owners are served in turn, who comes last joins at the end', async () => {
  const { ask, giveBack, begun } = watch(createPlaces({ ...LIMITS, max: 2, maxWaiting: 20 }))
  for (const name of ['a1', 'a2', 'a3']) await ask('a', name)
  for (const name of ['b1', 'b2', 'b3']) await ask('b', name)
  for (const name of ['c1', 'c2', 'c3']) await ask('c', name)
  for (let at = 0; at < 9; at++) await giveBack(begun[at] as string)
  expect(begun).toEqual(['a1', 'b1', 'a2', 'b2', 'c1', 'a3', 'b3', 'c2', 'c3'])
})

test('who finds too many waiting is refused at once, one owner at half of the line', async () => {
  const { ask, giveBack, begun, refused } = watch()
  for (let i = 1; i <= 6; i++) await ask('a', `a${i}`)
  expect(refused).toEqual(['a6'])
  for (let i = 1; i <= 5; i++) await ask('b', `b${i}`)
  expect(refused).toEqual(['a6'])
  await ask('c', 'c1')
  expect(refused).toEqual(['a6', 'c1'])
  await giveBack('a1')
  await ask('c', 'c2')
  await giveBack('a2', 'a3', 'b1')
  expect(begun).toContain('c2')
})

test('who waits long is refused, and its place in the line is free again', async () => {
  const { ask, giveBack, begun, refused } = watch()
  for (const name of ['a1', 'a2', 'a3']) await ask('a', name)
  await vi.advanceTimersByTimeAsync(999)
  await ask('a', 'a4')
  expect(refused).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(refused).toEqual(['a3'])
  await giveBack('a1')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(begun).toEqual(['a1', 'a2', 'a4'])
  expect(refused).toEqual(['a3'])
  expect(vi.getTimerCount()).toBe(0)
})

test('who wants much is not passed by, and in the end lets the others through', async () => {
  const { ask, giveBack, begun, refused } = watch(createPlaces({ ...LIMITS, max: 10 }))
  await ask('a', 'a1', { weight: 4 })
  await ask('b', 'b1', { weight: 4 })
  await ask('c', 'c1', { weight: 5 })
  await ask('d', 'd1')
  expect(begun).toEqual(['a1', 'b1'])
  await giveBack('a1')
  expect(begun).toEqual(['a1', 'b1', 'c1', 'd1'])
  await ask('a', 'a2', { weight: 3 })
  await ask('e', 'e1', { weight: 0 })
  await vi.advanceTimersByTimeAsync(1_000)
  expect(refused).toEqual(['a2', 'e1'])
  await giveBack('b1')
  await ask('e', 'e2', { weight: 1_000 })
  await giveBack('c1', 'd1')
  expect(begun.at(-1)).toBe('e2')
})

test('a patient one waits beside the bounds', async () => {
  const { ask, giveBack, begun, refused } = watch()
  for (let i = 1; i <= 5; i++) await ask('a', `a${i}`)
  await ask('a', 'patient', { isPatient: true })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(refused).toEqual(['a3', 'a4', 'a5'])
  await giveBack('a1')
  expect(begun).toEqual(['a1', 'a2', 'patient'])
})

test('places are an owner’s until the last of them is given back', async () => {
  const { ask, giveBack, begun } = watch()
  await ask('a', 'a1', { weight: 0 })
  await ask('a', 'a2', { weight: 0 })
  await giveBack('a1')
  await ask('a', 'a3', { weight: 2 })
  await ask('a', 'a4', { isPatient: true })
  await giveBack('a2')
  await giveBack('a3')
  expect(begun).toEqual(['a1', 'a2', 'a3', 'a4'])
})

import { expect, test, vi } from 'vitest'
import { createBreakers } from './breaker.ts'

/** Breakers of three partitions, of which the test says which can be written. */
function start() {
  const works = [true, true, true]
  const changes: [number, boolean][] = []
  const breakers = createBreakers({
    partitions: 3,
    probe: async (partition) => works[partition] ?? false,
    onChange: (...change) => void changes.push(change),
    probeMs: 1,
  })
  return { works, changes, breakers }
}

test('a partition is closed off after a time-out, until a probe succeeds', async () => {
  const { works, changes, breakers } = start()
  works[1] = false
  breakers.open(1)
  expect([0, 1, 2].map(breakers.isOpen)).toEqual([false, true, false])
  expect(breakers.areAllOpen()).toBe(false)
  expect(await breakers.probe()).toBe(true)
  breakers.open(1)
  works[1] = true
  await vi.waitFor(() => expect(breakers.isOpen(1)).toBe(false))
  expect(changes).toEqual([
    [1, true],
    [1, false],
  ])
  breakers.stop()
})

test('one time-out shows that no partition can be written, and each is opened by itself', async () => {
  const { works, breakers } = start()
  works.fill(false)
  breakers.open(0)
  await vi.waitFor(() => expect(breakers.areAllOpen()).toBe(true))
  expect(await breakers.probe()).toBe(false)
  works[2] = true
  await vi.waitFor(() => expect([0, 1, 2].map(breakers.isOpen)).toEqual([true, true, false]))
  works.fill(true)
  await vi.waitFor(() => expect([0, 1, 2].map(breakers.isOpen)).toEqual([false, false, false]))
  breakers.stop()
})

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLocks } from '../../test/locks.ts'
import { createMemoryStorage } from '../../test/storage.ts'
import { createStore } from './storage.ts'
import { createTabLock, type Locks } from './tabLock.ts'

const NAME = 'track.turn'
const nowhere = createStore(() => null as never)

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** The tab lock of a page with this lock manager. */
const lockOf = (locks: Locks | undefined, store = nowhere) => createTabLock(() => locks, store)

/** A function for the tab lock, which runs until `end` is called. */
function openRun() {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const run = vi.fn(() => ended)
  return { run, end: () => end() }
}

test('one tab gets the lock, the other does not', async () => {
  const { openTab, isHeld } = createLocks()
  const [a, b] = [lockOf(openTab()), lockOf(openTab())]
  const { run, end } = openRun()
  const first = a(run)
  const other = vi.fn(async () => {})
  expect(await b(other)).toBe(false)
  expect(other).not.toHaveBeenCalled()
  end()
  expect(await first).toBe(true)
  expect(isHeld(NAME)).toBe(false)
  expect(await b(other)).toBe(true)
  expect(other).toHaveBeenCalledOnce()
})

test('a closed tab releases the lock', async () => {
  const { openTab } = createLocks()
  const tab = openTab()
  const { run } = openRun()
  void lockOf(tab)(run)
  await vi.advanceTimersByTimeAsync(0)
  expect(run).toHaveBeenCalledOnce()
  const withTabLock = lockOf(openTab())
  expect(await withTabLock(async () => {})).toBe(false)
  tab.close()
  expect(await withTabLock(async () => {})).toBe(true)
})

test.each<[string, unknown]>([
  ['rejects', { request: () => Promise.reject(new DOMException('denied', 'SecurityError')) }],
  [
    'throws',
    {
      request() {
        throw new DOMException('denied', 'SecurityError')
      },
    },
  ],
  ['is no function', {}],
  ['is missing', undefined],
  ['is null', null],
])('if the lock %s, a lease is used', async (_, locks) => {
  const store = createStore(() => storage)
  const storage = createMemoryStorage()
  const withTabLock = lockOf(locks as Locks | undefined, store)
  const { run, end } = openRun()
  const first = withTabLock(run)
  await vi.advanceTimersByTimeAsync(0)
  expect(run).toHaveBeenCalledOnce()
  expect(Number(store.get(NAME)) - Date.now()).toBe(40_000)
  expect(await lockOf(undefined, store)(async () => {})).toBe(false)
  end()
  expect(await first).toBe(true)
  expect(store.names()).toEqual([])
})

test('without locks and without storage the function is run', async () => {
  const run = vi.fn(async () => {})
  expect(await lockOf(undefined, nowhere)(run)).toBe(true)
  expect(run).toHaveBeenCalledOnce()
})

test.each([
  ['held, 1 ms before it expires', () => Date.now() + 1, false],
  ['held, just taken', () => Date.now() + 40_000, false],
  ['expired', () => Date.now(), true],
  ['long expired', () => 0, true],
  ['of a clock that is 1 ms too far ahead', () => Date.now() + 40_001, true],
  ['of a clock that is years ahead', () => Date.now() + 1e12, true],
  ['nonsense', () => 'soon', true],
  ['empty', () => '', true],
  ['that is not a number', () => 'NaN', true],
  ['without end', () => 'Infinity', true],
])('a lease %s', async (_, until, isFree) => {
  const storage = createMemoryStorage()
  const store = createStore(() => storage)
  store.set(NAME, `${until()}`)
  const run = vi.fn(async () => {})
  expect(await lockOf(undefined, store)(run)).toBe(isFree)
  expect(run).toHaveBeenCalledTimes(isFree ? 1 : 0)
})

test('the lease of a crashed tab expires', async () => {
  const storage = createMemoryStorage()
  const store = createStore(() => storage)
  void lockOf(undefined, store)(openRun().run)
  await vi.advanceTimersByTimeAsync(40_000)
  const run = vi.fn(async () => {
    expect(store.get(NAME)).toBe(`${Date.now() + 40_000}`)
  })
  expect(await lockOf(undefined, store)(run)).toBe(true)
  expect(run).toHaveBeenCalledOnce()
})

test.each(['locks', 'a lease'])(
  'with %s, a page that asks every 4 to 8 s waits less than 15 s for a lock that is never released',
  async (kind) => {
    const { openTab } = createLocks()
    const storage = createMemoryStorage()
    const store = createStore(() => storage)
    const open = () => lockOf(kind === 'locks' ? openTab() : undefined, store)
    void open()(openRun().run)
    await vi.advanceTimersByTimeAsync(0)
    const withTabLock = open()
    const run = vi.fn(async () => {})
    expect(await withTabLock(run)).toBe(false)
    await vi.advanceTimersByTimeAsync(6999)
    expect(await withTabLock(run)).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    const lease = store.get(NAME)
    expect(await withTabLock(run)).toBe(true)
    expect(run).toHaveBeenCalledOnce()
    // The other page's lease stays, and the next wait is as long as the first.
    expect(store.get(NAME)).toBe(lease)
    expect(await withTabLock(run)).toBe(false)
  },
)

test('if the lock manager does not answer within 15 s, the function is run, and a late answer is ignored', async () => {
  const { openTab, isHeld } = createLocks()
  const tab = openTab()
  let grant = () => {}
  const silent: Locks = {
    request: (...asked) =>
      new Promise((resolve) => {
        grant = () => resolve(tab.request(...asked))
      }),
  }
  const withTabLock = lockOf(silent)
  const { run, end } = openRun()
  const first = withTabLock(run)
  await vi.advanceTimersByTimeAsync(14_999)
  expect(run).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(run).toHaveBeenCalledOnce()
  grant()
  end()
  expect(await first).toBe(true)
  await vi.advanceTimersByTimeAsync(0)
  expect(isHeld(NAME)).toBe(false)
  expect(vi.getTimerCount()).toBe(0)
})

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLocks } from '../test/locks.ts'
import { leaveBehind, openPage, pass, type Request } from '../test/page.ts'
import { createMemoryStorage } from '../test/storage.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }))
afterEach(() => void vi.useRealTimers())

const sum = (requests: readonly Request[]) => requests.flatMap(({ names }) => names)

// Leaving the page.

test('when the page is left, events that were not sent yet are sent, if they fit', async () => {
  const { track, flush, requests } = openPage()
  const names = Array.from({ length: 500 }, () => track())
  flush.leave()
  expect(requests.every(({ keepalive }) => keepalive)).toBe(true)
  // 150 events of 400 bytes are 60,000 bytes.
  expect(sum(requests)).toEqual(names.slice(0, 150))
})

test('a hidden tab obeys the backoff, except once', async () => {
  const { track, flush, requests } = openPage({ always: 503 })
  track()
  await pass(0)
  flush.leave()
  await pass(0)
  for (let i = 0; i < 5; i++) track()
  await pass(0)
  expect(requests).toHaveLength(1)
})

test('an event in an open request is not sent again', () => {
  const { track, flush, requests } = openPage()
  track()
  flush.leave()
  flush.leave()
  expect(requests).toHaveLength(1)
})

test('events tracked while the page is left are sent at once, however many requests are open', () => {
  const { track, flush, requests } = openPage()
  flush.leave()
  const names = Array.from({ length: 20 }, () => track())
  expect(requests).toHaveLength(20)
  expect(sum(requests)).toEqual(names)
})

test('a failed event is sent once more when the page is left, in spite of the backoff', async () => {
  const { track, flush, requests } = openPage()
  const name = track()
  await pass(0)
  await requests[0]?.answer(503)
  await pass(1001)
  flush.leave()
  expect(requests[1]).toMatchObject({ names: [name], keepalive: true })
  await requests[1]?.answer(503)
  expect(requests).toHaveLength(2)
})

test('an event that has just failed is not sent again when the page is left', async () => {
  const { track, flush, requests } = openPage()
  track()
  await pass(0)
  await requests[0]?.answer(0)
  flush.leave()
  expect(requests).toHaveLength(1)
})

test('the next page sends an event that did not fit', async () => {
  const storage = createMemoryStorage()
  const { track, flush, requests } = openPage({ storage })
  flush.leave()
  const big = track(100_000)
  expect(requests).toEqual([])
  const next = openPage({ storage })
  await pass(5000)
  next.flush.resume()
  await pass(0)
  expect(sum(next.requests)).toEqual([big])
})

test('a tab shown again sends as before', async () => {
  const { track, flush, requests } = openPage()
  flush.leave()
  flush.resume()
  for (let i = 0; i < 5; i++) track()
  expect(requests).toEqual([])
  await pass(0)
  expect(requests).toHaveLength(1)
})

test('a page that is only hidden sends events together again from its next task on', async () => {
  const { track, flush, requests } = openPage()
  flush.leave()
  await pass(0)
  for (let i = 0; i < 5; i++) track()
  await pass(0)
  expect(requests.map(({ names }) => names.length)).toEqual([5])
})

test('the page is hidden while the gateway is down: an event that has just failed is not sent again', async () => {
  const { track, flush, requests } = openPage({ always: 503 })
  track()
  await pass(0)
  flush.leave()
  track()
  await pass(0)
  expect(requests).toHaveLength(2)
  expect(new Set(requests.map(({ names }) => names.join())).size).toBe(2)
})

// Events of other pages.

test('events of an earlier page are sent together, in order, without keepalive', async () => {
  const { storage, names } = await leaveBehind(100)
  const { flush, requests, outbox } = openPage({ storage, always: 200 })
  flush.resume()
  await pass(0)
  expect(requests).toMatchObject([{ names, keepalive: false }])
  expect(outbox.all()).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('one request at a time', async () => {
  const { storage } = await leaveBehind(400)
  const { flush, requests } = openPage({ storage })
  flush.resume()
  for (let i = 0; i < 3; i++) {
    await pass(1000)
    expect(requests).toHaveLength(i + 1)
    await requests[i]?.answer()
  }
  expect(sum(requests)).toHaveLength(400)
})

test('fresh events do not wait for that request', async () => {
  const { storage } = await leaveBehind(1)
  const { flush, requests, track } = openPage({ storage })
  flush.resume()
  await pass(0)
  track()
  await pass(0)
  expect(requests).toHaveLength(2)
})

test('events of another page are left alone for their first 4 s', async () => {
  const storage = createMemoryStorage()
  const first = openPage({ storage })
  const name = first.track()
  const { flush, requests } = openPage({ storage })
  flush.resume()
  await pass(4000)
  expect(requests).toEqual([])
  await pass(4000)
  expect(sum(requests)).toEqual([name])
})

test('an event from the future (the clock was set back) is sent at once', async () => {
  const { storage, names } = await leaveBehind(1, { ageMs: -86_400_000 })
  const { flush, requests } = openPage({ storage })
  flush.resume()
  await pass(0)
  expect(sum(requests)).toEqual(names)
})

test.each([
  [30, {}, true],
  [30.01, {}, false],
  [6.9, { maxAgeDays: 7 }, true],
  [7.1, { maxAgeDays: 7 }, false],
  [7.1, { maxAgeDays: '7' as never }, false],
  // The clock was decades behind when the event happened, and was corrected since.
  [20_000, {}, true],
])('an event of %d days under %j', async (days, more, isSent) => {
  const { storage, names } = await leaveBehind(1, { ageMs: days * 86_400_000 })
  const { flush, requests, settled, outbox } = openPage({ storage, keys: [more], always: 200 })
  flush.resume()
  await pass(0)
  expect(requests).toHaveLength(isSent ? 1 : 0)
  expect(outbox.all()).toEqual([])
  expect(settled).toMatchObject([
    isSent ? { kind: 'delivered' } : { kind: 'dropped', id: names[0], reason: 'too_old' },
  ])
})

test('events of other keys are not sent or dropped; a key that joins sends its own', async () => {
  const { storage, names } = await leaveBehind(3, { key: 'OTHERKEY', ageMs: 86_400_000 * 40 })
  const { flush, requests, outbox, track, addKey } = openPage({ storage, always: 200 })
  flush.resume()
  track()
  await pass(600_000)
  expect(requests).toHaveLength(1)
  expect(outbox.all()).toHaveLength(3)
  addKey({ key: 'OTHERKEY', maxAgeDays: 60 })
  flush.resume()
  await pass(0)
  expect(requests[1]).toMatchObject({ key: 'OTHERKEY', names })
  expect(outbox.all()).toEqual([])
})

// Several tabs.

test.each(['locks', 'a lease'])(
  'with %s one tab sends, and the other tries later',
  async (kind) => {
    const { storage, names } = await leaveBehind(2)
    const { openTab } = createLocks()
    const locks = () => (kind === 'locks' ? openTab() : undefined)
    const [a, b] = [openPage({ storage, locks: locks() }), openPage({ storage, locks: locks() })]
    a.flush.resume()
    await pass(0)
    b.flush.resume()
    await pass(3000)
    expect([a.requests.length, b.requests.length]).toEqual([1, 0])
    // The event without a verdict is sent again by one of the two pages.
    await a.requests[0]?.answer(200, { verdicts: [{ id: names[0] as string, status: 200 }] })
    await pass(10_000)
    expect(sum([...a.requests.slice(1), ...b.requests])).toContain(names[1])
  },
)

test('if the tab that holds the lock is closed, another sends', async () => {
  const { storage, names } = await leaveBehind(2)
  const { openTab } = createLocks()
  const closing = openTab()
  const a = openPage({ storage, locks: closing })
  a.flush.resume()
  await pass(0)
  const b = openPage({ storage, locks: openTab(), always: 200 })
  b.flush.resume()
  await pass(0)
  closing.close()
  await pass(8000)
  expect(sum(b.requests)).toEqual(names)
  expect(b.outbox.all()).toEqual([])
})

test('three tabs with 100 events each: every event is sent once', async () => {
  const storage = createMemoryStorage()
  const { openTab } = createLocks()
  const tabs = [1, 2, 3].map(() => openPage({ storage, locks: openTab(), always: 200 }))
  const names: string[] = []
  for (let i = 0; i < 100; i++) for (const tab of tabs) names.push(tab.track())
  await pass(60_000)
  expect(tabs.flatMap(({ requests }) => sum(requests)).sort()).toEqual(names.sort())
  expect(storage).toHaveLength(0)
})

// flush()

test.each([
  ['locks', createLocks().openTab()],
  ['a lease', undefined],
])(
  'flush resolves with the numbers of delivered, dropped and kept events, with %s',
  async (_, locks) => {
    const { storage } = await leaveBehind(3)
    const { flush, track, outbox } = openPage({ storage, locks, always: 200 })
    track()
    expect(await flush.all()).toEqual({ delivered: 4, dropped: 0, kept: 0 })
    expect(outbox.all()).toEqual([])
    expect(await flush.all()).toEqual({ delivered: 0, dropped: 0, kept: 0 })
  },
)

test('flush sends events of other pages', async () => {
  const { storage } = await leaveBehind(3)
  const { flush } = openPage({ storage, locks: createLocks().openTab(), always: 200 })
  expect(await flush.all()).toEqual({ delivered: 3, dropped: 0, kept: 0 })
})

test('flush waits for open requests and those that follow', async () => {
  const { storage } = await leaveBehind(400)
  const { flush, track, requests } = openPage({ storage })
  flush.resume()
  for (let i = 0; i < 50; i++) track()
  const result = flush.all()
  await pass(0)
  for (let i = 0; i < requests.length; i++) await requests[i]?.answer()
  expect(await result).toEqual({ delivered: 450, dropped: 0, kept: 0 })
})

test('flush ignores the backoff, once', async () => {
  const { flush, track, requests, questions } = openPage({ always: 503 })
  track()
  await pass(0)
  expect(await flush.all()).toEqual({ delivered: 0, dropped: 0, kept: 1 })
  expect([requests.length, questions.length]).toEqual([1, 1])
})

test('flush counts drops, and no events of other keys', async () => {
  const { storage } = await leaveBehind(2, { ageMs: 31 * 86_400_000 })
  const other = await leaveBehind(1, { key: 'OTHERKEY' })
  for (const name of Object.keys(other.storage))
    storage.setItem(name, other.storage.getItem(name) ?? '')
  const { flush, track } = openPage({ storage, always: 422 })
  track()
  expect(await flush.all()).toEqual({ delivered: 0, dropped: 3, kept: 0 })
})

test.each(['locks', 'a lease'])(
  'flush resolves while another tab holds the lock, %s',
  async (kind) => {
    const { storage } = await leaveBehind(2)
    const { openTab } = createLocks()
    const locks = () => (kind === 'locks' ? openTab() : undefined)
    const a = openPage({ storage, locks: locks() })
    a.flush.resume()
    await pass(0)
    expect(a.requests).toHaveLength(1)
    const b = openPage({ storage, locks: locks(), always: 200 })
    b.track()
    expect(await b.flush.all()).toEqual({ delivered: 1, dropped: 0, kept: 2 })
    expect(sum(b.requests)).toHaveLength(1)
  },
)

test('storage cleared between two requests: the page’s own events are still sent', async () => {
  const storage = createMemoryStorage()
  const { track, requests, outbox } = openPage({ storage })
  const name = track()
  await pass(0)
  await requests[0]?.answer(503)
  storage.clear()
  await pass(2000)
  expect(requests[1]?.names).toEqual([name])
  await requests[1]?.answer()
  expect(outbox.all()).toEqual([])
})

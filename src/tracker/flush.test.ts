import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { leaveBehind, openPage, pass, type Request, verdictsOf } from '../test/page.ts'
import { uuid7 } from './lib/uuid.ts'
import type { Entry } from './outbox.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }))
afterEach(() => void vi.useRealTimers())

const sum = (requests: readonly Request[]) => requests.flatMap(({ names }) => names)

// Fresh events.

test('the events of a task are sent in one request before the next task, with keepalive', async () => {
  const { track, requests, outbox, settled } = openPage()
  let isNextTask = false
  setImmediate(() => {
    isNextTask = true
  })
  const names = Array.from({ length: 100 }, () => track())
  // Calls with some awaits between them.
  for (let n = 0; n < 10; n++) {
    await (async () => await Promise.resolve())()
    names.push(track())
  }
  for (let n = 0; n < 20; n++) await null
  expect(isNextTask).toBe(false)
  expect(requests).toMatchObject([{ names, keepalive: true, key: 'DEMOSHOP' }])
  await requests[0]?.answer()
  expect(outbox.all()).toEqual([])
  expect(settled.filter(({ kind }) => kind === 'delivered')).toHaveLength(110)
})

test('an event has a notice when its request starts, and again when that is repeated', async () => {
  const { track, requests, questions, sent, settled, held } = openPage({
    holdsQuestions: true,
  })
  const about = { operation: 'search', from: 'call', where: 'form' } as const
  const id = track(300, 'DEMOSHOP', about)
  expect(sent).toEqual([])
  await pass(0)
  expect(requests).toHaveLength(1)
  const notice = { id, key: 'DEMOSHOP', ...about }
  expect(sent).toEqual([notice])
  await requests[0]?.answer(503)
  expect(held).toEqual([{ ...notice, status: 503 }])
  // A question sends no event.
  await pass(2000)
  expect(questions).toHaveLength(1)
  expect(sent).toHaveLength(1)
  await questions[0]?.answer(207, { verdicts: [{ id, status: 404 }] })
  expect(requests).toHaveLength(2)
  expect(sent).toEqual([notice, notice])
  await requests[1]?.answer()
  expect(settled).toEqual([{ kind: 'delivered', ...notice }])
})

test('at most two requests are open; events of later tasks are sent together', async () => {
  const { track, requests, outbox } = openPage()
  const names: string[] = []
  for (let task = 0; task < 10; task++) {
    for (let n = 0; n < 10; n++) names.push(track())
    await pass(0)
  }
  expect(requests.map(({ names }) => names.length)).toEqual([10, 10])
  await requests[0]?.answer()
  expect(requests.map(({ names }) => names.length)).toEqual([10, 10, 80])
  expect(sum(requests)).toEqual(names)
  await requests[1]?.answer()
  await requests[2]?.answer()
  expect(outbox.all()).toEqual([])
})

test('a service without batches gets one event a request, two at a time', async () => {
  const held = openPage({ keys: [{ batch: false }] })
  for (let i = 0; i < 10; i++) held.track()
  await pass(0)
  expect(held.requests).toHaveLength(2)
  const { track, requests } = openPage({ keys: [{ batch: false }], always: 200 })
  for (let i = 0; i < 10; i++) track()
  await pass(0)
  expect(requests.map(({ names }) => names.length)).toEqual(Array(10).fill(1))
})

test('a burst above the keepalive quota is sent in as few requests as possible', async () => {
  const { track, requests } = openPage()
  const names = Array.from({ length: 40 }, () => track(5000))
  await pass(0)
  // 11 events of 5,100 bytes are below 60,000. The others wait for the answer.
  for (let i = 0; i < 4; i++) {
    expect(requests).toHaveLength(i + 1)
    await requests[i]?.answer()
  }
  expect(requests.map(({ names }) => names.length)).toEqual([11, 11, 11, 7])
  expect(requests.every(({ keepalive }) => keepalive)).toBe(true)
  expect(sum(requests)).toEqual(names)
})

test('sizes are bytes of UTF-8', async () => {
  const { outbox, flush, requests } = openPage()
  for (let i = 0; i < 9; i++)
    outbox.add({
      name: uuid7(1),
      at: Date.now(),
      key: 'DEMOSHOP',
      body: `{"x":"${'語'.repeat(5000)}"}`,
    })
  flush.fresh()
  await pass(0)
  // Each event has 5,000 characters of 3 bytes.
  expect(requests.filter(({ keepalive }) => keepalive).map(({ names }) => names.length)).toEqual([
    3,
  ])
})

test('a big event is sent without keepalive', async () => {
  const { track, requests } = openPage()
  track(100_000)
  track(300)
  await pass(0)
  expect(requests.map(({ keepalive }) => keepalive)).toEqual([false, true])
})

test('with two keys on a page, each request has all events of one key', async () => {
  const { track, requests } = openPage({ keys: [{}, { key: 'OTHERKEY' }] })
  for (let i = 0; i < 50; i++) {
    track()
    track(300, 'OTHERKEY')
  }
  await pass(0)
  for (let i = 0; i < requests.length; i++) await requests[i]?.answer()
  expect(sum(requests)).toHaveLength(100)
  expect(requests).toHaveLength(2)
  for (const { key, names } of requests)
    expect(names.every((name) => name.endsWith('OTHERKEY') === (key === 'OTHERKEY'))).toBe(true)
})

test('a single event costs one request, and no timer is left', async () => {
  const { track, requests } = openPage()
  track()
  await pass(0)
  await requests[0]?.answer()
  expect(vi.getTimerCount()).toBe(0)
  await pass(3_600_000)
  expect(requests).toHaveLength(1)
})

// Failures.

test('after a failure nothing is sent until the backoff is over, then everything', async () => {
  const { track, requests, outbox } = openPage()
  const first = track()
  await pass(0)
  await requests[0]?.answer(503)
  const more = Array.from({ length: 5 }, () => track())
  await pass(999)
  expect(requests).toHaveLength(1)
  await pass(1001)
  for (let i = 1; i < requests.length; i++) await requests[i]?.answer()
  expect(new Set(sum(requests.slice(1)))).toEqual(new Set([first, ...more]))
  expect(outbox.all()).toEqual([])
  await pass(10_000)
  expect(vi.getTimerCount()).toBe(0)
})

test.each([0, 0.5, 0.999])('the backoff doubles up to 120 s, jitter %d', async (random) => {
  vi.spyOn(Math, 'random').mockReturnValue(random)
  const { track, requests } = openPage({ always: 503 })
  track()
  await pass(1_200_000)
  vi.mocked(Math.random).mockRestore()
  const waits = requests.slice(1).map(({ at }, i) => at - (requests[i] as Request).at)
  const expected = [2, 4, 8, 16, 32, 64, 120, 120, 120].map((s) => s * 1000 * (1 - random / 2))
  waits.slice(0, 9).forEach((ms, i) => {
    expect(Math.abs(ms - (expected[i] as number))).toBeLessThan(2)
  })
})

test('ten minutes of downtime: at most 17 requests, then the event arrives', async () => {
  let status = 0
  const page = openPage({
    always: (entries) => [status, 0, verdictsOf(entries, status)],
  })
  const name = page.track()
  await pass(600_000)
  // 6 waits up to 64 s (126 s without jitter), then one every 60 to 120 s.
  expect(page.requests.length).toBeGreaterThanOrEqual(9)
  expect(page.requests.length).toBeLessThanOrEqual(17)
  status = 200
  await pass(120_000)
  expect(page.outbox.all()).toEqual([])
  expect(page.settled).toMatchObject([{ kind: 'delivered', id: name }])
})

test('ten minutes of downtime with new events: at most two requests for each wait', async () => {
  const page = openPage({ always: 0 })
  for (let second = 0; second < 600; second++) {
    page.track()
    await pass(1000)
  }
  expect(page.requests.length).toBeLessThanOrEqual(34)
  expect(page.outbox.all()).toHaveLength(600)
})

test('Retry-After is obeyed if it is longer than the backoff', async () => {
  const { track, requests } = openPage()
  track()
  await pass(0)
  await requests[0]?.answer(429, { afterMs: 90_000 })
  await pass(89_999)
  expect(requests).toHaveLength(1)
  await pass(1)
  expect(requests).toHaveLength(2)
  await requests[1]?.answer(429, { afterMs: -1 })
  await pass(4000)
  expect(requests).toHaveLength(3)
})

test('success ends the backoff', async () => {
  const { track, requests } = openPage()
  track()
  for (const _ of [1, 2, 3, 4]) {
    await requests.at(-1)?.answer(503)
    await pass(60_000)
  }
  await requests.at(-1)?.answer()
  track()
  const { length } = requests
  await requests.at(-1)?.answer(503)
  await pass(2000)
  expect(requests).toHaveLength(length + 1)
})

test('a burst of new events does not shorten Retry-After', async () => {
  const { track, requests, outbox } = openPage()
  track()
  await pass(0)
  await requests[0]?.answer(429, { afterMs: 60_000 })
  for (let second = 0; second < 59; second++) {
    for (let i = 0; i < 20; i++) track()
    await pass(1000)
  }
  expect(requests).toHaveLength(1)
  await pass(1000)
  for (let i = 1; i < requests.length; i++) await requests[i]?.answer()
  expect(outbox.all()).toEqual([])
})

test.each<[string, (page: ReturnType<typeof openPage>) => unknown]>([
  ['another request succeeds', ({ requests }) => requests[1]?.answer()],
  ['another request fails without a Retry-After', ({ requests }) => requests[1]?.answer(503)],
  [
    'another request fails with a shorter Retry-After',
    ({ requests }) => requests[1]?.answer(503, { afterMs: 3000 }),
  ],
  ['the browser is online again', ({ flush }) => flush.resume()],
  ['the page flushes', ({ flush }) => flush.all()],
])('Retry-After is not shortened: %s', async (_, happens) => {
  const page = openPage()
  page.track()
  page.track()
  await pass(0)
  await page.requests[0]?.answer(503, { afterMs: 60_000 })
  await Promise.race([happens(page), pass(0)])
  const { length } = page.requests
  page.track()
  await pass(59_999)
  expect(page.requests).toHaveLength(length)
  await pass(1)
  expect(page.requests.length).toBeGreaterThan(length)
})

test('after a Retry-After is over, success ends the backoff again', async () => {
  const { track, requests } = openPage()
  track()
  await pass(0)
  await requests[0]?.answer(429, { afterMs: 5000 })
  await pass(5000)
  await requests[1]?.answer()
  track()
  await pass(0)
  track()
  await pass(0)
  await requests[2]?.answer(503)
  await requests[3]?.answer()
  expect(requests).toHaveLength(5)
})

test('events of an earlier page are not sent during a Retry-After', async () => {
  const { storage } = await leaveBehind(400)
  const { flush, requests, track } = openPage({ storage })
  flush.resume()
  await pass(0)
  track()
  await pass(0)
  await requests[1]?.answer(429, { afterMs: 60_000 })
  await requests[0]?.answer()
  await pass(59_000)
  expect(requests).toHaveLength(2)
  await pass(1000)
  expect(requests.length).toBeGreaterThan(2)
})

test('online, or a return to the page, ends the backoff', async () => {
  const { track, requests, flush, outbox } = openPage()
  track()
  await pass(0)
  await requests[0]?.answer(0)
  flush.resume()
  await pass(0)
  expect(requests).toHaveLength(2)
  await requests[1]?.answer()
  expect(outbox.all()).toEqual([])
})

test.each([400, 413, 422])('%d is final and does not block other events', async (status) => {
  const { track, requests, outbox, settled } = openPage()
  const bad = track()
  await pass(0)
  const good = track()
  await pass(0)
  await requests[0]?.answer(status)
  await requests[1]?.answer()
  expect(outbox.all()).toEqual([])
  expect(settled).toMatchObject([
    { kind: 'dropped', id: bad, key: 'DEMOSHOP', reason: 'refused', status, message: 'why' },
    { kind: 'delivered', id: good },
  ])
  expect(vi.getTimerCount()).toBe(0)
  track()
  await pass(0)
  expect(requests).toHaveLength(3)
})

test.each([401, 403, 404])('%d is not final: the event is held, with a notice', async (status) => {
  const { track, requests, outbox, settled, held } = openPage()
  const name = track()
  await pass(0)
  await requests[0]?.answer(status)
  expect(outbox.all()).toHaveLength(1)
  expect([settled, held]).toEqual([[], [{ id: name, key: 'DEMOSHOP', status }]])
  await pass(2000)
  await requests[1]?.answer(status)
  await pass(4000)
  await requests[2]?.answer()
  expect(outbox.all()).toEqual([])
  expect(settled).toMatchObject([{ kind: 'delivered', id: name }])
})

test.each([401, 403, 404])('every event of a batch answered %d is held', async (status) => {
  const { storage, names } = await leaveBehind(3)
  const { flush, requests, settled, held } = openPage({ storage })
  flush.resume()
  await pass(0)
  await requests[0]?.answer(status)
  expect([settled, held.map(({ id }) => id)]).toEqual([[], names])
  await pass(2000)
  expect(requests[1]?.names).toEqual(names)
})

test('an event that is held for weeks is dropped when it is too old', async () => {
  const { track, requests, outbox, settled } = openPage({ always: 404 })
  const name = track()
  await pass(29 * 86_400_000)
  expect(outbox.all()).toHaveLength(1)
  expect(requests.length).toBeGreaterThan(100)
  await pass(2 * 86_400_000)
  expect(settled).toMatchObject([{ kind: 'dropped', id: name, reason: 'too_old' }])
  expect(outbox.all()).toEqual([])
})

test('a held event does not block others', async () => {
  // A proxy refuses large bodies.
  const held = (entries: readonly Entry[]) => entries.some(({ body }) => body.length > 5000)
  const page = openPage({
    keys: [{ batch: false }],
    always: (entries) => {
      const status = held(entries) ? 413 : 503
      return [status, 0, []]
    },
  })
  page.track(6000)
  page.track()
  page.track()
  await pass(1000)
  const { storage } = page
  const next = openPage({
    storage,
    keys: [{ batch: false }],
    always: (entries) => {
      const status = held(entries) ? 413 : 200
      return [status, 0, status < 300 ? verdictsOf(entries, status) : []]
    },
  })
  await pass(5000)
  next.flush.resume()
  await pass(60_000)
  expect(next.outbox.all()).toHaveLength(1)
})

test('a held key does not block others', async () => {
  let isDown = true
  const page = openPage({
    keys: [{ key: 'UNKNOWN1' }, {}],
    always: (entries) => {
      const status = entries[0]?.key === 'UNKNOWN1' ? 404 : isDown ? 503 : 200
      return [status, 0, verdictsOf(entries, status)]
    },
  })
  page.track(300, 'UNKNOWN1')
  const name = page.track()
  await pass(10_000)
  isDown = false
  await pass(120_000)
  expect(page.settled).toMatchObject([{ kind: 'delivered', id: name }])
  expect(page.outbox.all()).toMatchObject([{ key: 'UNKNOWN1' }])
})

test('if a part of a batch has verdicts, only the rest is sent again', async () => {
  const { storage, names } = await leaveBehind(3)
  const { flush, requests, settled, outbox } = openPage({ storage })
  flush.resume()
  await pass(0)
  const [a, b, c] = names as [string, string, string]
  await requests[0]?.answer(200, {
    verdicts: [
      { id: c, status: 422, message: 'no' },
      { id: a, status: 200 },
    ],
  })
  expect(outbox.all().map(({ name }) => name)).toEqual([b])
  await pass(2000)
  expect(requests[1]?.names).toEqual([b])
  await requests[1]?.answer()
  expect(settled).toMatchObject([
    { kind: 'delivered', id: a },
    { kind: 'dropped', id: c, reason: 'refused' },
    { kind: 'delivered', id: b },
  ])
})

test.each([413, 400, 422])(
  'a batch answered %d is split until each event has a verdict',
  async (status) => {
    const { storage, names } = await leaveBehind(16)
    const poison = names[5] as string
    const page = openPage({
      storage,
      always: (entries) => {
        const isBad =
          status === 413 ? entries.length > 4 : entries.some(({ name }) => name === poison)
        const answered = isBad ? status : 200
        return [answered, 0, verdictsOf(entries, answered)]
      },
    })
    page.flush.resume()
    await pass(120_000)
    expect(page.outbox.all()).toEqual([])
    const dropped = page.settled.filter(({ kind }) => kind === 'dropped').map(({ id }) => id)
    expect(dropped).toEqual(status === 413 ? [] : [poison])
    // Later events are still sent with keepalive.
    page.track()
    await pass(0)
    expect(page.requests.at(-1)).toMatchObject({ keepalive: true })
  },
)

test('one event that is too large for a proxy does not make later batches small', async () => {
  const { track, requests } = openPage()
  track(3000)
  await pass(0)
  await requests[0]?.answer(413, { verdicts: [] })
  await pass(2000)
  await requests[1]?.answer()
  for (let i = 0; i < 42; i++) track()
  await pass(0)
  expect(requests[2]?.names).toHaveLength(42)
})

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { leaveBehind, openPage, pass, verdictsOf } from '../test/page.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }))
afterEach(() => void vi.useRealTimers())

// If the gateway may already have an event, the script asks before it sends the event again.

test.each([0, 200, 500, 502, 503])(
  'after a request answered %d without a verdict the gateway is asked; stored events are not sent again',
  async (status) => {
    const { track, requests, questions, outbox, settled } = openPage({ holdsQuestions: true })
    const name = track()
    await pass(0)
    await requests[0]?.answer(status, { verdicts: [] })
    await pass(2000)
    expect(questions.map(({ names }) => names)).toEqual([[name]])
    await questions[0]?.answer(200, { verdicts: [{ id: name, status: 200 }] })
    expect(requests).toHaveLength(1)
    expect(outbox.all()).toEqual([])
    expect(settled).toMatchObject([{ kind: 'delivered', id: name }])
    expect(vi.getTimerCount()).toBe(0)
  },
)

test('only events that are not stored are sent again, and at once', async () => {
  const { storage, names } = await leaveBehind(3)
  const [a, b, c] = names as [string, string, string]
  const { flush, requests, questions, settled } = openPage({ storage, holdsQuestions: true })
  flush.resume()
  await pass(0)
  expect(questions[0]?.names).toEqual(names)
  await questions[0]?.answer(207, {
    verdicts: [
      { id: a, status: 404 },
      { id: b, status: 200 },
      { id: c, status: 404 },
    ],
  })
  expect(requests.map(({ names }) => names)).toEqual([[a, c]])
  await requests[0]?.answer()
  expect(settled.map(({ kind, id }) => [kind, id])).toEqual([
    ['delivered', b],
    ['delivered', a],
    ['delivered', c],
  ])
  expect(vi.getTimerCount()).toBe(0)
})

test('the answer to a question has no body: after 200 all events are stored, after 207 all are sent', async () => {
  for (const [status, count] of [
    [200, 0],
    [207, 2],
  ] as const) {
    const { storage, names } = await leaveBehind(2)
    const { flush, requests, questions, outbox } = openPage({ storage, holdsQuestions: true })
    flush.resume()
    await pass(0)
    await questions[0]?.answer(status, { verdicts: names.map((id) => ({ id, status })) })
    expect(requests.flatMap(({ names }) => names)).toHaveLength(count)
    expect(outbox.all()).toHaveLength(count)
  }
})

test.each([301, 308, 401, 403, 404, 408, 429])(
  'after %d the event has not arrived: it is sent again without a question',
  async (status) => {
    const { track, requests, questions } = openPage()
    const name = track()
    await pass(0)
    await requests[0]?.answer(status, { verdicts: [] })
    await pass(2000)
    expect(requests.map(({ names }) => names)).toEqual([[name], [name]])
    expect(questions).toEqual([])
  },
)

test('a refused question is asked again', async () => {
  const { storage } = await leaveBehind(2)
  const { flush, requests, questions, held } = openPage({ storage, holdsQuestions: true })
  flush.resume()
  await pass(0)
  await questions[0]?.answer(403)
  expect(held).toMatchObject([{ status: 403 }, { status: 403 }])
  await pass(2000)
  expect([requests.length, questions.length]).toEqual([0, 2])
})

test('one question is about at most 500 events', async () => {
  const { storage, names } = await leaveBehind(620)
  const { flush, questions } = openPage({ storage, holdsQuestions: true })
  flush.resume()
  await pass(0)
  const all = async (index: number) =>
    questions[index]?.answer(200, {
      verdicts: questions[index]?.names.map((id) => ({ id, status: 200 })) ?? [],
    })
  expect(questions).toHaveLength(1)
  await all(0)
  expect(questions.map(({ names }) => names.length)).toEqual([500, 120])
  await all(1)
  expect(questions.flatMap(({ names }) => names)).toEqual(names)
})

test('a question that is too large for a proxy is split', async () => {
  const { storage } = await leaveBehind(400)
  const { flush, questions } = openPage({ storage, holdsQuestions: true })
  flush.resume()
  await pass(0)
  await questions[0]?.answer(413)
  await pass(2000)
  expect(questions.map(({ names }) => names.length)).toEqual([400, 200])
})

test('each key has its own question', async () => {
  const { storage } = await leaveBehind(2)
  const other = await leaveBehind(3, { key: 'OTHERKEY' })
  for (const name of Object.keys(other.storage))
    storage.setItem(name, other.storage.getItem(name) ?? '')
  const { flush, questions } = openPage({ storage, keys: [{}, { key: 'OTHERKEY' }] })
  flush.resume()
  await pass(0)
  expect(questions.map(({ key, names }) => [key, names.length])).toEqual([
    ['DEMOSHOP', 2],
    ['OTHERKEY', 3],
  ])
})

test.each([{ anyOk: true }, { batch: false }, { anyOk: 'true' }])(
  'a service that answers no questions gets every event again, %j',
  async (more) => {
    const { storage, names } = await leaveBehind(2)
    const { flush, requests, questions, track } = openPage({ storage, keys: [more], always: 503 })
    flush.resume()
    track()
    await pass(10_000)
    expect(questions).toEqual([])
    expect(new Set(requests.flatMap((request) => request.names)).size).toBe(names.length + 1)
  },
)

test('the backoff grows even if questions are answered', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const { track, requests } = openPage({ always: () => [503, 0, []] })
  track()
  await pass(60_000)
  vi.mocked(Math.random).mockRestore()
  const waits = requests.slice(1).map(({ at }, i) => at - (requests[i]?.at ?? 0))
  expect(waits).toEqual([2000, 4000, 8000, 16_000])
})

test('one question is about failed events of this page and those of another', async () => {
  const { storage, names } = await leaveBehind(2)
  const { track, requests, questions } = openPage({ storage })
  const name = track()
  await pass(0)
  await requests[0]?.answer(503)
  await pass(2000)
  expect(questions.map((question) => question.names)).toEqual([[...names, name].sort()])
})

// The address answers with a redirect.

test('after a redirect the events are held, and sent to the served address from then on', async () => {
  const served = 'https://new.example'
  const page = openPage({
    keys: [{ served }],
    always: (entries, { base }) =>
      base === served ? [200, 0, verdictsOf(entries, 200)] : [308, 0, []],
  })
  const name = page.track()
  await pass(0)
  expect(page.held).toEqual([{ id: name, key: 'DEMOSHOP', status: 308 }])
  await pass(2000)
  page.track()
  await pass(0)
  expect(page.requests.map(({ base }) => base)).toEqual(['https://gw.example', served, served])
  expect(page.outbox.all()).toEqual([])
})

test.each([
  ['no served address', {}],
  ['another service', { served: 'https://new.example', anyOk: true }],
])('a redirect, %s: the event is held', async (_, more) => {
  const page = openPage({ keys: [more], always: () => [302, 0, []] })
  page.track()
  await pass(10_000)
  expect(new Set(page.requests.map(({ base }) => base))).toEqual(new Set(['https://gw.example']))
  expect(page.outbox.all()).toHaveLength(1)
})

// Leaving.

test('an event that was answered 429 is sent once more when the page is left', async () => {
  const { track, flush, requests } = openPage()
  const name = track()
  await pass(0)
  await requests[0]?.answer(429, { afterMs: 60_000 })
  flush.leave()
  expect(requests[1]).toMatchObject({ names: [name], keepalive: true })
})

test('in a removed frame, without timers and network, the script stops', async () => {
  const page = openPage({ always: 0 })
  page.track()
  const timers = vi.spyOn(globalThis, 'setTimeout').mockReturnValue(0 as never)
  page.flush.leave()
  for (let n = 0; n < 1000; n++) await null
  timers.mockRestore()
  expect(page.requests.length + page.questions.length).toBeLessThan(4)
})

// flush()

test('flush resolves within 35 s even if a request hangs', async () => {
  const { storage } = await leaveBehind(2)
  const silent = { request: () => new Promise(() => {}) }
  const page = openPage({ storage, locks: silent, holdsQuestions: true })
  page.track()
  let result: unknown
  page.flush.all().then((answer) => {
    result = answer
  })
  await pass(35_000)
  expect(result).toEqual({ delivered: 0, dropped: 0, kept: 3 })
})

test('flush sends the events of its task in one request', async () => {
  const { track, flush, requests } = openPage({ always: 200 })
  for (let n = 0; n < 10; n++) track()
  expect(await flush.all()).toEqual({ delivered: 10, dropped: 0, kept: 0 })
  expect(requests).toHaveLength(1)
})

// A page that tracks inside its own fetch.

test('busy is above 0 while the page’s own fetch runs', async () => {
  const busy: number[] = []
  const page = openPage({
    always: (entries) => {
      busy.push(page.flush.busy)
      return [200, 0, verdictsOf(entries, 200)]
    },
  })
  page.track()
  await pass(0)
  expect([busy, page.flush.busy]).toEqual([[1], 0])
})

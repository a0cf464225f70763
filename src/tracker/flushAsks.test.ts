import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { leaveBehind, openPage, pass, verdictsOf } from '../test/page.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }))
afterEach(() => void vi.useRealTimers())

// What the gateway may have already it is asked about, before anything is sent a second time.

test.each([0, 200, 500, 502, 503])(
  'an attempt answered %d without a verdict is asked about; what is stored is not sent again',
  async (status) => {
    const { track, requests, questions, outbox, heard } = openPage({ holdsQuestions: true })
    const name = track()
    await pass(0)
    await requests[0]?.answer(status, { verdicts: [] })
    await pass(2000)
    expect(questions.map(({ names }) => names)).toEqual([[name]])
    await questions[0]?.answer(200, { verdicts: [{ id: name, status: 200 }] })
    expect(requests).toHaveLength(1)
    expect(outbox.all()).toEqual([])
    expect(heard).toMatchObject([{ kind: 'delivered', id: name }])
    expect(vi.getTimerCount()).toBe(0)
  },
)

test('what is not stored is sent at once, and only that', async () => {
  const { storage, names } = await leaveBehind(3)
  const [a, b, c] = names as [string, string, string]
  const { flush, requests, questions, heard } = openPage({ storage, holdsQuestions: true })
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
  expect(heard.map(({ kind, id }) => [kind, id])).toEqual([
    ['delivered', b],
    ['delivered', a],
    ['delivered', c],
  ])
  expect(vi.getTimerCount()).toBe(0)
})

test('answered by the status alone: 200 all are stored, 207 all are sent', async () => {
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
  '%d says that it has not arrived: it is sent again without a question',
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

test('a question that is refused says nothing of the events: it is asked again', async () => {
  const { storage } = await leaveBehind(2)
  const { flush, requests, questions, held } = openPage({ storage, holdsQuestions: true })
  flush.resume()
  await pass(0)
  await questions[0]?.answer(403)
  expect(held).toMatchObject([{ status: 403 }, { status: 403 }])
  await pass(2000)
  expect([requests.length, questions.length]).toEqual([0, 2])
})

test('all that is left is one question, of 500 events at most', async () => {
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

test('each key is asked about by itself', async () => {
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
  'a service that can not be asked is sent everything again, %j',
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

test('a gateway that answers questions and takes nothing: the waits grow all the same', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const { track, requests } = openPage({ always: () => [503, 0, []] })
  track()
  await pass(60_000)
  vi.mocked(Math.random).mockRestore()
  const waits = requests.slice(1).map(({ at }, i) => at - (requests[i]?.at ?? 0))
  expect(waits).toEqual([2000, 4000, 8000, 16_000])
})

test('what failed here and what another page left are asked about together', async () => {
  const { storage, names } = await leaveBehind(2)
  const { track, requests, questions } = openPage({ storage })
  const name = track()
  await pass(0)
  await requests[0]?.answer(503)
  await pass(2000)
  expect(questions.map((question) => question.names)).toEqual([[...names, name].sort()])
})

// The address answers with a redirect.

test('a redirect: held, and delivered to the served address from then on', async () => {
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
])('a redirect, %s: it waits', async (_, more) => {
  const page = openPage({ keys: [more], always: () => [302, 0, []] })
  page.track()
  await pass(10_000)
  expect(new Set(page.requests.map(({ base }) => base))).toEqual(new Set(['https://gw.example']))
  expect(page.outbox.all()).toHaveLength(1)
})

// Leaving.

test('what has just been answered 429 leaves once more with the page', async () => {
  const { track, flush, requests } = openPage()
  const name = track()
  await pass(0)
  await requests[0]?.answer(429, { afterMs: 60_000 })
  flush.leave()
  expect(requests[1]).toMatchObject({ names: [name], keepalive: true })
})

test('a frame that was removed has no timers and no network: the script comes to rest', async () => {
  const page = openPage({ always: 0 })
  page.track()
  const timers = vi.spyOn(globalThis, 'setTimeout').mockReturnValue(0 as never)
  page.flush.leave()
  for (let n = 0; n < 1000; n++) await null
  timers.mockRestore()
  expect(page.requests.length + page.questions.length).toBeLessThan(4)
})

// flush()

test('flush answers within 35 s, whatever hangs', async () => {
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

test('flush sends what was called before it in the same task in one request', async () => {
  const { track, flush, requests } = openPage({ always: 200 })
  for (let n = 0; n < 10; n++) track()
  expect(await flush.all()).toEqual({ delivered: 10, dropped: 0, kept: 0 })
  expect(requests).toHaveLength(1)
})

// A page that tracks inside its own fetch.

test('while the page’s own fetch runs the script is busy', async () => {
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

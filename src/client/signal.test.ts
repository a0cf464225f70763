import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { json, startApi } from '../test/api.ts'
import { ApiException, type ClientOptions, createClient, type FetchedAnswer } from './index.ts'
import { onAbort, wait } from './signal.ts'

const KEYS = { customerId: 'CUSTOMER-7', restKey: 'rest-Key-9f31', trackingKey: 'ABC123' }
const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

test('many listeners share one, each is removed by itself, and all are called once', () => {
  const { signal, abort } = withAbort()
  const called: number[] = []
  const undo = [1, 2, 3].map((number) => onAbort(signal, () => called.push(number)))
  expect(listenersOf(signal)).toBe(1)
  undo[1]?.()
  undo[1]?.()
  abort()
  expect(called).toEqual([1, 3])
  expect(listenersOf(signal)).toBe(0)
})

test('when the last listener is removed, the signal has none, and a listener added later is called', () => {
  const { signal, abort } = withAbort()
  onAbort(signal, () => {})()
  expect(listenersOf(signal)).toBe(0)
  let called = 0
  onAbort(signal, () => (called += 1))
  abort()
  onAbort(signal, () => (called += 1))
  expect(called).toBe(2)
})

test('the same function added twice is called twice, and one removed meanwhile is not called', () => {
  const { signal, abort } = withAbort()
  let called = 0
  const listener = () => {
    called += 1
    undo()
  }
  onAbort(signal, listener)
  onAbort(signal, listener)
  const undo = onAbort(signal, () => expect.fail('It was removed'))
  abort()
  expect(called).toBe(2)
})

test('50 calls of many clients that share a signal have one listener, and in the end none', async () => {
  const api = await startApi(json(200, []))
  const { signal } = new AbortController()
  const warnings: Error[] = []
  const onWarning = (warning: Error) => warnings.push(warning)
  process.on('warning', onWarning)
  let most = 0
  const fetch: ClientOptions['fetch'] = (url, init) => {
    most = Math.max(most, listenersOf(signal))
    return globalThis.fetch(url, init)
  }
  const calls = Array.from({ length: 50 }, () =>
    createClient({ ...KEYS, baseUrl: api.url, fetch, timeoutMs: 2 ** 31 - 1 }).campaigns.list(
      {},
      { signal },
    ),
  )
  await Promise.all(calls)
  await api.close()
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
  expect(most).toBe(1)
  expect(listenersOf(signal)).toBe(0)
})

test('a wait leaves no listener, whether it ends by its time or by an abort', async () => {
  const { signal, abort } = withAbort()
  await wait(1, signal)
  expect(listenersOf(signal)).toBe(0)
  const waiting = wait(2 ** 31 - 1, signal)
  expect(listenersOf(signal)).toBe(1)
  abort()
  await waiting
  expect(listenersOf(signal)).toBe(0)
  await wait(2 ** 31 - 1, signal)
})

test('an abort ends every call that shares the signal', async () => {
  const { signal, abort } = withAbort()
  const never = () => new Promise<never>(() => {})
  const calls = Array.from({ length: 20 }, () =>
    createClient({ ...KEYS, baseUrl: 'https://a.example', fetch: never })
      .campaigns.list({}, { signal })
      .catch((error: unknown) => error),
  )
  abort()
  for (const error of await Promise.all(calls)) expect(error).toMatchObject({ status: 0 })
})

const connect = (fetch: ClientOptions['fetch']) =>
  createClient({ ...KEYS, baseUrl: 'https://a.example', fetch })

const answer = (status: number, text: () => Promise<string>, location = ''): FetchedAnswer => ({
  status,
  headers: {
    get: (name) => ({ 'retry-after': '30', location })[name] || null,
  },
  text,
})

/** Calls a function after this number of microtasks. */
function afterTurns(turns: number, callback: () => void): void {
  if (turns === 0) callback()
  else queueMicrotask(() => afterTurns(turns - 1, callback))
}

test.each(Array.from({ length: 24 }, (_, turns) => turns))(
  'an abort %i microtasks after a 503 does not wait for Retry-After',
  async (turns) => {
    const { signal, abort } = withAbort()
    let requests = 0
    const { campaigns } = connect(async () => {
      requests += 1
      afterTurns(turns, abort)
      return answer(503, async () => '{}')
    })
    const error = await campaigns.list({}, { signal }).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ApiException)
    expect((error as Error).message).toContain('aborted by the caller')
    expect(requests).toBe(1)
  },
)

test.each(Array.from({ length: 24 }, (_, turns) => turns))(
  'an abort %i microtasks after a redirect: one more request at most, and none after the abort',
  async (turns) => {
    const { signal, abort } = withAbort()
    const { campaigns } = connect(async () => {
      if (signal.aborted) expect.fail('There was a request after the abort')
      afterTurns(turns, abort)
      return answer(302, async () => '', '/api/v1/elsewhere')
    })
    const error = await campaigns.getLatestCampaign(1, { signal }).catch((error: unknown) => error)
    expect((error as Error).message).toMatch(/aborted by the caller|more than 5 redirects/)
    expect((error as Error).message).not.toContain('after the abort')
  },
)

function withAbort() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

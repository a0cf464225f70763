import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { json, startApi } from '../test/api.ts'
import { ApiException, type ClientOptions, createClient, type FetchedAnswer } from './index.ts'
import { onAbort } from './onAbort.ts'

const KEYS = { customerId: 'CUSTOMER-7', restKey: 'rest-Key-9f31', trackingKey: 'ABC123' }
const TIMEOUT_MS = 10_000
const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

test('many share one listener, each takes back its own, and all hear', () => {
  const { signal, ...controller } = withAbort()
  const heard: number[] = []
  const undo = [1, 2, 3].map((number) => onAbort(signal, () => heard.push(number)))
  expect(listenersOf(signal)).toBe(1)
  undo[1]?.()
  undo[1]?.()
  controller.abort()
  expect(heard).toEqual([1, 3])
  expect(listenersOf(signal)).toBe(0)
})

test('after the last one there is no listener, and a next one is heard again', () => {
  const { signal, abort } = withAbort()
  onAbort(signal, () => {})()
  expect(listenersOf(signal)).toBe(0)
  let heard = 0
  onAbort(signal, () => (heard += 1))
  abort()
  onAbort(signal, () => (heard += 1))
  expect(heard).toBe(2)
})

test('one that listens twice is called twice, and one taken back meanwhile is not', () => {
  const { signal, abort } = withAbort()
  let heard = 0
  const listener = () => {
    heard += 1
    undo()
  }
  onAbort(signal, listener)
  onAbort(signal, listener)
  const undo = onAbort(signal, () => expect.fail('It was taken back'))
  abort()
  expect(heard).toBe(2)
})

test('500 calls of many clients hang one listener on a signal, and then none', async () => {
  const api = await startApi(json(200, []))
  const { signal } = new AbortController()
  let most = 0
  const fetch: ClientOptions['fetch'] = (url, init) => {
    most = Math.max(most, listenersOf(signal))
    return globalThis.fetch(url, init)
  }
  const calls = Array.from({ length: 500 }, () =>
    createClient({ ...KEYS, baseUrl: api.url, fetch }).campaigns.list({}, { signal }),
  )
  await Promise.all(calls)
  await api.close()
  expect(most).toBe(1)
  expect(listenersOf(signal)).toBe(0)
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

/** Timers that never fire; `waits` holds those between tries. */
function createStillClock(onWait: () => void = () => {}) {
  const waits: number[] = []
  const clock = {
    setTimeout: (_callback: () => void, ms: number) => {
      if (ms === TIMEOUT_MS) return
      waits.push(ms)
      onWait()
    },
    clearTimeout: () => {},
  }
  return { waits, clock }
}

const connect = (fetch: ClientOptions['fetch'], clock = createStillClock().clock) =>
  createClient({ ...KEYS, baseUrl: 'https://a.example', fetch, clock })

const answer = (status: number, text: () => Promise<string>, location = ''): FetchedAnswer => ({
  status,
  headers: {
    get: (name) => ({ 'retry-after': '30', location })[name] || null,
  },
  text,
})

/** Calls what is given after so many turns of the queue of microtasks. */
function afterTurns(turns: number, callback: () => void): void {
  if (turns === 0) callback()
  else queueMicrotask(() => afterTurns(turns - 1, callback))
}

test.each(Array.from({ length: 24 }, (_, turns) => turns))(
  'an abort %i microtasks after a 503 does not wait for Retry-After',
  async (turns) => {
    const { signal, abort } = withAbort()
    let asked = 0
    const { campaigns } = connect(async () => {
      asked += 1
      afterTurns(turns, abort)
      return answer(503, async () => '{}')
    })
    const error = await campaigns.list({}, { signal }).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ApiException)
    expect((error as Error).message).toContain('aborted by the caller')
    expect(asked).toBe(1)
  },
)

test.each(Array.from({ length: 24 }, (_, turns) => turns))(
  'an abort %i microtasks after a redirect: one more request at most, and none after the abort',
  async (turns) => {
    const { signal, abort } = withAbort()
    const { campaigns } = connect(async () => {
      if (signal.aborted) expect.fail('It asked after the abort')
      afterTurns(turns, abort)
      return answer(302, async () => '', '/api/v1/elsewhere')
    })
    const error = await campaigns.getLatestCampaign(1, { signal }).catch((error: unknown) => error)
    expect((error as Error).message).toMatch(/aborted by the caller|more than 5 redirects/)
    expect((error as Error).message).not.toContain('after the abort')
  },
)

test('an abort while a timer is set ends the try, and the wait', async () => {
  const { signal, abort } = withAbort()
  const deaf = () => new Promise<never>(() => {})
  const tryClock = { setTimeout: abort, clearTimeout: () => {} }
  const trying = connect(deaf, tryClock).campaigns.list({}, { signal })
  await expect(trying).rejects.toMatchObject({ status: 0 })

  const second = withAbort()
  const { clock, waits } = createStillClock(second.abort)
  const busy = async () => answer(503, async () => '{}')
  const waiting = connect(busy, clock).campaigns.list({}, { signal: second.signal })
  await expect(waiting).rejects.toThrow('aborted by the caller')
  expect(waits).toHaveLength(1)
})

function withAbort() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { json, startApi } from '../test/api.ts'
import { ApiException, type ClientOptions, createClient, type FetchedAnswer } from './index.ts'
import { wait } from './signal.ts'

const KEYS = { customerId: 'CUSTOMER-7', restKey: 'rest-Key-9f31', trackingKey: 'ABC123' }
const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

test('50 calls may share a signal: no warning of too many listeners, and none is left', async () => {
  const api = await startApi(json(200, []))
  const { signal } = new AbortController()
  const warnings: Error[] = []
  const onWarning = (warning: Error) => warnings.push(warning)
  process.on('warning', onWarning)
  const client = createClient({ ...KEYS, baseUrl: api.url })
  const calls = Array.from({ length: 50 }, () =>
    client.campaigns.list({}, { signal, timeoutMs: 2 ** 31 - 1 }),
  )
  await Promise.all(calls)
  await api.close()
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
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

function withAbort() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

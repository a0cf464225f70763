import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { completePayloads } from '../test/payloads.ts'
import { createClient, ValidationException } from './index.ts'

const GOOD = {
  customerId: 'CUSTOMER-7',
  restKey: 'rest-Key-9f31',
  trackingKey: 'ABC123',
  baseUrl: 'https://gateway.example',
}

/** The result of a call with these options, and the number of its requests. */
async function listWith(options: unknown) {
  let requests = 0
  const fetch = async () => {
    requests += 1
    return new Response('{"id":"1"}')
  }
  const { campaigns } = createClient({ ...GOOD, fetch })
  const settled = await campaigns.create(completePayloads.create, options as object).then(
    (value) => ({ value, error: undefined }),
    (error: unknown) => ({ value: undefined, error }),
  )
  return { ...settled, requests }
}

const THROWN = 'thrown-with-rest-Key-9f31'
const fail = () => {
  throw new Error(THROWN)
}
const unreadable = new Proxy({}, { get: fail, ownKeys: fail, getPrototypeOf: fail })
const { signal } = new AbortController()
const likeASignal = {
  aborted: false,
  reason: undefined,
  addEventListener: () => {},
  removeEventListener: () => {},
}

test.each([
  ['a timeout of 0', { timeoutMs: 0 }, ['timeoutMs']],
  ['a number below', { retries: -1 }, ['retries']],
  ['an empty signal', { signal: {} }, ['signal']],
  ['a text for a signal', { signal: 'x' }, ['signal']],
  ['a controller', { signal: new AbortController() }, ['signal']],
  ['an EventTarget', { signal: new EventTarget() }, ['signal']],
  ['an object like a signal', { signal: likeASignal }, ['signal']],
  ['an unknown option', { retry: 3 }, ['retry']],
  ['unknown options', { retry: 3, timeout: 1 }, ['retry', 'timeout']],
  ['an option of createClient', { fetch: () => {} }, ['fetch']],
  ['a text', 'x', ['']],
  ['a number', 5, ['']],
  ['a list', [], ['']],
  ['a function', () => {}, ['']],
  ['the signal itself', signal, ['']],
  ['an object that throws', unreadable, ['']],
  ['a signal that throws', { signal: unreadable }, ['']],
  ['a signal that only inherits', { signal: Object.create(AbortSignal.prototype) }, ['']],
  ['a getter that throws', Object.defineProperty({}, 'signal', { get: fail }), ['']],
  [
    'a getter that throws and is enumerable',
    Object.defineProperty({}, 'retries', { get: fail, enumerable: true }),
    [''],
  ],
])('options of a call may not be or have %s', async (_what, options, paths) => {
  const { error, requests } = await listWith(options)
  expect(error).toBeInstanceOf(ValidationException)
  const { issues } = error as ValidationException
  expect(issues.map(({ path }) => path).sort()).toEqual([...paths].sort())
  expect(inspect(error)).not.toContain(THROWN)
  expect(requests).toBe(0)
})

test('the message has the names of the options and the number of a limit', async () => {
  const { error } = await listWith({ retry: 3, retries: 99 })
  expect((error as Error).message).toBe(
    'retry: Expected signal, timeoutMs or retries, received an unknown option; retries: Expected a whole number from 0 to 10, received 99',
  )
})

test.each([
  ['none', undefined],
  ['null', null],
  ['an empty object', Object.create(null)],
  ['inherited ones', Object.create({ retries: 0 })],
  ['absent ones', { signal: null, timeoutMs: undefined }],
  ['frozen', Object.freeze({ signal, retries: 0 })],
])('options of a call may be %s', async (_what, options) => {
  expect(await listWith(options)).toMatchObject({ value: { id: '1' }, requests: 1 })
})

import { inspect } from 'node:util'
import { expect, expectTypeOf, test } from 'vitest'
import { json, startApi } from '../test/api.ts'
import { type ClientOptions, createClient, type Signal, ValidationException } from './index.ts'

const GOOD = {
  customerId: 'CUSTOMER-7',
  restKey: 'rest-Key-9f31',
  trackingKey: 'ABC123',
  baseUrl: 'https://gateway.example',
}

function faultsOf(options: unknown): ValidationException {
  try {
    createClient(options as ClientOptions)
  } catch (error) {
    expect(error).toBeInstanceOf(ValidationException)
    return error as ValidationException
  }
  return expect.fail('It was taken')
}

const bad: readonly [path: string, value: unknown][] = [
  ...['customerId', 'restKey', 'baseUrl'].flatMap((path): [string, unknown][] =>
    [undefined, null, '', ' \t\n', 7, {}, ['x']].map((value) => [path, value]),
  ),
  ['customerId', 'half \ud83d'],
  ['restKey', 'half \ud83d'],
  ...['', '  ', 'ABC', 'x'.repeat(21), 7, 'ABC12\ud83d'].map((v): [string, unknown] => [
    'trackingKey',
    v,
  ]),
  ...[
    'gateway.example',
    'ftp://gateway.example',
    '//gateway.example',
    'https://',
    'javascript:alert(1)',
    'https://user@gateway.example',
    'https://:pass@gateway.example',
    'https://gateway.example/?k=1',
    'https://gateway.example/#x',
  ].map((value): [string, unknown] => ['baseUrl', value]),
  ...['apiPath', 'trackingPath'].flatMap((path): [string, unknown][] =>
    ['/a/../b', '/a?b', '/a#b', '/a b', '/./a', '\\a', 7].map((value) => [path, value]),
  ),
  ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '1000', 0.5].map(
    (value): [string, unknown] => ['timeoutMs', value],
  ),
  ...[-1, 1.5, 11, Number.NaN, Number.POSITIVE_INFINITY, '2'].map((value): [string, unknown] => [
    'retries',
    value,
  ]),
  ...['fetch', 'now', 'random', 'getRandomValues', 'clock'].map((path): [string, unknown] => [
    path,
    'x',
  ]),
]
test.each(bad)('%s may not be %j', (path, value) => {
  const error = faultsOf({ ...GOOD, [path]: value })
  expect(error.issues.map((issue) => issue.path)).toEqual([path])
})

test.each([
  ['sendCustom', 'x'],
  ['toString', 'x'],
  ['addToBasket', 'x'],
  ['addToCart', ''],
  ['addToCart', ' '],
  ['addToCart', 7],
])('events.%s may not be %j', (operation, name) => {
  const { issues } = faultsOf({ ...GOOD, events: { [operation]: name } })
  expect(issues.map(({ path }) => path)).toEqual([`events.${operation}`])
})

test.each([7, 'x', true])('event names may not be %j', (events) => {
  expect(faultsOf({ ...GOOD, events }).issues.map(({ path }) => path)).toContain('events')
})

test.each([undefined, null, 7, 'x', []])('options may not be %j', (options) => {
  expect(faultsOf(options).issues.map(({ path }) => path)).toEqual([
    'baseUrl',
    'customerId',
    'restKey',
  ])
})

test('every fault is told at once, and none shows what came', () => {
  const error = faultsOf({
    customerId: '',
    restKey: 7_654_321,
    trackingKey: 'SEC',
    baseUrl: 'https://user:secret-word@gateway.example',
    retries: 'secret-word',
  })
  expect(error.issues.map(({ path }) => path).sort()).toEqual([
    'baseUrl',
    'customerId',
    'restKey',
    'retries',
    'trackingKey',
  ])
  expect(inspect(error)).not.toMatch(/secret-word|SEC\b|7654321/)
})

test.each([
  ['https://gateway.example', '/api/v1/'],
  ['https://gateway.example/', '/api/v1/'],
  ['https://gateway.example///', '/api/v1/'],
  [' https://gateway.example\n', '/api/v1/'],
  ['HTTPS://GATEWAY.example/shop/', '/shop/api/v1/'],
  ['https://gateway.example/été', '/%C3%A9t%C3%A9/api/v1/'],
])('base address %j', async (baseUrl, path) => {
  const asked: string[] = []
  const fetch = async (url: string) => {
    asked.push(url)
    return new Response('[]')
  }
  await createClient({ ...GOOD, baseUrl, fetch }).campaigns.list()
  expect(asked[0]?.startsWith(`https://gateway.example${path}campaigns/list?`)).toBe(true)
})

test.each([
  ['/api/v2', '/api/v2/campaigns/list'],
  ['api/v2/', '/api/v2/campaigns/list'],
  ['', '/campaigns/list'],
  ['/', '/campaigns/list'],
])('path in front %j', async (apiPath, path) => {
  const asked: string[] = []
  const fetch = async (url: string) => {
    asked.push(new URL(url).pathname)
    return new Response('[]')
  }
  await createClient({ ...GOOD, apiPath, fetch }).campaigns.list()
  expect(asked).toEqual([path])
})

test('keys are trimmed, and the client shows none of them', async () => {
  const api = await startApi(json(200, []))
  const client = createClient({
    customerId: ' CUSTOMER-7\n',
    restKey: '\trest-Key-9f31 ',
    trackingKey: ' ABC123 ',
    baseUrl: api.url,
  })
  await client.campaigns.list()
  await client.events.serveJavascript()
  expect(api.received.map(({ target }) => target)).toEqual([
    '/api/v1/campaigns/list?k=rest-Key-9f31&u=CUSTOMER-7',
    '/t/j/ABC123?k=ABC123',
  ])
  expect(inspect(client, { depth: 9, showHidden: true })).not.toMatch(/rest-Key|CUSTOMER|ABC123/)
  await api.close()
})

test.each([
  [{ timeoutMs: 0 }, 'timeoutMs'],
  [{ retries: -1 }, 'retries'],
  [{ signal: {} }, 'signal'],
  [{ signal: 'x' }, 'signal'],
  ['x', ''],
  [5, ''],
])('options of a call may not be %j', async (options, path) => {
  let asked = 0
  const fetch = async () => {
    asked += 1
    return new Response('[]')
  }
  const call = createClient({ ...GOOD, fetch }).campaigns.list({}, options as object)
  await expect(call).rejects.toBeInstanceOf(ValidationException)
  await expect(call).rejects.toMatchObject({ issues: [{ path }] })
  expect(asked).toBe(0)
})

test('the runtime’s own fetch, signal, clock and randomness fit the types', () => {
  createClient({
    ...GOOD,
    fetch: globalThis.fetch,
    clock: globalThis,
    now: Date.now,
    random: Math.random,
    getRandomValues: (bytes) => crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>),
  })
  expectTypeOf<Signal>().toEqualTypeOf<AbortSignal>()
  // @ts-expect-error the customer has an ID
  const options: ClientOptions = { restKey: 'x', baseUrl: 'x' }
  expect(() => createClient(options)).toThrow(ValidationException)
  // @ts-expect-error sendCustom has no usual name
  const events: ClientOptions['events'] = { sendCustom: 'x' }
  expect(() => createClient({ ...GOOD, events })).toThrow(ValidationException)
})

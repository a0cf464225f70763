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
  return expect.fail('The options were accepted')
}

const bad: readonly [path: string, value: unknown][] = [
  ...['customerId', 'restKey', 'baseUrl'].flatMap((path): [string, unknown][] =>
    [undefined, null, '', ' \t\n', 7, {}, ['x']].map((value) => [path, value]),
  ),
  ...['customerId', 'restKey'].map((path): [string, unknown] => [path, `${'Ab1-'.repeat(64)}x`]),
  ['restKey', 'Ab1-'.repeat(250_000)],
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
  ...['fetch', 'now'].map((path): [string, unknown] => [path, 'x']),
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
    ...(options ? [''] : []),
    'customerId',
    'restKey',
    'baseUrl',
  ])
})

test('the error has every issue, and none shows the value', () => {
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

test('a credential may have 256 characters, and a longer one is not shown', async () => {
  const restKey = 'Ab1-'.repeat(64)
  const fetch = async () => new Response(`{"message":"${restKey}"}`, { status: 401 })
  const client = createClient({ ...GOOD, restKey, fetch })
  await expect(client.campaigns.list()).rejects.toThrow('list: answered 401: ***')
  const error = faultsOf({ ...GOOD, restKey: `${restKey}x` })
  expect(error.message).toBe(
    'restKey: Expected text of 1 to 256 characters that is not blank, received text of 257 characters',
  )
})

test.each([
  [{ trackinKey: 'ABC123' }, ['trackinKey']],
  [{ trackinKey: undefined, baseURL: 'x' }, ['trackinKey', 'baseURL']],
  [{ timeout: 5, signal: AbortSignal.abort() }, ['timeout', 'signal']],
])('unknown options are issues with their names: %j', (options, names) => {
  const error = faultsOf({ ...GOOD, ...options })
  expect(error.issues.map(({ path }) => path)).toEqual(names)
  expect(error.issues[0]?.message).toMatch(
    /^Expected customerId, restKey, .*, fetch or now, received an unknown option$/,
  )
  expect(error.message).not.toContain('ABC123')
})

test.each([
  ['retries', 99],
  ['retries', -1],
  ['retries', 1.5],
  ['timeoutMs', Number.NaN],
  ['timeoutMs', 2 ** 31],
])('the number of a limit is shown: %s %d', (path, value) => {
  expect(faultsOf({ ...GOOD, [path]: value }).message).toMatch(
    new RegExp(`^${path}: .*received ${value}$`),
  )
})

const doubled: readonly [baseUrl: string, paths: object, left: string][] = [
  ['https://gateway.example/api/v1', {}, '/api/v1'],
  ['https://gateway.example/shop/api/v1/', {}, '/api/v1'],
  ['https://gateway.example/t', {}, '/t'],
  ['https://gateway.example/v9', { apiPath: 'v9/' }, '/v9'],
  ['https://gateway.example/x', { trackingPath: '/x' }, '/x'],
]
test.each(doubled)('baseUrl %s ends with a path that the client adds', (baseUrl, paths, left) => {
  const { issues } = faultsOf({ ...GOOD, baseUrl, ...paths })
  expect(issues.map(({ path }) => path)).toEqual(['baseUrl'])
  expect(issues[0]?.message).toContain(`without ${left} at its end`)
})

test.each([
  ['https://gateway.example/api/v1', { apiPath: '/api/v2' }],
  ['https://gateway.example/cart', {}],
  ['https://t', {}],
  ['https://gateway.example/x', { apiPath: '', trackingPath: '/' }],
])('baseUrl %s with %j is valid', (baseUrl, paths) => {
  expect(() => createClient({ ...GOOD, baseUrl, ...paths })).not.toThrow()
})

const THROWN = 'thrown-with-rest-Key-9f31'
const fail = () => {
  throw new Error(THROWN)
}
const unreadable = new Proxy(
  {},
  { get: fail, ownKeys: fail, has: fail, getPrototypeOf: fail, getOwnPropertyDescriptor: fail },
)
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable([], {})
  revoke()
  return proxy
}

const withGetter = (name: string) =>
  Object.defineProperty({ ...GOOD }, name, { get: fail, enumerable: true })

test.each([
  ['an option', withGetter('restKey')],
  ['options', unreadable],
  ['revoked options', revoked()],
  ['a revoked fetch', { ...GOOD, fetch: revoked() }],
  ['event names', { ...GOOD, events: unreadable }],
  ['an event name', { ...GOOD, events: withGetter('search') }],
])('%s that can not be read: a ValidationException without the error', (_what, options) => {
  const error = faultsOf(options)
  expect(error.issues.map(({ path }) => path)).toContain('')
  expect(inspect(error)).not.toContain(THROWN)
})

test('options may be frozen, inherited, or the exports of a module', () => {
  class Options {
    customerId = 'CUSTOMER-7'
    baseUrl = 'https://gateway.example'
    get restKey() {
      return 'rest-Key-9f31'
    }
  }
  const asModule = Object.assign(Object.create(null), GOOD, { [Symbol.toStringTag]: 'Module' })
  for (const options of [Object.freeze({ ...GOOD }), new Options(), Object.create(GOOD), asModule])
    expect(createClient(options).events).toBeInstanceOf(Object)
})

test('options are not changed, and read once', () => {
  const reads: string[] = []
  const given = Object.freeze({ ...GOOD, restKey: ' rest-Key-9f31 ', apiPath: 'v2/' })
  const options = new Proxy(given, {
    get: (target, name, receiver) => {
      if (typeof name === 'string') reads.push(name)
      return Reflect.get(target, name, receiver)
    },
  })
  createClient(options)
  expect(given).toEqual({ ...GOOD, restKey: ' rest-Key-9f31 ', apiPath: 'v2/' })
  expect(new Set(reads).size).toBe(reads.length)
})

test.each([
  ['https://gateway.example', '/api/v1/'],
  ['https://gateway.example/', '/api/v1/'],
  ['https://gateway.example///', '/api/v1/'],
  [' https://gateway.example\n', '/api/v1/'],
  ['HTTPS://GATEWAY.example/shop/', '/shop/api/v1/'],
  ['https://gateway.example/été', '/%C3%A9t%C3%A9/api/v1/'],
])('baseUrl %j', async (baseUrl, path) => {
  const requests: string[] = []
  const fetch = async (url: string) => {
    requests.push(url)
    return new Response('[]')
  }
  await createClient({ ...GOOD, baseUrl, fetch }).campaigns.list()
  expect(requests[0]?.startsWith(`https://gateway.example${path}campaigns/list?`)).toBe(true)
})

test.each([
  ['/api/v2', '/api/v2/campaigns/list'],
  ['api/v2/', '/api/v2/campaigns/list'],
  ['', '/campaigns/list'],
  ['/', '/campaigns/list'],
])('apiPath %j', async (apiPath, path) => {
  const requests: string[] = []
  const fetch = async (url: string) => {
    requests.push(new URL(url).pathname)
    return new Response('[]')
  }
  await createClient({ ...GOOD, apiPath, fetch }).campaigns.list()
  expect(requests).toEqual([path])
})

test('keys are trimmed, and inspecting the client shows none of them', async () => {
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

test('the runtime’s own fetch, signal and clock fit the types', () => {
  createClient({
    ...GOOD,
    fetch: globalThis.fetch,
    now: Date.now,
  })
  expectTypeOf<Signal>().toEqualTypeOf<AbortSignal>()
  // @ts-expect-error the customer has an ID
  const options: ClientOptions = { restKey: 'x', baseUrl: 'x' }
  expect(() => createClient(options)).toThrow(ValidationException)
  // @ts-expect-error sendCustom has no usual name
  const events: ClientOptions['events'] = { sendCustom: 'x' }
  expect(() => createClient({ ...GOOD, events })).toThrow(ValidationException)
})

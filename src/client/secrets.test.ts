import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { completePayloads } from '../test/payloads.ts'
import { type Client, createClient } from './index.ts'
import { createMask } from './secrets.ts'

const toHex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
const eachUnit = (text: string, spell: (unit: number) => string) =>
  Array.from({ length: text.length }, (_, at) => spell(text.charCodeAt(at))).join('')
const eachByte = (text: string, spell: (byte: number) => string) =>
  [...new TextEncoder().encode(text)].map(spell).join('')

/** How a text may be spelled in an answer or an error. */
const SPELLINGS: Readonly<Record<string, (key: string) => string>> = {
  plain: (key) => key,
  'percent-encoded': encodeURIComponent,
  'percent-encoded, small': (key) =>
    encodeURIComponent(key).replace(/%../g, (byte) => byte.toLowerCase()),
  'percent-encoded twice': (key) => encodeURIComponent(encodeURIComponent(key)),
  'percent-encoded, every byte': (key) => eachByte(key, (byte) => `%${toHex(byte, 2)}`),
  'as a form': (key) => new URLSearchParams({ a: key }).toString().slice(2),
  'as an address': (key) => new URL(`https://a.example/?k=${encodeURIComponent(key)}`).href,
  'as JSON': (key) => JSON.stringify(key).slice(1, -1),
  'as JSON in JSON': (key) => JSON.stringify(JSON.stringify(key)).slice(3, -3),
  'as JSON with slashes escaped': (key) => JSON.stringify(key).slice(1, -1).replaceAll('/', '\\/'),
  'as JSON in ASCII': (key) => eachUnit(key, (unit) => `\\u${toHex(unit, 4)}`),
  'as HTML': (key) =>
    key
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&#39;'),
  'as HTML in numbers': (key) =>
    [...key].map((c) => `&#x${toHex(Number(c.codePointAt(0)), 4)};`).join(''),
}

/** Keys as they are, and as nobody should have them: everything that some spelling changes. */
const anyKey = fc
  .oneof(
    fc.string({ unit: fc.constantFrom(...'abcXYZ0189-_.~'), minLength: 6, maxLength: 20 }),
    fc.string({
      unit: fc.constantFrom(...'aB3 /+&?=#%\\"\'<>()*!.$^[]{}|é漢🙂'),
      minLength: 6,
      maxLength: 20,
    }),
  )
  .map((key) => key.trim())
  .filter((key) => [...key].length >= 6 && !'***'.includes(key))

const told = (error: unknown) =>
  inspect(error, { depth: 12, showHidden: true }) +
  JSON.stringify(error, Object.getOwnPropertyNames(Object(error))) +
  JSON.stringify(error)

describe('a mask', () => {
  test.each(Object.entries(SPELLINGS))('knows a key %s', (_name, spell) => {
    fc.assert(
      fc.property(anyKey, fc.string(), fc.string(), (key, before, after) => {
        const masked = createMask([key]).text(`${before}${spell(key)}${after}`)
        expect(masked).toContain('***')
        expect(masked).not.toContain(spell(key))
      }),
    )
  })

  test('leaves what is no key', () => {
    const { text, body } = createMask(['rest-Key-9f31'], ['CUSTOMER-7', '42'])
    expect(text('restKey 9f31 of customer 7 %20 &amp; \\u0041')).toBe(
      'restKey 9f31 of customer 7 %20 &amp; \\u0041',
    )
    expect(body({ a: [1, true, null, 'x'], b: { c: 4.5 } })).toEqual({
      a: [1, true, null, 'x'],
      b: { c: 4.5 },
    })
  })

  test('takes a short name only where it stands alone', () => {
    const { text } = createMask([], ['42'])
    expect(text('u=42&x=420, no 4242 in it: 42!')).toBe('u=***&x=420, no 4242 in it: ***!')
  })

  test('takes a key that begins like another', () => {
    expect(createMask(['secret'], ['secret-long']).text('a secret-long secret')).toBe('a *** ***')
  })

  test('masks names, numbers and depths of a body, and keeps its prototype out', () => {
    const { body } = createMask(['123456'])
    const given = JSON.parse(
      '{"k123456":[{"n":123456,"m":12},"x123456"],"__proto__":{"a":"123456"}}',
    )
    const masked = body(given)
    expect(JSON.stringify(masked)).toBe(
      '{"k***":[{"n":"***","m":12},"x***"],"__proto__":{"a":"***"}}',
    )
  })

  test('is not made slow by an answer', () => {
    const long = 60_000
    const { text } = createMask([
      '\\\\a\\\\b\\\\c',
      '%%%%%%25',
      '&&&&&&&',
      'aaaaaaaaaaaaab',
      '      x',
    ])
    for (const filler of ['\\', '%', '%25', '&', '&amp;', 'amp;', 'a', ' ', '+', '\\u0061'])
      expect(text(filler.repeat(long / filler.length)).length).toBeGreaterThan(0)
  })

  test('leaves a clean cause as it is, and copies another', () => {
    const { cause } = createMask(['rest-Key-9f31'])
    const code = { code: 'ECONNREFUSED', syscall: 'connect' }
    const clean = new TypeError('fetch failed', {
      cause: Object.assign(new Error('refused'), code),
    })
    expect(cause(clean)).toBe(clean)
    for (const same of [undefined, null, 'left', 7, true]) expect(cause(same)).toBe(same)

    const inner = Object.assign(new Error('at ?k=rest-Key-9f31'), code)
    const copy = cause(new TypeError('fetch failed', { cause: inner })) as Error
    expect(copy).toMatchObject({ name: 'TypeError', message: 'fetch failed' })
    expect(copy.cause).toMatchObject({ name: 'Error', message: 'at ?k=***', ...code })
    expect((copy.cause as Error).stack).toContain('secrets.test')
  })
})

const address = (init: unknown) => `${init}`

/** What a fetch may throw that has seen the address. */
const THROWN: Readonly<Record<string, (url: string) => unknown>> = {
  'an error': (url) => new TypeError(`error sending request for url (${url})`),
  'a cause': (url) => new TypeError('failed', { cause: new Error(url) }),
  'causes of causes': (url) =>
    new Error('a', { cause: new Error('b', { cause: new AggregateError([new Error(url)]) }) }),
  'a field': (url) => Object.assign(new Error('failed'), { config: { request: { url } } }),
  'a hidden field': (url) => Object.defineProperty(new Error('failed'), 'url', { value: url }),
  'a symbol': (url) => Object.assign(new Error('failed'), { [Symbol('url')]: url }),
  'the name of a field': (url) => Object.assign(new Error('failed'), { [url]: 1 }),
  'a request': (url) => Object.assign(new Error('failed'), { request: new Request(url) }),
  'an address': (url) => Object.assign(new Error('failed'), { input: new URL(url) }),
  'a map': (url) => Object.assign(new Error('failed'), { seen: new Map([['url', url]]) }),
  'a function': (url) =>
    Object.assign(new Error('failed'), { retry: Object.assign(() => {}, { url }) }),
  'the stack alone': (url) => Object.assign(new Error('failed'), { stack: `Error: ${url}` }),
  'the name': (url) => Object.assign(new Error('failed'), { name: url }),
  'the code': (url) => Object.assign(new Error(url), { code: url, syscall: url }),
  'a text': (url) => url,
  'an object': (url) => ({ message: url, url }),
  'a list': (url) => [url, [url]],
  'a DOMException': (url) => new DOMException(url, 'NetworkError'),
  'a getter': (url) =>
    Object.defineProperty(new Error('failed'), 'url', { get: () => url, enumerable: true }),
  'a getter that throws': (url) =>
    Object.defineProperty(new Error('failed'), 'url', {
      get: () => {
        throw new Error(url)
      },
    }),
  'what can not be read': (url) =>
    new Proxy(new Error(url), {
      get: () => {
        throw new Error(url)
      },
    }),
  'an error of no tag': (url) => Object.assign(new Error(url), { [Symbol.toStringTag]: 'Object' }),
  'a ring': (url) => {
    const ring = new Error(url)
    ring.cause = new Error('inside', { cause: ring })
    return ring
  },
  'a class of its own': (url) =>
    new (class FetchError extends Error {
      url = url
      #secret = url
      override toString = () => this.#secret
    })('failed'),
}

/** What an answer may do with the address. */
const ECHOED: Readonly<Record<string, (url: string, spell: (key: string) => string) => Response>> =
  {
    'HTML with 200': (url, spell) =>
      new Response(`<p>${spell(url)}</p>`, { headers: { 'content-type': 'text/html' } }),
    'HTML with 502': (url, spell) => new Response(`<p>${spell(url)}</p>`, { status: 502 }),
    'a message': (url, spell) =>
      new Response(`{"message":${JSON.stringify(spell(url))},"url":${JSON.stringify(url)}}`, {
        status: 401,
      }),
    'spelled JSON': (url, spell) => new Response(`{"message":"${spell(url)}"}`, { status: 400 }),
    issues: (url, spell) =>
      new Response(
        JSON.stringify({
          message: 'x',
          issues: [{ path: spell(url), message: spell(url) }],
          [url]: 1,
        }),
        { status: 422 },
      ),
    'a redirect': (url) =>
      new Response('', { status: 302, headers: { location: url.replace('gateway', 'other') } }),
    'a redirect to here': (url) => new Response(url, { status: 307, headers: { location: url } }),
    'a type': (url) =>
      new Response('x', { headers: { 'content-type': `text/x; url=${url.slice(8, 4000)}` } }),
    'a cut body': (url, spell) => new Response('x'.repeat(65_500) + spell(url), { status: 500 }),
  }

const calls: readonly ((client: Client) => Promise<unknown>)[] = [
  ({ campaigns }) => campaigns.getLatestCampaign(),
  ({ campaigns }) => campaigns.create(completePayloads.create),
  ({ events }) => events.search(completePayloads.search),
  ({ events }) => events.serveJavascript(),
]

type Keys = { readonly customerId: string; readonly restKey: string; readonly trackingKey: string }
const anyKeys = fc.record({
  customerId: anyKey,
  restKey: anyKey,
  trackingKey: anyKey.filter((key) => [...key].length <= 20),
})

/** No spelling of a key is in any error of a client whose fetch is this one. */
async function expectNoKey(keys: Keys, fetch: (url: string) => Promise<Response>) {
  const client = createClient({ ...keys, baseUrl: 'https://gateway.example', retries: 0, fetch })
  for (const call of calls) {
    const error = await call(client).then(
      () => expect.fail('It resolved'),
      (error: unknown) => error,
    )
    expect(`${error}`).toContain('Exception')
    const all = told(error)
    for (const key of Object.values(keys))
      for (const spell of Object.values(SPELLINGS)) expect(all).not.toContain(spell(key))
  }
}

describe('no key is in an error', () => {
  test.each(Object.entries(THROWN))('when fetch throws %s', async (_name, thrown) => {
    await fc.assert(
      fc.asyncProperty(anyKeys, (keys) =>
        expectNoKey(keys, (url) => Promise.reject(thrown(address(url)))),
      ),
      { numRuns: 5 },
    )
  })

  test.each(Object.entries(ECHOED))('when the answer is %s', async (_name, echo) => {
    await fc.assert(
      fc.asyncProperty(
        anyKeys,
        fc.constantFrom(...Object.values(SPELLINGS)),
        fc.boolean(),
        (keys, spell, decodes) =>
          expectNoKey(keys, async (url) => echo(decodes ? decodeURIComponent(url) : url, spell)),
      ),
      { numRuns: 12 },
    )
  })

  test.each([200, 500])('nor the start of one, where a body of %i was cut', async (status) => {
    const restKey = 'rest-Key-9f31-and-a-longer-one'
    for (let shown = 1; shown < restKey.length; shown++) {
      const text = `${'x'.repeat(65_536 - shown)}${restKey}`
      const fetch = async () => new Response(text, { status })
      const client = createClient({
        ...{ customerId: 'CUSTOMER-7', restKey, baseUrl: 'https://gateway.example' },
        ...{ fetch, retries: 0 },
      })
      const error = await client.campaigns.list().catch((error: unknown) => error)
      expect(error).toMatchObject({ status, body: expect.stringMatching(/^x{60000,}$/) })
    }
  })

  test('when it stands in the wrong field', async () => {
    const restKey = 'rest-Key-9f31'
    const keys = { customerId: 'CUSTOMER-7', restKey, trackingKey: 'ABC123' }
    let asked = 0
    const fetch = async () => {
      asked += 1
      return new Response('[]')
    }
    const { campaigns, events } = createClient({ ...keys, baseUrl: 'https://a.example', fetch })
    for (const call of [
      () => events.sendCustomApi({ email: restKey, event: 'x' }),
      () => events.viewHomepage({ ...completePayloads.viewHomepage, url: `//${restKey}` }),
      () => events.serveJavascript(`${restKey}${restKey}`),
      () => campaigns.create({ ...completePayloads.create, type: restKey as 'sms' }),
    ]) {
      const error = await call().catch((error: unknown) => error)
      expect(error).toMatchObject({ name: 'ValidationException' })
      expect(told(error)).not.toContain(restKey)
    }
    expect(asked).toBe(0)
  })
})

import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { completePayloads } from '../test/payloads.ts'
import { anyKey, SPELLINGS, textOf } from '../test/spellings.ts'
import { type Client, createClient } from './index.ts'

const address = (init: unknown) => `${init}`

/** Values that a fetch may throw and that contain the address. */
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
  'only the stack': (url) => Object.assign(new Error('failed'), { stack: `Error: ${url}` }),
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
  'an error with a private field': (url) =>
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
  'a class with a getter': (url) =>
    new (class FetchError extends Error {
      #secret = url
      get url() {
        return this.#secret
      }
    })('failed'),
  'a class with its own toJSON': (url) =>
    new (class FetchError extends Error {
      #secret = url;
      [inspect.custom] = undefined
      toJSON() {
        return { url: this.#secret }
      }
    })('failed'),
  'a class with its own inspect function': (url) =>
    new (class FetchError extends TypeError {
      #secret = url;
      [inspect.custom]() {
        return this.#secret
      }
    })('failed'),
  'a subclass of Array': (url) =>
    Object.assign(new Error('failed'), {
      tries: new (class Tries extends Array {
        #secret = url
        toJSON() {
          return this.#secret
        }
      })(),
    }),
  'an object with a hidden prototype': (url) =>
    Object.assign(new Error('failed'), {
      request: Object.create(Object.assign(Object.create(null), { toJSON: () => url })),
    }),
  'a getter whose second value differs': (url) => {
    let reads = 0
    return Object.defineProperty(new Error('failed'), 'url', {
      get: () => (reads++ ? url : ''),
      enumerable: true,
    })
  },
  'a subclass of Error': (url) =>
    new (class FetchError extends Error {
      url = url
      #secret = url
      override toString = () => this.#secret
    })('failed'),
}

/** Answers that contain the address. */
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
    'a redirect with the address in its query': (url, spell) =>
      new Response('', {
        status: 302,
        headers: { location: `https://portal.example/?u=${encodeURIComponent(spell(url))}` },
      }),
    'JSON with every letter of it escaped': (url) =>
      new Response(
        `{"message":"${Array.from(url, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"}`,
        { status: 403 },
      ),
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

/** Checks that no error of a client with this fetch contains a key in any spelling. */
async function expectNoKey(keys: Keys, fetch: (url: string) => Promise<Response>) {
  const client = createClient({ ...keys, baseUrl: 'https://gateway.example', retries: 0, fetch })
  for (const call of calls) {
    const error = await call(client).then(
      () => expect.fail('It resolved'),
      (error: unknown) => error,
    )
    expect(`${error}`).toContain('Exception')
    const all = textOf(error)
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

  test.each([200, 500])('when a body of %i is cut inside a key', async (status) => {
    const restKey = 'rest-Key-9f31-and-a-longer-one'
    for (let shown = 1; shown < restKey.length; shown++) {
      const text = `${'x'.repeat(65_536 - shown)}${restKey}`
      const fetch = async () => new Response(text, { status })
      const client = createClient({
        customerId: 'CUSTOMER-7',
        restKey,
        baseUrl: 'https://gateway.example',
        fetch,
        retries: 0,
      })
      const error = await client.campaigns.list().catch((error: unknown) => error)
      expect(error).toMatchObject({ status, body: expect.stringMatching(/^x{60000,}$/) })
    }
  })

  test('when an answer that does not escape it changes the key', async () => {
    const keys = { customerId: 'CUSTOMER-7', restKey: String.raw`rest\\Key-9f31` }
    const fetch = async () => new Response(`{"message":"no ${keys.restKey}"}`, { status: 400 })
    const { campaigns } = createClient({ ...keys, baseUrl: 'https://a.example', fetch })
    await expect(campaigns.list()).rejects.toThrow(/: no \*\*\*$/)
  })

  test('when the key in the answer contains an invisible character', async () => {
    const keys = { customerId: 'CUSTOMER-7', restKey: 'rest-Key-9f31' }
    const body = JSON.stringify({ message: 'no rest\u200b-Key-9f31' })
    const fetch = async () => new Response(body, { status: 401 })
    const { campaigns } = createClient({ ...keys, baseUrl: 'https://a.example', fetch })
    await expect(campaigns.list()).rejects.toThrow(/: no \*\*\*$/)
  })

  test('when a number is a key', async () => {
    const keys = { customerId: 'CUSTOMER-7', restKey: '7654321' }
    const fetch = async () => new Response('{"message":"no","n":7654321}', { status: 401 })
    const { campaigns } = createClient({ ...keys, baseUrl: 'https://a.example', fetch })
    const error = await campaigns.list().catch((error: unknown) => error)
    expect(error).toMatchObject({ status: 401, body: { message: 'no', n: '***' } })
    expect(textOf(error)).not.toContain('7654321')
  })

  test('when a key is in the wrong field', async () => {
    const restKey = 'rest-Key-9f31'
    const keys = { customerId: 'CUSTOMER-7', restKey, trackingKey: 'ABC123' }
    let requests = 0
    const fetch = async () => {
      requests += 1
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
      expect(textOf(error)).not.toContain(restKey)
    }
    expect(requests).toBe(0)
  })

  test('when a key is in the wrong field of a long text, not even a part of it', async () => {
    const restKey = 'Zk3v:QxT_7mB-w2L#Y8nHdJ5cPfA0sGuE4iKoVtXbR1'
    const keys = { customerId: 'CUSTOMER-7', restKey, trackingKey: 'ABC123' }
    const { campaigns, events } = createClient({ ...keys, baseUrl: 'https://a.example' })
    const { viewHomepage, create } = completePayloads
    const bad: readonly ((text: string) => Promise<unknown>)[] = [
      (email) => events.sendCustomApi({ email, event: 'x' }),
      (url) => events.viewHomepage({ ...viewHomepage, url }),
      (type) => campaigns.create({ ...create, type: type as 'sms' }),
      (limit) => campaigns.getLatestCampaign(limit as unknown as number),
      (key) => events.serveJavascript(`${key}${'x'.repeat(21)}`),
    ]
    for (const spell of Object.values(SPELLINGS))
      for (let before = 0; before < 90; before += 3)
        for (const call of bad) {
          const text = ` ${'-'.repeat(before)}${spell(restKey)}`
          const error = await call(text).catch((error: unknown) => error)
          expect(error).toMatchObject({ name: 'ValidationException' })
          expect(textOf(error)).not.toMatch(/Zk3/i)
        }
  })

  test('a short value that is not a key is shown', async () => {
    const keys = { customerId: 'CUSTOMER-7', restKey: 'rest-Key-9f31' }
    const { events } = createClient({ ...keys, baseUrl: 'https://a.example' })
    const email = `${'x'.repeat(76)}`
    await expect(events.sendCustomApi({ email, event: 'x' })).rejects.toThrow(`"${email}"`)
    await expect(events.sendCustomApi({ email: `${email}xxx`, event: 'x' })).rejects.toThrow(
      'received text that is not shown, since it may hold a key',
    )
  })
})

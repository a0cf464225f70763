import { expect, test } from 'vitest'
import { json, type Respond, startApi } from '../test/api.ts'
import { completePayloads } from '../test/payloads.ts'
import { type ApiException, type Client, type ClientOptions, createClient } from './index.ts'

const KEYS = { customerId: 'CUSTOMER-7', restKey: 'rest-Key-9f31', trackingKey: 'ABC123' }
const read = ({ campaigns }: Client) => campaigns.getLatestCampaign()
const posts: readonly [name: string, call: (client: Client) => Promise<unknown>][] = [
  ['create', ({ campaigns }) => campaigns.create(completePayloads.create)],
  ['list', ({ campaigns }) => campaigns.list()],
  ['viewHomepage', ({ events }) => events.viewHomepage(completePayloads.viewHomepage)],
]

const redirect =
  (status: number, location: string): Respond =>
  (response) => {
    response.writeHead(status, { location })
    response.end('moved')
  }

async function errorOf(call: Promise<unknown>): Promise<ApiException> {
  return call.then(
    () => expect.fail('It resolved'),
    (error: ApiException) => error,
  )
}

const connect = (baseUrl: string, options: Partial<ClientOptions> = {}) =>
  createClient({ ...KEYS, baseUrl, ...options })

for (const status of [301, 302, 303, 307, 308]) {
  test.each(posts)(`a POST does not follow a ${status}: %s`, async (_name, call) => {
    const other = await startApi(json(200, { id: 'stolen' }))
    for (const target of [`${other.url}/x`, '/moved']) {
      const api = await startApi(redirect(status, target))
      const error = await errorOf(call(connect(api.url)))
      expect(error).toMatchObject({ name: 'ApiException', status, mayHaveArrived: true })
      expect(error.message).toContain(`to ${new URL(target, api.url).href}: `)
      expect(api.received).toHaveLength(1)
      await api.close()
    }
    expect(other.received).toHaveLength(0)
    await other.close()
  })

  test(`a GET follows a ${status} at its own origin, and to no other`, async () => {
    const other = await startApi(json(200, ['stolen']))
    const api = await startApi((response, received, count) => {
      const respond = received.target.startsWith('/api')
        ? redirect(status, '/moved?k=rest-Key-9f31')
        : json(200, ['here'])
      respond(response, received, count)
    })
    expect(await read(connect(api.url))).toEqual(['here'])
    expect(api.received.map(({ method }) => method)).toEqual(['GET', 'GET'])
    await api.close()

    const away = await startApi(redirect(status, `${other.url}/x?k=rest-Key-9f31`))
    const error = await errorOf(read(connect(away.url)))
    expect(error.status).toBe(status)
    expect(error.message).toContain(`to ${other.url}/x: `)
    expect(away.received).toHaveLength(1)
    expect(other.received).toHaveLength(0)
    await away.close()
    await other.close()
  })
}

test.each([
  ['five', 5],
  ['six', 6],
])('a GET follows at most five redirects: %s', async (_name, hops) => {
  const api = await startApi((response, received, count) =>
    (count <= hops ? redirect(302, `/${count}`) : json(200, ['here']))(response, received, count),
  )
  const call = read(connect(api.url))
  if (hops === 5) expect(await call).toEqual(['here'])
  else expect((await errorOf(call)).message).toContain('more than 5 redirects')
  expect(api.received).toHaveLength(6)
  await api.close()
})

const answers: readonly [what: string, base: string, answer: () => Response, words: string][] = [
  [
    'from https to http',
    'https://gateway.example',
    () => new Response('', { status: 302, headers: { location: 'http://gateway.example/x' } }),
    'http://gateway.example/x',
  ],
  [
    'to another port',
    'https://gateway.example',
    () => new Response('', { status: 302, headers: { location: '//gateway.example:8443/x' } }),
    'https://gateway.example:8443/x',
  ],
  [
    'to an address with a user',
    'https://gateway.example',
    () => new Response('', { status: 302, headers: { location: 'https://a:b@gateway.example/' } }),
    'to https://gateway.example/: not followed, since it contains a user',
  ],
  [
    'with a query and a fragment, which are not shown',
    'https://gateway.example',
    () => new Response('', { status: 302, headers: { location: '//a.example/b?from=aHR0#c' } }),
    'to https://a.example/b: ',
  ],
  [
    'to an invalid address with a query',
    'https://gateway.example',
    () => new Response('', { status: 302, headers: { location: 'http://[?from=aHR0' } }),
    'to no address: not followed, since it has no valid address',
  ],
  [
    'to an invalid address',
    'https://gateway.example',
    () => new Response('', { status: 302, headers: { location: 'http://[' } }),
    'to no address: ',
  ],
  [
    'to a script',
    'https://gateway.example',
    () => new Response('', { status: 302, headers: { location: 'javascript:alert(1)' } }),
    'to javascript:…: not followed, since keys do not go to another origin',
  ],
  [
    'that the runtime hides',
    'https://gateway.example',
    () => Object.defineProperty(Response.error(), 'type', { value: 'opaqueredirect' }),
    'to no address: ',
  ],
  [
    'that fetch has followed by itself',
    'https://gateway.example',
    () => {
      const response = new Response('["stolen"]')
      Object.defineProperty(response, 'redirected', { value: true })
      return Object.defineProperty(response, 'url', { value: 'https://other.example/x' })
    },
    'https://other.example/x',
  ],
]
test.each(answers)('a GET does not follow a redirect %s', async (_what, base, answer, words) => {
  let requests = 0
  const fetch = async () => {
    requests += 1
    return answer()
  }
  const error = await errorOf(read(connect(base, { fetch })))
  expect(error.name).toBe('ApiException')
  expect(error.message).toContain(words)
  expect(requests).toBe(1)
})

test('a redirect without an address is an ordinary answer', async () => {
  const api = await startApi(json(302, { message: 'Somewhere else' }))
  const error = await errorOf(read(connect(api.url)))
  expect(error).toMatchObject({ name: 'ApiException', status: 302 })
  expect(error.message).toContain('Somewhere else')
  await api.close()
})

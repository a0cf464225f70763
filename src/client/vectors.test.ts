import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { type Respond, startApi } from '../test/api.ts'
import { completePayloads } from '../test/payloads.ts'
import { readVectors } from '../test/vectors.ts'
import { ApiException, type Client, createClient, ValidationException } from './index.ts'

type Answer = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}
type Input = {
  readonly call?: 'campaign report' | 'getLatestCampaign' | 'createCampaign' | 'listCampaigns'
  readonly construct?: object
  readonly answer?: Answer | string
  readonly id?: string
  readonly limit?: number
  readonly payload?: object
  readonly html?: string
  readonly signal?: string
  readonly timeout?: number
  readonly retries?: number
}
type Expected = {
  readonly requestPathContains?: string
  readonly requests?: number
  readonly resolved?: boolean
  readonly rejected?: boolean
  readonly error?: string
  readonly value?: unknown
  readonly body?: object
  readonly contentLength?: string
}

const KEYS = { customerId: 'CUSTOMER-7', restKey: 'rest-Key-9f31', trackingKey: 'ABC123' }
const vectors = readVectors<Input, Expected>(new URL('./fixtures/client.json', import.meta.url))

/** The answers that the vectors describe in words. */
const MISBEHAVIOUR: Readonly<Record<string, Respond>> = {
  'reads the body, then resets the socket': (response) => response.socket?.resetAndDestroy(),
  'headers and one byte, then silence': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{')
  },
}

const respondWith = (answer: Answer | string | undefined): Respond => {
  if (typeof answer === 'string') return MISBEHAVIOUR[answer] as Respond
  return (response) => {
    response.writeHead(answer?.status ?? 200, answer?.headers)
    response.end(answer?.body ?? '[]')
  }
}

function call({ campaigns }: Client, input: Input): Promise<unknown> {
  const options = {
    ...(input.timeout && { timeoutMs: input.timeout }),
    ...(input.retries !== undefined && { retries: input.retries }),
    ...(input.signal && { signal: AbortSignal.abort() }),
  }
  const { create } = completePayloads
  const content = { html: input.html ?? create.content.html }
  if (input.call === 'campaign report') return campaigns.getEmailReport(`${input.id}`, options)
  if (input.call === 'createCampaign') return campaigns.create({ ...create, content }, options)
  if (input.call === 'listCampaigns') return campaigns.list(input.payload, options)
  return campaigns.getLatestCampaign(input.limit, options)
}

test.each(vectors.filter(({ input }) => input.call))('$id: $kind', async ({ input, expected }) => {
  const api = await startApi(respondWith(input.answer))
  const requests: string[] = []
  const client = createClient({
    ...KEYS,
    baseUrl: api.url,
    fetch: (url, init) => {
      requests.push(new URL(url).origin)
      return fetch(url, init)
    },
  })
  const settled = await call(client, input).then(
    (value) => ({ value, error: undefined }),
    (error: unknown) => ({ value: undefined, error }),
  )
  await api.close()
  const { error, value } = settled
  const [request] = api.received

  // In every case: all requests go to this server, no error contains a key, and every error has a class of the client.
  expect(new Set(requests).size).toBeLessThanOrEqual(1)
  expect(requests.every((origin) => origin === api.url)).toBe(true)
  const text = inspect(error) + JSON.stringify(error, Object.getOwnPropertyNames(Object(error)))
  for (const key of Object.values(KEYS)) expect(text).not.toContain(key)
  if (error) expect([ApiException, ValidationException].some((C) => error instanceof C)).toBe(true)
  if (error instanceof Error) expect(Buffer.byteLength(error.message)).toBeLessThan(2048)

  if (expected.requestPathContains) expect(request?.target).toContain(expected.requestPathContains)
  if (expected.requests !== undefined) expect(api.received).toHaveLength(expected.requests)
  if (expected.resolved) expect(error).toBeUndefined()
  if (expected.rejected) expect(error).toBeDefined()
  if (expected.value) expect(value).toEqual(expected.value)
  if (expected.body) expect(JSON.parse(request?.body ?? '')).toEqual(expected.body)
  if (expected.contentLength)
    expect(Number(request?.headers['content-length'])).toBe(Buffer.byteLength(request?.body ?? ''))
  if (expected.error === 'local') expect(error).toBeInstanceOf(ValidationException)
  else if (expected.error) {
    const { status = 0 } = input.answer as Answer
    expect(error).toMatchObject({ status })
    if (expected.error.includes('content type'))
      expect((error as Error).message).toContain('text/html')
  }
  if (input.answer && !expected.resolved && (input.answer as Answer).headers?.location)
    expect((error as Error).message).toContain('https://other.example/')
})

test.each(vectors.filter(({ input }) => input.construct))('$id: $kind', ({ input }) => {
  const options = { ...KEYS, baseUrl: 'https://gateway.example', ...input.construct }
  expect(() => createClient(options)).toThrow(ValidationException)
})

test('every vector is run', () => {
  expect(vectors).toHaveLength(30)
  expect(vectors.every(({ input }) => input.call || input.construct)).toBe(true)
})

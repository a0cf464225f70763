import { once } from 'node:events'
import { expect, test } from 'vitest'
import { json, type Respond, startApi } from '../test/api.ts'
import { completePayloads } from '../test/payloads.ts'
import { ApiException, type ClientOptions, createClient } from './index.ts'

const KEYS = { customerId: 'CUSTOMER-7', restKey: 'rest-Key-9f31', trackingKey: 'ABC123' }

async function settle(respond: Respond, options: Partial<ClientOptions> = {}) {
  const api = await startApi(respond)
  const client = createClient({ ...KEYS, baseUrl: api.url, retries: 0, ...options })
  const settled = await client.campaigns.getLatestCampaign().then(
    (value: unknown) => ({ value, error: undefined }),
    (error: ApiException) => ({ value: undefined, error }),
  )
  await api.close()
  return settled
}

const answer =
  (status: number, body: string | Buffer, contentType = 'application/json'): Respond =>
  (response) => {
    response.writeHead(status, { 'content-type': contentType })
    response.end(body)
  }

test.each([
  ['nothing', '', []],
  ['a line break', '\r\n', []],
  ['a byte order mark', '\ufeff', []],
  ['a byte order mark and JSON', '\ufeff{"ok":true}', { ok: true }],
  ['null', 'null', null],
  ['letters of more than a byte', '{"name":"été 漢"}', { name: 'été 漢' }],
])('200 with %s', async (_what, body, value) => {
  expect(await settle(answer(200, body))).toEqual({ value, error: undefined })
})

test('a letter whose bytes come in two chunks is decoded', async () => {
  const bytes = Buffer.from('"漢"')
  const { value } = await settle((response) => {
    response.write(bytes.subarray(0, 2))
    setImmediate(() => response.end(bytes.subarray(2)))
  })
  expect(value).toBe('漢')
})

test.each(['text/html', 'application/json'])('HTML with status 200 and %s', async (contentType) => {
  const { error } = await settle(answer(200, '<html>maintenance</html>', contentType))
  expect(error).toBeInstanceOf(ApiException)
  expect(error).toMatchObject({
    name: 'ApiException',
    status: 200,
    mayHaveArrived: true,
    body: '<html>maintenance</html>',
  })
  expect(error?.message).toBe(`getLatestCampaign: answered 200 ${contentType}, which is not JSON`)
})

test.each([
  [401, 'UnauthorizedException'],
  [404, 'CustomerNotFoundException'],
  [405, 'MethodNotAllowedException'],
  [400, 'ApiException'],
  [403, 'ApiException'],
  [413, 'ApiException'],
  [500, 'ApiException'],
  [304, 'ApiException'],
])('%i is %s', async (status, name) => {
  const { error } = await settle(json(status, { message: 'The reason' }))
  expect(error).toMatchObject({ name, status })
  if (status !== 304) {
    expect(error?.message).toContain('getLatestCampaign')
    expect(error?.message).toContain('The reason')
    expect(error?.body).toEqual({ message: 'The reason' })
  }
})

test('the message has the first issue only once', async () => {
  const issues = [
    { path: 'quantity', message: 'Expected a number' },
    { path: '', message: 'Expected more' },
  ]
  const message = 'The event is invalid: quantity: Expected a number'
  const { error } = await settle(json(422, { message, issues }))
  expect(error?.message).toMatch(
    /answered 422: The event is invalid: quantity: Expected a number: Expected more$/,
  )
})

test('the error of a 422 has the issues that are well-formed', async () => {
  const issues = [{ path: 'sender.reply_to', message: 'Expected an e-mail address' }]
  const sent = [...issues, null, 'x', { path: 1 }, { path: 'a' }]
  const { error } = await settle(json(422, { message: 'Invalid', issues: sent }))
  expect(error?.issues).toEqual(issues)
  expect(error?.message).toContain('sender.reply_to: Expected an e-mail address')
  expect(error?.body).toEqual({ message: 'Invalid', issues: sent })
})

test.each([
  ['null', 'null'],
  ['a list', '["x"]'],
  ['a message that is not text', '{"message":{"toString":1},"issues":{"length":3}}'],
  ['a hundred thousand brackets', '['.repeat(30_000) + ']'.repeat(30_000)],
  ['nothing', ''],
  ['bytes that are not text', Buffer.from([0xff, 0xfe, 0x00, 0x80])],
])('422 with %s is an ApiException', async (_what, body) => {
  const { error } = await settle(answer(422, body))
  expect(error).toMatchObject({ name: 'ApiException', status: 422, issues: [] })
  expect(() => JSON.stringify(error)).not.toThrow()
})

test('a message is short, on one line, and has no control characters', async () => {
  const long = `bad\u001b[31m\r\n${'漢'.repeat(50_000)}`
  const issues = Array.from({ length: 500 }, () => ({ path: 'p'.repeat(900), message: long }))
  for (const body of [
    long,
    JSON.stringify({ message: long }),
    JSON.stringify({ message: long, issues: issues.slice(0, 1) }),
  ]) {
    const { error } = await settle(answer(502, body, `text/${'x'.repeat(2_000)}`))
    expect(Buffer.byteLength(error?.message ?? '')).toBeLessThan(2_048)
    expect(error?.message).not.toMatch(/\p{Cc}/u)
  }
})

test('only 64 KiB of an error are read, and its connection is closed', async () => {
  let closed: Promise<unknown> | undefined
  const api = await startApi((response) => {
    closed = once(response, 'close')
    response.writeHead(404, { 'content-type': 'text/html' })
    const more = () => {
      while (!response.destroyed && response.write('<p>'.repeat(10_000)));
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  })
  const client = createClient({ ...KEYS, baseUrl: api.url, timeoutMs: 2 ** 31 - 1 })
  const error: ApiException = await client.campaigns.list().then(
    () => expect.fail('It resolved'),
    (error) => error,
  )
  expect(error).toMatchObject({ name: 'CustomerNotFoundException', status: 404 })
  expect(`${error.body}`.length).toBeGreaterThan(60_000)
  expect(`${error.body}`.length).toBeLessThanOrEqual(65_536)
  await closed
  await api.close()
})

test('an answer of more than 64 MiB is an error, a smaller one is not', async () => {
  const megabyte = Buffer.alloc(1024 * 1024, ' ')
  const spaces =
    (megabytes: number, end: string): Respond =>
    (response) => {
      let left = megabytes
      const more = () => {
        if (response.destroyed) return
        if (left-- > 0) response.write(megabyte, more)
        else response.end(end)
      }
      more()
    }
  // On a busy machine one takes longer than a request may by default.
  const patient = { timeoutMs: 60_000 }
  expect(await settle(spaces(63, '{"ok":1}'), patient)).toMatchObject({ value: { ok: 1 } })
  const { error } = await settle(spaces(64, '{"ok":1}'), patient)
  expect(error).toMatchObject({ name: 'ApiException', status: 200, mayHaveArrived: true })
  expect(error?.message).toContain('67108864 bytes')
})

test('a fetch without streams is enough', async () => {
  const fetch = async () => ({
    status: 200,
    headers: { get: () => null },
    text: async () => '\ufeff{"ok":true}',
  })
  expect(await settle(json(200, []), { fetch })).toMatchObject({ value: { ok: true } })
})

test('every body is read or cancelled, so 500 calls need at most three sockets', async () => {
  const filler = 'x'.repeat(20_000)
  const api = await startApi((response, received, count) => {
    const isAgain = received.target.startsWith('/again')
    if (count % 5 === 1 && !isAgain && received.method === 'GET') {
      response.writeHead(307, { location: '/again' })
      response.end(filler)
      return
    }
    json([200, 404, 500, 422][count % 4] ?? 200, { message: filler })(response, received, count)
  })
  const client = createClient({ ...KEYS, baseUrl: api.url, retries: 0 })
  let settled = 0
  for (let call = 0; call < 500; call++) {
    const calling =
      call % 3 === 0
        ? client.events.viewHomepage(completePayloads.viewHomepage)
        : client.campaigns.getLatestCampaign()
    await calling.then(
      () => (settled += 1),
      () => (settled += 1),
    )
  }
  expect(settled).toBe(500)
  expect(api.sockets()).toBeLessThanOrEqual(3)
  await api.close()
})
